#include "exchange/choose_lane.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/x402_lane.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;

enum Row : std::size_t { credits_row, payment_row, bench_row, voucher_row, free_row };

// Every kind of lane: Bearer, payment header, a lane without and one with accounts that have their
// own headers, and the free lane.
LaneTable every_lane(bool is_payment_bound) {
  LaneTable table;
  table.rows = {{LaneRole::credits, true, true, "credits", {}},
                {LaneRole::payment, is_payment_bound, false, "x402", {"payment-signature"}},
                {LaneRole::other, true, false, "bench", {"x-bench-lane"}},
                {LaneRole::other, true, true, "voucher", {"x-voucher", "x-voucher-proof"}},
                {LaneRole::free, true, true, "free", {}}};
  return table;
}

struct Case {
  Authorization authorization;
  Presence key;
  Presence payment;
  Presence bench;
  Presence voucher;
  bool has_suffix;
  bool has_free_variant;
  std::string_view method;
  bool is_path_malformed;
  bool is_route_known;
  bool is_sold_per_call;
  bool is_credential_required;
  bool is_payment_bound;
};

// The model: the rules of docs/interface.md, "Lanes", as a list of sentences; the first that
// applies decides. Returns "lane:<name>" or the name of the refusal.
std::string model(const Case& c) {
  const auto shown = [](Presence presence) { return presence != Presence::absent; };
  const bool something_twice = c.authorization == Authorization::repeated ||
                               c.key == Presence::repeated || c.payment == Presence::repeated ||
                               c.bench == Presence::repeated || c.voucher == Presence::repeated;
  const bool shows_key_credential = c.authorization != Authorization::none || shown(c.key);
  const int ways = (shows_key_credential || shown(c.voucher) ? 1 : 0) + (shown(c.payment) ? 1 : 0) +
                   (shown(c.bench) ? 1 : 0);
  const bool is_payable =
      c.is_sold_per_call && !c.is_credential_required && !c.has_suffix && c.is_payment_bound;
  const bool is_method_known = c.method == "GET" || c.method == "POST";
  const bool is_bearer = c.authorization == Authorization::bearer;
  struct Sentence {
    bool holds;
    std::string_view outcome;
  };
  const Sentence sentences[] = {
      {something_twice || ways > 1, "auth.credential_conflict"},
      {c.is_path_malformed, "request.path_malformed"},
      {!c.is_route_known, "gateway.route_not_found"},
      {c.has_suffix && !c.has_free_variant, "gateway.route_not_found"},
      {!is_method_known, "gateway.method_not_allowed"},
      {shown(c.payment) && is_payable, "lane:x402"},
      {shown(c.payment), "x402.not_payable"},
      {shown(c.bench) && c.has_suffix, "auth.credential_conflict"},
      {shown(c.voucher) && c.has_suffix, "auth.credential_conflict"},
      {shown(c.bench) && c.is_credential_required, "auth.credential_required"},
      {shown(c.bench), "lane:bench"},
      {shown(c.voucher) && is_bearer, "lane:voucher"},
      {is_bearer && c.has_suffix, "lane:free"},
      {is_bearer, "lane:credits"},
      {shows_key_credential, "auth.credential_invalid"},
      {shown(c.voucher), "auth.credential_required"},
      {is_payable, "lane:x402"},
      {true, "auth.credential_required"},
  };
  for (const Sentence& sentence : sentences) {
    if (sentence.holds) return std::string(sentence.outcome);
  }
  return {};
}

std::string chosen(const Case& c) {
  const LaneTable table = every_lane(c.is_payment_bound);
  Credentials credentials;
  credentials.authorization = c.authorization;
  credentials.service_api_key = c.key;
  credentials.lanes[payment_row] = c.payment;
  credentials.lanes[bench_row] = c.bench;
  credentials.lanes[voucher_row] = c.voucher;
  Asked asked;
  asked.target = c.is_path_malformed                       ? Target::path_malformed
                 : !c.is_route_known                       ? Target::not_found
                 : c.method == "GET" || c.method == "POST" ? Target::operation
                                                           : Target::method_not_allowed;
  asked.free_suffix = c.has_suffix;
  asked.has_free_variant = c.has_free_variant;
  asked.sold_per_call = c.is_sold_per_call;
  asked.credential_required = c.is_credential_required;
  const LaneChoice choice = choose_lane(table, credentials, asked);
  if (choice.lane != nullptr) return "lane:" + choice.lane->name;
  return std::string(base::info_of(choice.refusal).name);
}

// Calls `visit` with every combination.
void for_every_case(const std::function<void(const Case&)>& visit) {
  constexpr Authorization authorizations[] = {Authorization::none, Authorization::bearer,
                                              Authorization::other_scheme, Authorization::malformed,
                                              Authorization::repeated};
  constexpr Presence presences[] = {Presence::absent, Presence::once, Presence::repeated};
  constexpr std::string_view methods[] = {"GET", "POST", "HEAD", "DELETE"};
  constexpr std::size_t flag_count = 7;
  for (Authorization authorization : authorizations) {
    for (Presence key : presences) {
      for (Presence payment : presences) {
        for (Presence bench : presences) {
          for (Presence voucher : presences) {
            for (std::string_view method : methods) {
              for (unsigned flags = 0; flags < 1u << flag_count; ++flags) {
                const auto flag = [flags](unsigned at) { return (flags >> at & 1) != 0; };
                visit({authorization, key, payment, bench, voucher, flag(0), flag(1), method,
                       flag(2), flag(3), flag(4), flag(5), flag(6)});
              }
            }
          }
        }
      }
    }
  }
}

TEST(ChooseLane, AgreesWithTheModelOnEveryCombination) {
  std::map<std::string, int> outcomes;
  int cases = 0;
  for_every_case([&](const Case& c) {
    const std::string expected = model(c);
    ASSERT_EQ(chosen(c), expected)
        << "authorization " << static_cast<int>(c.authorization) << " key "
        << static_cast<int>(c.key) << " payment " << static_cast<int>(c.payment) << " bench "
        << static_cast<int>(c.bench) << " voucher " << static_cast<int>(c.voucher) << " suffix "
        << c.has_suffix << " variant " << c.has_free_variant << " method " << c.method
        << " malformed " << c.is_path_malformed << " known " << c.is_route_known << " x402 "
        << c.is_sold_per_call << " required " << c.is_credential_required << " bound "
        << c.is_payment_bound;
    ++outcomes[expected];
    ++cases;
  });
  EXPECT_EQ(cases, 5 * 3 * 3 * 3 * 3 * 4 * 128);
  // Every outcome occurs, so no sentence of the model is unused.
  EXPECT_EQ(outcomes.size(), 12u);
}

// The literal statements of docs/interface.md, "Lanes", without a model.
TEST(ChooseLane, KeepsTheSentencesOfTheSpecification) {
  const Case plain{Authorization::none,
                   Presence::absent,
                   Presence::absent,
                   Presence::absent,
                   Presence::absent,
                   false,
                   false,
                   "GET",
                   false,
                   true,
                   true,
                   false,
                   true};
  const auto with = [&](auto change) {
    Case changed = plain;
    change(changed);
    return chosen(changed);
  };
  EXPECT_EQ(chosen(plain), "lane:x402") << "goes on to its challenge";
  EXPECT_EQ(with([](Case& c) { c.is_payment_bound = false; }), "auth.credential_required");
  EXPECT_EQ(with([](Case& c) { c.is_sold_per_call = false; }), "auth.credential_required");
  EXPECT_EQ(with([](Case& c) { c.authorization = Authorization::other_scheme; }),
            "auth.credential_invalid")
      << "a bad credential never falls back to a challenge";
  EXPECT_EQ(with([](Case& c) { c.key = Presence::once; }), "auth.credential_invalid");
  EXPECT_EQ(with([](Case& c) {
              c.authorization = Authorization::bearer;
              c.key = Presence::once;
            }),
            "lane:credits")
      << "the Bearer decides";
  EXPECT_EQ(with([](Case& c) {
              c.authorization = Authorization::bearer;
              c.payment = Presence::once;
            }),
            "auth.credential_conflict");
  EXPECT_EQ(with([](Case& c) {
              c.key = Presence::once;
              c.payment = Presence::once;
            }),
            "auth.credential_conflict");
  EXPECT_EQ(with([](Case& c) { c.has_suffix = true; }), "gateway.route_not_found");
  EXPECT_EQ(with([](Case& c) {
              c.payment = Presence::once;
              c.is_sold_per_call = false;
            }),
            "x402.not_payable");
  EXPECT_EQ(with([](Case& c) {
              c.payment = Presence::repeated;
              c.is_route_known = false;
            }),
            "auth.credential_conflict")
      << "conflicts come before the route";
}

// tests/identity/bearer_test.cpp has every form.
TEST(ReadCredentials, ReadsAuthorizationAsAllHostsDo) {
  const LaneTable table = every_lane(true);
  const auto read = [&](std::string_view value) {
    const HeaderField field{"AuthoriZation", value};
    return read_credentials({&field, 1}, table);
  };
  EXPECT_EQ(read("bearer  abc").authorization, Authorization::bearer);
  EXPECT_EQ(read("bearer  abc").token, "abc");
  EXPECT_EQ(read("Bearer a b").authorization, Authorization::malformed);
  EXPECT_EQ(read("Bearer a b").token, "");
  EXPECT_EQ(read("Digest username=\"a\"").authorization, Authorization::other_scheme);
}

TEST(ReadCredentials, CountsEachHeader) {
  const LaneTable table = every_lane(true);
  const auto read = [&](const std::vector<HeaderField>& headers) {
    return read_credentials(headers, table);
  };
  const Credentials none = read({{"Accept", "a"}, {"X-Service-Api-Keys", "a"}});
  EXPECT_EQ(none.authorization, Authorization::none);
  EXPECT_EQ(none.service_api_key, Presence::absent);

  EXPECT_EQ(read({{"Authorization", "Bearer a"}, {"authorization", "Bearer a"}}).authorization,
            Authorization::repeated);
  EXPECT_EQ(read({{"x-service-api-key", ""}}).service_api_key, Presence::once);
  EXPECT_EQ(read({{"x-service-api-key", "a"}, {"X-SERVICE-API-KEY", "b"}}).service_api_key,
            Presence::repeated);
  EXPECT_EQ(read({{"Payment-Signature", "a"}}).lanes[payment_row], Presence::once);
  EXPECT_EQ(read({{"PAYMENT-SIGNATURE", "a"}, {"payment-signature", "b"}}).lanes[payment_row],
            Presence::repeated);
  // Two different headers of one lane belong together; the same header twice is a repetition.
  EXPECT_EQ(read({{"x-voucher", "a"}, {"x-voucher-proof", "b"}}).lanes[voucher_row],
            Presence::once);
  EXPECT_EQ(
      read({{"x-voucher", "a"}, {"x-voucher-proof", "b"}, {"x-voucher", "a"}}).lanes[voucher_row],
      Presence::repeated);
  EXPECT_EQ(
      read({{"x-voucher", "a"}, {"x-voucher", "a"}, {"x-voucher-proof", "b"}}).lanes[voucher_row],
      Presence::repeated);
}

}  // namespace
}  // namespace turnpike::exchange
