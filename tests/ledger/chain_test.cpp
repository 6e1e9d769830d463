// The hash of a fact: compared with a slow and obvious implementation of the definition, and tests
// that it depends on every column.
#include "ledger/audit/chain.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "text/encoding.h"

namespace turnpike::ledger {
namespace {

// The definition in chain.h, byte for byte; only SHA-256 is shared.
std::string number(std::int64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>((static_cast<std::uint64_t>(value) >> shift) & 0xFF);
  }
  return bytes;
}
std::string length(std::size_t value) { return number(static_cast<std::int64_t>(value)).substr(4); }
std::string text(const std::string& value) { return length(value.size()) + value; }

crypto::Sha256 twin(const crypto::Sha256& previous, const FactRow& row,
                    const std::vector<FactShare>& shares) {
  std::string bytes(previous.begin(), previous.end());
  bytes += text("turnpike.fact.1");
  bytes += number(row.stream) + number(row.seq);
  for (const auto& each :
       {row.message_id, row.request_id, row.client_request_id, row.account_id, row.api_key_id}) {
    bytes += text(std::string(each));
  }
  bytes += number(row.occurred_at) + text(std::string(row.route_id)) + number(row.route_revision);
  bytes += text(std::string(row.method)) + text(std::string(row.lane));
  bytes += number(row.credit_cost) + number(row.credits_charged) + number(row.price_version);
  bytes += text(std::string(row.generation)) + text(std::string(row.outcome_reason));
  bytes += number(row.upstream_status) + number(row.upstream_ms) + number(row.lease_id);
  bytes += length(shares.size());
  for (const FactShare& share : shares) bytes += number(share.lease_id) + number(share.units);
  return crypto::sha256(bytes);
}

crypto::Sha256 hash(const FactRow& row, const std::vector<FactShare>& shares = {},
                    const crypto::Sha256& previous = {}) {
  std::string buffer = "left from the call before";
  return fact_hash(previous, row, shares, buffer);
}

FactRow example() {
  return {.stream = 64,
          .seq = 7,
          .message_id = "0193a1b2-0000-7000-8000-000000000001",
          .request_id = "0193a1b2-0000-7000-8000-000000000002",
          .client_request_id = "mine \xC3\xA9",
          .account_id = "acc_1",
          .api_key_id = "key_1",
          .occurred_at = 1'800'000'000'000,
          .route_id = "route-1",
          .route_revision = 3,
          .method = "GET",
          .lane = "credits",
          .credit_cost = 5,
          .credits_charged = 5,
          .price_version = 2,
          .generation = "gen_1",
          .outcome_reason = "success",
          .upstream_status = 200,
          .upstream_ms = 42,
          .lease_id = -1};
}

TEST(FactHash, IsWhatItsDefinitionSays) {
  crypto::Sha256 previous{};
  FactRow row = example();
  const std::vector<std::vector<FactShare>> shares = {{}, {{1, 2}, {9, 3}}, {{-1, -1}}};
  for (const auto& paid : shares) {
    const crypto::Sha256 expected = twin(previous, row, paid);
    EXPECT_EQ(hash(row, paid, previous), expected);
    previous = expected;
    row.credits_charged = -row.credits_charged * 1'000'000'007;
    row.message_id = row.message_id.substr(1);
  }
}

// If this fails, the hashes of all existing books fail, too. A new form needs a new name.
TEST(FactHash, NeverChangesForTheSameFact) {
  EXPECT_EQ(text::hex(hash(example())), text::hex(twin({}, example(), {})));
  EXPECT_EQ(text::hex(hash(example())),
            "295b2b9fa6bcf8a6fc09510d02c6a0f063204e39c52cea96fbbf72c6dd5501eb");
}

TEST(FactHash, DependsOnEveryColumn) {
  std::set<crypto::Sha256> seen{hash(example())};
  std::size_t columns = 0;
  FactRow counted = example();
  each_column(counted, [&](auto&) { ++columns; });
  for (std::size_t changed = 0; changed < columns; ++changed) {
    FactRow row = example();
    std::size_t at = 0;
    each_column(row, [&](auto& value) {
      if (at++ != changed) return;
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, std::int64_t>) {
        value += std::int64_t{1} << 32;  // out of range for narrower integers
      } else {
        value = "other";
      }
    });
    EXPECT_TRUE(seen.insert(hash(row)).second) << "column " << changed;
  }
}

TEST(FactHash, DependsOnWhatWasBeforeAndOnTheShares) {
  crypto::Sha256 other{};
  other[31] = 1;
  const std::set<crypto::Sha256> seen{hash(example()), hash(example(), {}, other),
                                      hash(example(), {{1, 2}}), hash(example(), {{2, 1}}),
                                      hash(example(), {{1, 2}, {2, 1}})};
  EXPECT_EQ(seen.size(), 5u);
}

TEST(FactHash, TellsWhereOneTextEndsAndTheNextBegins) {
  FactRow left = example();
  left.method = "GETc";
  left.lane = "redits";
  EXPECT_NE(hash(left), hash(example()));
}

}  // namespace
}  // namespace turnpike::ledger
