// The process that the kill test kills: increments numbers on many Threads, each with a trace,
// under the prefix in its only argument, and promises each that was answered.
#include <atomic>

#include "records/durable_stores.h"
#include "support/victim.h"

#include <turnpike/helpers/test_host.h>

namespace {

using namespace turnpike;

void raise_for_ever(Store& store, const support::VictimSide& side, int caller) {
  const std::string prefix = side.words.at(0) + "/";
  const std::string key = prefix + "number/" + std::to_string(caller);
  TestCall call;
  std::uint64_t version = 0;
  for (int number = 1;; ++number) {
    const std::string text = std::to_string(number);
    const std::string trace = prefix + "trace/" + std::to_string(caller) + "/" + text;
    const StoreCheck check[] = {{key, version}};
    const StoreWrite writes[] = {{key, text}, {trace, text}};
    const StoreApplied applied = store.apply(check, writes, call);
    if (applied.outcome != StoreOutcome::applied || !side.promised()) return;
    version = applied.version;
  }
}

}  // namespace

int main(int count, char** words) {
  support::VictimSide side(count, words);
  const auto metrics = base::make_metrics();
  records::DurableStores stores(side.node->records(),
                                {side.clock, side.random, *side.log, *metrics, side.pool, nullptr});
  if (!stores.start().ok()) return 1;
  const auto store = stores.store_of("p");
  std::atomic<int> caller = 0;
  side.run_on_threads(8, [&] { raise_for_ever(*store, side, caller++); });
  return 0;
}
