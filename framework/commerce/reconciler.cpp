#include "commerce/reconciler.h"

#include <algorithm>

#include "base/crash_points.h"

namespace turnpike::commerce {
namespace {

constexpr std::int64_t lease_ms = 30'000;
constexpr std::int64_t changes_each_ms = 5 * 60'000;
constexpr std::int64_t changes_overlap_ms = 10 * 60'000;  // lists of changes lag behind the changes
constexpr std::int64_t changes_lease_ms = 60'000;
constexpr std::int64_t standing_each_ms = 15'000;
constexpr int pages_max = 100;
constexpr std::uint32_t refunds_a_pass_max = 5;
constexpr std::int64_t call_timeout_ms = 15'000;
constexpr std::int64_t ns_per_ms = 1'000'000;

// True if `each_ms` have passed since `since_ns`, which is then set to now.
bool is_time(std::int64_t& since_ns, std::int64_t each_ms) {
  const std::int64_t now_ns = runtime::now_ns();
  if (since_ns != 0 && now_ns - since_ns < each_ms * ns_per_ms) return false;
  since_ns = now_ns;
  return true;
}

}  // namespace

Reconciler::Reconciler(Desk& desk, base::Metrics& metrics) : desk_(desk), metrics_(metrics) {}

bool Reconciler::pass() {
  const bool may_be_more = look_at_due();
  send_refunds();
  if (is_time(changes_read_ns_, changes_each_ms)) {
    for (const ProcessorInService& processor : desk_.parts().processors.list()) {
      if (processor.traits.lists_changes) read_changes(processor);
    }
  }
  if (is_time(standing_read_ns_, standing_each_ms)) report_standing();
  return may_be_more;
}

bool Reconciler::look_at_due() {
  const auto due = desk_.ask([&] { return desk_.store().take_due(lease_ms, looks_a_pass_max); });
  if (!due.ok()) {
    report("take due purchases", due.error());
    return false;
  }
  for (const Purchase& purchase : *due) {
    const auto done = desk_.work_on(purchase);
    metrics_
        .counter("turnpike_purchase_looks_total", "Looks at purchases, by what came of them.",
                 {{"processor", purchase.processor},
                  {"outcome", done.ok() ? std::string(name_of(done->state)) : "failed"}})
        .add();
    if (!done.ok() && done.error().code == base::ErrorCode::purchase_unavailable) {
      report("look at a purchase", done.error());
    }
  }
  return due->size() == looks_a_pass_max;
}

void Reconciler::send_refunds() {
  const auto refunds = desk_.ask([&] { return desk_.store().refunds_to_send(refunds_a_pass_max); });
  if (!refunds.ok()) return report("list refunds", refunds.error());
  for (const Refund& refund : *refunds) send(refund);
}

void Reconciler::send(const Refund& refund) {
  const auto purchase = desk_.ask([&] { return desk_.store().find(refund.purchase_id); });
  if (!purchase.ok() || !*purchase) return;
  const ProcessorInService* const processor =
      desk_.parts().processors.find((*purchase)->processor);
  if (processor == nullptr) return;
  base::pass(base::CrashPoint::refund_before);
  RefundState state = RefundState::sent;
  std::string detail;
  if (!processor->traits.refunds) {
    state = RefundState::refused;
    detail = "not_supported";
  } else {
    ProcessorCall call("", call_timeout_ms);
    const auto sent = processor->bound->refund((*purchase)->payment,
                                               {(*purchase)->currency, refund.minor}, refund.id,
                                               call);
    base::pass(base::CrashPoint::refund_sent);
    if (!sent.ok()) {
      desk_.parts().log.write(Severity::warning, "processor_failed",
                              {{"processor", processor->name},
                               {"purchase", refund.purchase_id},
                               {"step", "refund"},
                               {"reason", sent.error().message}});
      return;
    }
    if (!sent->refusal.empty()) state = RefundState::refused;
    detail = sent->refusal.empty() ? sent->reference : sent->refusal;
  }
  const auto ended = desk_.ask([&] { return desk_.store().end_refund(refund.id, state, detail); });
  if (!ended.ok()) report("end a refund", ended.error());
}

void Reconciler::read_changes(const ProcessorInService& processor) {
  const std::int64_t now_ms = desk_.parts().clock.now_ms();
  const auto place = desk_.ask([&] {
    return desk_.store().take_changes(processor.name, now_ms - changes_each_ms, changes_lease_ms);
  });
  if (!place.ok()) return report("read changes", place.error());
  if (!*place) return;  // another node reads them
  std::string cursor;
  for (int page = 0; page < pages_max; ++page) {
    ProcessorCall call("", call_timeout_ms);
    const auto changes =
        processor.bound->changes((*place)->since_ms - changes_overlap_ms, cursor, call);
    if (!changes.ok()) {
      desk_.parts().log.write(
          Severity::warning, "processor_failed",
          {{"processor", processor.name},
           {"step", "changes"},
           {"reason", changes.error().message}});
      return;  // retried when its lease has expired
    }
    if (const auto taken = take(processor, changes->hints); !taken.ok()) return;
    if (changes->cursor.empty()) {
      const ChangesPlace read{std::max((*place)->since_ms, changes->until_ms)};
      const auto kept = desk_.ask([&] { return desk_.store().keep_changes(processor.name, read); });
      if (!kept.ok()) report("keep changes", kept.error());
      return;
    }
    cursor = changes->cursor;
  }
}

Result<Unit, base::Error> Reconciler::take(const ProcessorInService& processor,
                                           std::span<const Hint> hints) {
  if (hints.empty()) return Unit{};
  const auto found = desk_.ask([&] { return desk_.store().hint(processor.name, hints); });
  if (!found.ok()) {
    report("take a hint", found.error());
    return found.error();
  }
  const auto count = [&](const char* outcome, std::size_t number) {
    metrics_
        .counter("turnpike_purchase_hints_total",
                 "What processors said may have changed, by whether it is known here.",
                 {{"processor", processor.name}, {"outcome", outcome}})
        .add(number);
  };
  count("known", *found);
  count("unknown", hints.size() - std::min<std::size_t>(hints.size(), *found));
  return Unit{};
}

void Reconciler::report_standing() {
  const auto standing = desk_.ask([&] { return desk_.store().standing(); });
  if (!standing.ok()) return;
  const std::int64_t now_ms = desk_.parts().clock.now_ms();
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    metrics_.gauge(name, help, {}).set(static_cast<double>(value));
  };
  set("turnpike_purchases_open", "Purchases that are not settled.", standing->open);
  set("turnpike_purchases_open_oldest_seconds", "Age of the oldest of them.",
      standing->oldest_open_ms < 0 ? 0 : (now_ms - standing->oldest_open_ms) / 1'000);
  set("turnpike_purchases_paid_not_credited", "Purchases that an operator must look at.",
      standing->paid_not_credited);
  set("turnpike_purchases_locked_accounts", "Accounts that may not buy, for a dispute.",
      standing->locked_accounts);
  set("turnpike_credits_lost", "Credits whose money went back after they were spent.",
      standing->lost);
}

void Reconciler::report(std::string_view what, const base::Error& error) {
  desk_.parts().log.write(Severity::error, "purchases_failed",
                          {{"what", what}, {"reason", error.message}});
}

Result<IntakeReply> ProcessorIntake::receive(const IntakeRequest& request, Call& call) {
  auto notice = processor_.bound->notice(request, call);
  if (!notice.ok()) return notice.error();
  const auto taken = reconciler_.take(processor_, notice->hints);
  base::pass(base::CrashPoint::purchase_hinted);
  if (!taken.ok()) return Failure{FailureKind::unavailable, taken.error().message, {}, false};
  // Looks at due purchases: a hinted one is due first.
  if (notice->after_credit) reconciler_.look_at_due();
  return std::move(notice->reply);
}

}  // namespace turnpike::commerce
