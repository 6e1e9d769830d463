// Reconciler: finishes what was begun, so that a lost notice, a crash or a caller who left loses
// nothing: looks at purchases that are due, sends refunds that operators asked for, and reads what
// processors say has changed. All nodes of a deployment do, each purchase by one at a time.
//
// ProcessorIntake is how notices come in: a reason to look, written down before it is answered.
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

  static constexpr std::uint32_t looks_a_pass_max = 5;  // and a pass each second

  // One round of all that is to be done; true: there may be more.
  bool pass();
  // Its part about purchases that are due; any fiber.
  bool look_at_due();
  // A notice came: writes its hints down. purchase.unavailable.
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
