// Processors: the processors in service, bound once at start, by name; and helpers for calling
// them. Owned by app/; immutable, any Thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>

#include "commerce/offer.h"
#include "runtime/deadline.h"
#include "runtime/wait.h"

namespace turnpike::commerce {

struct ProcessorInService {
  std::string name;
  std::string title;  // display name
  ProcessorTraits traits;
  BoundProcessor* bound = nullptr;
};

class Processors {
 public:
  explicit Processors(std::vector<ProcessorInService> list = {}) : list_(std::move(list)) {}
  [[nodiscard]] const std::vector<ProcessorInService>& list() const noexcept { return list_; }
  [[nodiscard]] const ProcessorInService* find(std::string_view name) const noexcept {
    const auto found = std::find_if(list_.begin(), list_.end(),
                                    [&](const auto& each) { return each.name == name; });
    return found == list_.end() ? nullptr : &*found;
  }

 private:
  std::vector<ProcessorInService> list_;
};

// The offers of published terms by the processors in service, newest terms first.
std::vector<Offer> offers_in_force(const std::vector<PublishedTerms>& published,
                                   const Processors& processors);
std::vector<Offer> retired_offers(const std::vector<PublishedTerms>& published,
                                  const Processors& processors);

// A call that is not cancelled when its caller leaves, since money may be on its way.
class ProcessorCall final : public Call {
 public:
  ProcessorCall(std::string_view request_id, std::int64_t timeout_ms) noexcept
      : request_id_(request_id), deadline_(runtime::Deadline::after_ms(timeout_ms)) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return request_id_; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    const auto until = runtime::Deadline::after_ms(duration_ms);
    return runtime::sleep_until(until.earlier(deadline_)) == runtime::Wake::deadline &&
           until.ns <= deadline_.ns;
  }

 private:
  const std::string_view request_id_;
  const runtime::Deadline deadline_;
};

}  // namespace turnpike::commerce
