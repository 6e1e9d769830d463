#include <turnpike/plugin.h>

#include <memory>
#include <mutex>

#include "x402/lane.h"
#include "x402/premises.h"
#include "x402/processor.h"

namespace turnpike::x402 {
namespace {

// The premises that both objects share, since factories take no arguments. They end with the last
// object that holds them, so a plugin that is loaded anew is a new life of its node.
std::shared_ptr<Premises> premises() {
  static constinit std::mutex mutex;
  static constinit std::weak_ptr<Premises> known;
  const std::scoped_lock lock(mutex);
  auto shared = known.lock();
  if (shared == nullptr) known = shared = std::make_shared<Premises>();
  return shared;
}

}  // namespace
}  // namespace turnpike::x402

TURNPIKE_PLUGIN(
    "x402", "0.2.0", cooperative,
    turnpike::fills<turnpike::Lane,
                    [] { return std::make_unique<turnpike::x402::X402Lane>(
                             turnpike::x402::premises()); }>(),
    turnpike::fills<turnpike::Processor,
                    [] { return std::make_unique<turnpike::x402::X402Processor>(
                             turnpike::x402::premises()); }>())
