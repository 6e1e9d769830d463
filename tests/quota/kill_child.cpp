// The process that the kill test kills: takes permits on many Threads and promises each confirmed
// one.
#include "quota/node_store.h"
#include "support/victim.h"

namespace {

using namespace turnpike;

void call_for_ever(quota::NodeStore& store, const support::VictimSide& side) {
  quota::Limits limits;
  limits.window = {1'000'000, 366 * 86'400};
  limits.cumulative_limit = 1'000'000;
  limits.concurrency = 1'000;
  limits.permit_ttl_seconds = 60;
  const quota::Bucket& bucket = store.bucket("b");
  while (true) {
    const auto deadline = runtime::Deadline::after_ms(60'000);
    const auto decided = store.take("acc_1", bucket, limits, deadline);
    if (!decided.ok() || decided->permit == nullptr) continue;
    if (decided->permit->confirm(deadline).ok() && !side.promised()) return;
  }
}

}  // namespace

int main(int count, char** words) {
  support::VictimSide side(count, words);
  quota::NodeStore store(side.clock,
                         quota::NodeStore::Durable{side.node->free_counts(), side.pool, *side.log});
  if (!store.start().ok()) return 1;
  side.run_on_threads(8, [&] { call_for_ever(store, side); });
  return 0;
}
