// Arbitrary queries against every route of a small store. Each must get an answer of the provider,
// never a failure.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "govdata/serve/routes.h"
#include "govdata/store/schema.h"

namespace turnpike::govdata {
namespace {

void ask(Database& store, Operation operation, std::string_view query) {
  static const ServiceOptions options;
  constexpr std::int64_t now_ms = 1'772'366'400'000;
  const bool is_item = operation == Operation::item;
  try {
    RouteRequest request = parse_request(
        {operation, {is_item ? "proposal" : query, query, query}, is_item ? "" : query, "request"},
        now_ms);
    RouteContext context{store, now_ms, options, request, {store, now_ms, ""}};
    if (operation == Operation::lookup) run_lookup(context);
    if (operation == Operation::activity) run_activity(context);
    if (operation == Operation::item) run_item(context);
    if (operation == Operation::brief) resolve_dao(store, request.dao_id.value_or(""));
    if (operation == Operation::signals) run_signals(context);
    if (operation == Operation::events) run_events(context);
    if (operation == Operation::evidence) {
      request.dao_unknown = !resolve_dao(store, *request.dao_id);
      run_evidence(context);
    }
  } catch (const RouteError& error) {
    if (error.status() >= 500) std::abort();
  }
}

}  // namespace
}  // namespace turnpike::govdata

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using turnpike::govdata::Operation;
  static const auto store = turnpike::govdata::open_for_import(":memory:");
  const std::string_view query(reinterpret_cast<const char*>(data), size);
  for (const Operation operation :
       {Operation::lookup, Operation::activity, Operation::item, Operation::brief,
        Operation::signals, Operation::events, Operation::evidence}) {
    turnpike::govdata::ask(*store, operation, query);
  }
  return 0;
}
