#include "commerce/auto_top_up.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "commerce/due.h"

namespace turnpike::commerce {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view setup_names[] = {"needs_reconciliation", "requires_action", "succeeded",
                                            "failed"};
constexpr std::string_view removal_names[] = {"", "wanted", "done"};
constexpr std::string_view top_up_names[] = {"off", "active", "paused_limit", "paused_failure",
                                             "needs_payment_method"};

template <class State, std::size_t size>
std::optional<State> state_in(const std::string_view (&names)[size],
                              std::string_view name) noexcept {
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<State>(found - std::begin(names));
}

void move_to(MethodSetup& setup, SetupStanding next) {
  if (setup.standing == next) return;
  setup.standing = next;
  setup.looks = 0;
}

TopUpStanding paused(TopUpStanding standing, TopUpState state, std::string_view reason,
                     std::int64_t now_ms, std::int64_t until_ms = 0) {
  standing.state = state;
  standing.reason = reason;
  standing.next_attempt_ms = until_ms;
  standing.changed_at_ms = now_ms;
  return standing;
}

std::chrono::year_month month_of(std::int64_t now_ms) noexcept {
  const std::chrono::sys_time<std::chrono::milliseconds> now{std::chrono::milliseconds(now_ms)};
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(now));
  return day.year() / day.month();
}

std::int64_t start_ms(std::chrono::year_month month) noexcept {
  const std::chrono::sys_days first(month / 1);
  return std::chrono::milliseconds(first.time_since_epoch()).count();
}

}  // namespace

// ---- setups -------------------------------------------------------------------------------------

std::string_view name_of(SetupStanding standing) noexcept {
  return setup_names[static_cast<std::size_t>(standing)];
}
std::optional<SetupStanding> setup_standing(std::string_view name) noexcept {
  return state_in<SetupStanding>(setup_names, name);
}

std::string_view name_of(Removal removal) noexcept {
  return removal_names[static_cast<std::size_t>(removal)];
}
std::optional<Removal> removal(std::string_view name) noexcept {
  return state_in<Removal>(removal_names, name);
}

MethodSetup after_setup_begin(const MethodSetup& setup, const Begun& begun) {
  MethodSetup next = setup;
  next.reference = begun.reference;
  next.url = begun.url;
  next.customer = begun.customer;
  if (begun.expires_at_ms > 0) next.expires_at_ms = begun.expires_at_ms;
  move_to(next, SetupStanding::requires_action);
  return next;
}

MethodSetup after_setup_refusal(const MethodSetup& setup, std::string_view code) {
  MethodSetup next = setup;
  next.failure_code = code_from(code);
  move_to(next, SetupStanding::failed);
  return next;
}

MethodSetup after_setup_look(const MethodSetup& setup, const SetupState& seen) {
  MethodSetup next = setup;
  ++next.looks;
  if (setup.standing == SetupStanding::succeeded) {
    // A saved method can only still exist, or be gone.
    if (!seen.failure.empty()) next.is_gone = true;
    return next;
  }
  if (seen.method) {
    next.method = *seen.method;
    next.failure_code.clear();
    move_to(next, SetupStanding::succeeded);
  } else if (!seen.failure.empty()) {
    return after_setup_refusal(next, seen.failure);
  }
  return next;
}

MethodSetup after_removal(const MethodSetup& setup) {
  MethodSetup next = setup;
  next.removal = Removal::done;
  return next;
}

std::int64_t setup_due_after(const MethodSetup& setup, std::int64_t now_ms, Random& random) {
  constexpr std::int64_t late_look_ms = 24 * hour_ms;
  switch (setup.standing) {
    case SetupStanding::needs_reconciliation:
      return due_in(pause_before_begin_ms(setup.looks), now_ms, random);
    case SetupStanding::requires_action:
      if (now_ms - setup.expires_at_ms > late_look_ms) return -1;
      return due_in(pause_before_look_ms(setup.looks), now_ms, random);
    case SetupStanding::succeeded:
      if (setup.removal != Removal::wanted) return -1;
      return due_in(pause_before_begin_ms(setup.looks), now_ms, random);
    case SetupStanding::failed:
      return -1;
  }
  return -1;
}

std::string setup_failure_code(const MethodSetup& setup) {
  if (setup.removal != Removal::none) return "payment_method_removed";
  return setup.is_gone ? "payment_method_gone" : setup.failure_code;
}

std::string setup_failure_text(std::string_view code) {
  if (code == "expired") return "Nobody saved a method in time.";
  if (code == "cancelled") return "The saving of the method was cancelled.";
  if (code == "payment_method_gone") {
    return "The method was removed at the payment service: save one anew.";
  }
  if (code == "payment_method_removed") return "The method was removed: save one anew.";
  if (code == "processor_unanswered") return "The payment service did not answer for a day.";
  return "The method was not saved (" + std::string(code) + ").";
}

// ---- policies -----------------------------------------------------------------------------------

std::optional<Error> problem_of(Policy& policy, const Terms& terms) {
  const auto credits = credits_for(terms, policy.minor);
  if (!credits) return amount_refusal(terms);
  if (*credits < policy.threshold) {
    return Error{ErrorCode::auto_reload_below_threshold,
                 amount_text(policy.minor) + " " + policy.currency + " buy " +
                     std::to_string(*credits) + " Credits, which is less than the threshold of " +
                     std::to_string(policy.threshold) +
                     ": raise the amount, or lower the threshold."};
  }
  if (policy.monthly_limit_minor < policy.minor) {
    return Error{ErrorCode::request_body_rejected,
                 "The monthly limit is less than one amount, so that nothing could ever be bought.",
                 0,
                 {{"/monthlyLimit", "it is less than the amount",
                   "Send at least " + amount_text(policy.minor) + "."}}};
  }
  policy.credits = *credits;
  return std::nullopt;
}

// ---- runs ---------------------------------------------------------------------------------------

std::string_view name_of(TopUpState state) noexcept {
  return top_up_names[static_cast<std::size_t>(state)];
}
std::optional<TopUpState> top_up_state(std::string_view name) noexcept {
  return state_in<TopUpState>(top_up_names, name);
}

std::int64_t month_start_ms(std::int64_t now_ms) noexcept { return start_ms(month_of(now_ms)); }
std::int64_t next_month_ms(std::int64_t now_ms) noexcept {
  return start_ms(month_of(now_ms) + std::chrono::months(1));
}

RunDecision decide_run(const Policy& policy, const TopUpStanding& standing, const RunFacts& facts,
                       const Terms* terms, const TopUpSettings& settings, std::int64_t now_ms) {
  const RunDecision not_now{standing, std::nullopt};
  const bool may_run =
      standing.state == TopUpState::active || standing.state == TopUpState::paused_limit;
  if (!settings.is_enabled || !policy.is_enabled || !may_run || !facts.may_buy ||
      now_ms < standing.next_attempt_ms || facts.balance + facts.pending >= policy.threshold) {
    return not_now;
  }
  const auto pause = [&](TopUpState state, std::string_view reason, std::int64_t until_ms = 0) {
    return RunDecision{paused(standing, state, reason, now_ms, until_ms), std::nullopt};
  };
  if (!facts.has_method) return pause(TopUpState::needs_payment_method, "payment_method_gone");
  if (terms == nullptr) return pause(TopUpState::paused_failure, "offer_retired");
  const auto credits = credits_for(*terms, policy.minor);
  // The person agreed to a price; buying fewer Credits for it needs a new agreement.
  if (!credits || *credits < policy.credits || *credits < policy.threshold) {
    return pause(TopUpState::paused_failure, "offer_changed");
  }
  if (facts.card_declines >= card_declines_max) {
    return pause(TopUpState::paused_failure, "card_declined_too_often");
  }
  if (facts.spent_minor + policy.minor > policy.monthly_limit_minor) {
    return pause(TopUpState::paused_limit, "monthly_limit", next_month_ms(now_ms));
  }
  if (facts.runs_today >= settings.runs_per_day_max) {
    return pause(TopUpState::paused_limit, "runs_per_day", facts.oldest_today_ms + day_ms);
  }
  RunDecision run{standing, credits};
  if (standing.state == TopUpState::paused_limit) {
    run.standing.state = TopUpState::active;
    run.standing.reason.clear();
    run.standing.changed_at_ms = now_ms;
  }
  return run;
}

TopUpStanding after_run(const TopUpStanding& standing, RunEnd end, Decline decline,
                        std::string_view code, std::uint32_t failures_max, std::int64_t now_ms) {
  constexpr std::int64_t pauses_ms[] = {hour_ms, 6 * hour_ms, 24 * hour_ms};
  TopUpStanding next = standing;
  if (end == RunEnd::credited) {
    next.failures = 0;
    next.next_attempt_ms = 0;
    return next;
  }
  // A pause for another reason, set meanwhile, is kept unchanged.
  if (standing.state != TopUpState::active && standing.state != TopUpState::paused_limit) {
    return next;
  }
  if (end == RunEnd::unanswered) {
    next.next_attempt_ms = now_ms + hour_ms;
    return next;
  }
  const std::string reason = code_from(code);
  if (end == RunEnd::money_back) return paused(next, TopUpState::paused_failure, reason, now_ms);
  ++next.failures;
  if (decline == Decline::method_gone) {
    return paused(next, TopUpState::needs_payment_method, "payment_method_gone", now_ms);
  }
  const bool is_for_good = decline == Decline::needs_customer || decline == Decline::never;
  if (is_for_good || next.failures >= failures_max) {
    return paused(next, TopUpState::paused_failure, reason, now_ms);
  }
  const auto at = std::min<std::size_t>(static_cast<std::size_t>(next.failures - 1),
                                        std::size(pauses_ms) - 1);
  next.next_attempt_ms = now_ms + pauses_ms[at];
  return next;
}

std::string pause_text(const TopUpStanding& standing) {
  const std::string& reason = standing.reason;
  if (reason == "monthly_limit") return "This month's limit is reached: it goes on next month.";
  if (reason == "runs_per_day") return "It bought often within a day: it goes on a day later.";
  if (reason == "payment_method_gone" || reason == "payment_method_removed") {
    return "The saved method is not there any more: save another and choose it.";
  }
  if (reason == "offer_retired") return "Nothing is sold by this payment service any more.";
  if (reason == "offer_changed") {
    return "The price has changed: look at the amount and turn it on again.";
  }
  if (reason == "card_declined_too_often") {
    return "The card was declined so often that it is not charged any more: save another.";
  }
  if (reason == "charge_unknown") {
    return "Nobody knows whether the last charge was made; an operator looks at it.";
  }
  if (reason == "refunded") return "A payment of it was given back.";
  if (reason == "disputed") return "A payment of it is disputed.";
  if (reason == "operator") return "An operator paused it.";
  if (reason == "account_closed") return "The account is closed.";
  if (reason.empty()) return {};
  return "The card was declined (" + reason + ").";
}

}  // namespace turnpike::commerce
