#include "ledger/calls.h"

#include <string>
#include <utility>

#include "runtime/wait.h"

namespace turnpike::ledger {
namespace {

constexpr std::uint32_t call_threads_max = 4;
constexpr std::uint32_t call_queue_max = 1'024;
// After this time another node has written its uncharged facts, unless it is busy.
constexpr std::int64_t other_node_ms = 200;

base::Error not_read_in_time() {
  return {base::ErrorCode::billing_ledger_unavailable, "The books could not be read in time.", 1};
}

}  // namespace

PooledCalls::PooledCalls(UsageStore& store, Unsettled& unsettled, runtime::BlockingPool& pool)
    : store_(store),
      unsettled_(unsettled),
      pool_(pool),
      user_(pool.add_user("calls", call_threads_max, call_queue_max)) {}

Result<CallState, base::Error> PooledCalls::call(std::string_view account_id,
                                                 std::string_view request_id,
                                                 runtime::Deadline deadline) {
  const auto read = [&] {
    return pool_.call(
        user_,
        [&store = store_, account = std::string(account_id), request = std::string(request_id)] {
          return store.call(account, request);
        },
        deadline);
  };
  for (int look = 0;; ++look) {
    // The order matters: once a call is no longer settling, its fact exists.
    if (unsettled_.is_settling(account_id, request_id)) return CallState{true, {}};
    auto reply = read();
    if (reply.outcome != runtime::PoolOutcome::done) return not_read_in_time();
    if (!reply.value->ok()) return std::move(*reply.value).error();
    if ((*reply.value)->has_value() || look > 0) return CallState{false, **std::move(reply.value)};
    // Uncharged facts are written lazily: the fact of a call that just ended may still be missing.
    const runtime::Deadline others = runtime::Deadline::after_ms(other_node_ms);
    if (!unsettled_.await_facts(deadline)) return not_read_in_time();
    (void)runtime::sleep_until(deadline.earlier(others));
  }
}

}  // namespace turnpike::ledger
