// Arbitrary queries of the account routes: accepted values are within their bounds. The bytes are
// used as a query, as a cursor, and as the content of a signed cursor.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "crypto/signed_text.h"
#include "fuzz/check.h"
#include "hosts/account_query.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;

const std::string key(32, 'k');
constexpr std::int64_t now_ms = 1'795'242'540'123;

void check_billing(std::string_view query) {
  const auto fields = hosts::read_query(query, {"collection", "limit", "after"});
  if (!fields.ok()) return;
  const auto read = hosts::read_billing_query(*fields, "acc_1", key);
  if (!read.ok()) {
    check(!read.error().message.empty());
    return;
  }
  check(read->page.limit >= 1 && read->page.limit <= base::limits::billing_page_max);
  check(read->page.account_id == "acc_1");
}

void check_usage(std::string_view query) {
  const auto fields =
      hosts::read_query(query, {"from", "to", "granularity", "route_id", "api_key_id"});
  if (!fields.ok()) return;
  const auto read = hosts::read_usage_query(*fields, "acc_1", now_ms);
  if (!read.ok()) {
    check(!read.error().message.empty());
    return;
  }
  check(read->from_ms >= 0 && read->from_ms < read->to_ms);
  const auto starts = ledger::bucket_starts(read->from_ms, read->to_ms, read->granularity);
  check(starts && !starts->empty() && starts->size() <= base::limits::usage_buckets_max);
  check(starts->front() <= read->from_ms && starts->back() < read->to_ms);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_billing(bytes);
  check_usage(bytes);
  const std::string page = "collection=usage&after=";
  check_billing(page + std::string(bytes));
  check_billing(page + crypto::sign_text(bytes, "turnpike billing cursor", key));
  return 0;
}
