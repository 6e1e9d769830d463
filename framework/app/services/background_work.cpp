#include "app/services/background_work.h"

#include <algorithm>
#include <utility>

namespace turnpike::app {

BackgroundWork::~BackgroundWork() {
  cancel();
  (void)has_ended(runtime::Deadline::never());
}

void BackgroundWork::spawn(std::string name, runtime::Task work) {
  const std::scoped_lock lock(mutex_);
  Work& one = list_.emplace_back();
  one.fiber = loop_.spawn(
      [&one, name = std::move(name), work = std::move(work)]() mutable {
        runtime::Fiber::current()->set_name(name);
        work();
        one.ended.set();
      },
      runtime::FiberKind::background);
  if (is_cancelled_) one.fiber.cancel();
}

void BackgroundWork::forget_ended() {
  const std::scoped_lock lock(mutex_);
  list_.remove_if(
      [](Work& one) { return one.ended.wait(runtime::Deadline{0}) == runtime::Wake::ready; });
}

void BackgroundWork::cancel() {
  const std::scoped_lock lock(mutex_);
  is_cancelled_ = true;
  for (Work& one : list_) one.fiber.cancel();
}

bool BackgroundWork::has_ended(runtime::Deadline deadline) {
  return std::all_of(list_.begin(), list_.end(),
                     [&](Work& one) { return one.ended.wait(deadline) == runtime::Wake::ready; });
}

}  // namespace turnpike::app
