// Reconciler: finishes begun work, so that a lost notice, a crash or a caller who left loses
// nothing: looks at due purchases, sends refunds requested by operators, and reads the changes that
// processors report. All nodes of a deployment run one; each purchase is processed by one node at a
// time.
//
// ProcessorIntake receives a processor's notices: a notice triggers a look-up and is stored before
// it is answered.
//
// Owned by app/; pass() is called by one fiber at a time, receive() on fibers of any loop.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/metrics.h"
#include "commerce/desk.h"

namespace turnpike::commerce {

class Reconciler {
 public:
  Reconciler(Desk& desk, base::Metrics& metrics);

  static constexpr std::uint32_t looks_a_pass_max = 5;  // with one pass per second

  // One round of all work; true: there may be more.
  bool pass();
  // The part for due purchases; any fiber.
  bool look_at_due();
  // Stores the hints of a notice. purchase.unavailable.
  Result<Unit, base::Error> take(const ProcessorInService& processor, std::span<const Hint> hints);

 private:
  void send_refunds();
  void send(const Refund& refund);
  void read_changes(const ProcessorInService& processor);
  void report_standing();
  void report(std::string_view what, const base::Error& error);

  Desk& desk_;
  base::Metrics& metrics_;
  std::int64_t changes_read_ns_ = 0;
  std::int64_t standing_read_ns_ = 0;
};

class ProcessorIntake final : public BoundObject {
 public:
  ProcessorIntake(const ProcessorInService& processor, Reconciler& reconciler)
      : processor_(processor), reconciler_(reconciler) {}
  Result<IntakeReply> receive(const IntakeRequest& request, Call& call) override;
  Result<std::optional<Document>> document(std::string_view path, Call& call) override {
    return processor_.bound->document(path, call);
  }
  Result<std::uint32_t> run(Call& call) override { return processor_.bound->run(call); }

 private:
  const ProcessorInService& processor_;
  Reconciler& reconciler_;
};

}  // namespace turnpike::commerce
