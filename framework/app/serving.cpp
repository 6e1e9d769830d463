#include "app/serving.h"

#include <utility>
#include <vector>

#include "base/thread_name.h"

namespace turnpike::app {

Serving::Serving() {
  freeing_thread_ = std::thread([this] { free_programs(); });
}

Serving::~Serving() {
  published_.publish(nullptr);
  retired_.close();
  freeing_thread_.join();
}

void Serving::serve(InService program) {
  programs_alive_.fetch_add(1);
  published_.publish({new InService(std::move(program)), [this](const InService* retired) {
                        // Called on the loop that released the program last: freeing 100,000 routes
                        // would block that loop.
                        auto* const owned = const_cast<InService*>(retired);
                        if (!retired_.push(owned)) delete owned;
                        programs_alive_.fetch_sub(1);
                      }});
}

std::string Serving::standing() const {
  const std::scoped_lock lock(standing_mutex_);
  if (!was_refused_) return standing_;
  return (standing_.empty() ? "" : standing_ + "; ") + "the last reload was refused";
}

void Serving::stand(std::string standing) {
  const std::scoped_lock lock(standing_mutex_);
  was_refused_ = false;
  standing_ = std::move(standing);
}

void Serving::refuse() {
  const std::scoped_lock lock(standing_mutex_);
  was_refused_ = true;
}

void Serving::free_programs() {
  base::name_this_thread("programs");
  for (;;) {
    std::vector<InService*> retired;
    const auto wake = retired_.take(retired, 1, runtime::Deadline::never());
    for (InService* program : retired) delete program;
    if (wake == runtime::Wake::ready && retired.empty()) return;  // closed
  }
}

}  // namespace turnpike::app
