// Auto Top-Up: the gateway buys Credits for an account whenever its balance is low, with a method
// of payment that a person saved at a processor.
//
//   setup     the saving of a method by a person: begun and looked up like a purchase
//   policy    an account's settings. Each replacement is an immutable revision; the newest is in
//             force
//   standing  the state of the policy: waiting, running or paused, and the reason
//   run       a purchase of origin auto_top_up: begun, its reference made durable, then charged
//
// INVARIANTS, beside those of purchases:
//
//   I4 an account has at most one open run, on however many nodes
//   I6 no charge is begun once a policy that is off is durable
//
// TRIGGER. An account runs when its balance plus paid but uncredited Credits is below the
// threshold. An amount buys at least the threshold, so that one charge closes any gap.
//
// DECLINES. A retryable decline is retried after 1, 6 and 24 hours, and pauses the policy after
// `failures_max` in a row; any other decline pauses it at once. After card_declines_max declines in
// 30 days a card is not charged any more, even if the policy is resumed, since card networks fine
// further attempts. A missing answer of the processor is not a decline.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/processor.h>

#include "base/error.h"
#include "commerce/offer.h"
#include "commerce/purchase.h"

namespace turnpike::commerce {

// ---- setups -------------------------------------------------------------------------------------

enum class SetupStanding : std::uint8_t {
  needs_reconciliation,  // the processor has not answered; it is asked again
  requires_action,       // the person must go to `url`
  succeeded,
  failed,
};
std::string_view name_of(SetupStanding standing) noexcept;
std::optional<SetupStanding> setup_standing(std::string_view name) noexcept;

// A person's wish that a saved method is forgotten.
enum class Removal : std::uint8_t {
  none,
  wanted,  // it is gone here; the processor is asked until it has forgotten the method
  done,
};
std::string_view name_of(Removal removal) noexcept;  // of none: empty
std::optional<Removal> removal(std::string_view name) noexcept;

struct MethodSetup {
  std::string id;  // "pms_..."
  std::string account_id;
  std::string processor;
  SetupStanding standing = SetupStanding::needs_reconciliation;
  std::int64_t version = 0;
  std::string created_by;  // principal

  std::string reference;  // id at the processor
  std::string url;        // the page where the method is saved
  std::string customer;
  std::string reply;  // body of the creating request's answer, once begun
  std::int64_t begin_number = 0;

  SavedMethod method;    // set once the setup succeeded
  bool is_gone = false;  // succeeded, but the method no longer exists or was removed
  Removal removal = Removal::none;
  std::string failure_code;
  std::int64_t looks = 0;  // since the last change of standing
  std::int64_t hints = 0;
  std::int64_t due_ms = -1;
  std::int64_t created_at_ms = 0;
  std::int64_t expires_at_ms = 0;

  // True if the method can be charged, as far as is known.
  [[nodiscard]] bool is_usable() const noexcept {
    return standing == SetupStanding::succeeded && !is_gone;
  }
};

MethodSetup after_setup_begin(const MethodSetup& setup, const Begun& begun);
MethodSetup after_setup_refusal(const MethodSetup& setup, std::string_view code);
MethodSetup after_setup_look(const MethodSetup& setup, const SetupState& seen);
MethodSetup after_removal(const MethodSetup& setup);
// Time of the next look; -1: none is needed.
std::int64_t setup_due_after(const MethodSetup& setup, std::int64_t now_ms, Random& random);
// The code of why the setup is of no use, "payment_method_removed" and "payment_method_gone" beside
// MethodSetup::failure_code; empty: it is of use, or not known yet.
std::string setup_failure_code(const MethodSetup& setup);
// A sentence for people about such a code.
std::string setup_failure_text(std::string_view code);

// ---- policies -----------------------------------------------------------------------------------

struct Policy {
  std::string account_id;
  std::int64_t revision = 0;  // 0: no policy yet
  bool is_enabled = false;
  Credits threshold = 0;
  std::string currency = Terms().currency;
  std::int64_t minor = 0;
  Credits credits = 0;  // bought by `minor` when the policy was made
  std::int64_t monthly_limit_minor = 0;
  std::string setup_id;  // empty: none
  std::string created_by;
  std::int64_t created_at_ms = 0;
};

inline constexpr Credits threshold_max = 1'000'000'000;
inline constexpr std::size_t monthly_limit_digits_max = 6;  // before the decimal point

// Checks a policy that is on against the terms that it buys by, and fills in its Credits.
// purchase.amount_invalid, auto_reload.amount_below_threshold, request.body_rejected (the limit is
// less than one amount).
std::optional<base::Error> problem_of(Policy& policy, const Terms& terms);

// ---- runs ---------------------------------------------------------------------------------------

enum class TopUpState : std::uint8_t {
  off,
  active,
  paused_limit,          // until next_attempt_ms
  paused_failure,        // until a new revision, or an operator's resume
  needs_payment_method,  // as paused_failure
};
std::string_view name_of(TopUpState state) noexcept;
std::optional<TopUpState> top_up_state(std::string_view name) noexcept;

struct TopUpStanding {
  TopUpState state = TopUpState::off;
  std::string reason = {};  // a code; empty: not paused
  std::int64_t failures = 0;  // in a row
  std::int64_t next_attempt_ms = 0;
  std::int64_t changed_at_ms = 0;

  bool operator==(const TopUpStanding&) const = default;
};

constexpr bool is_paused(TopUpState state) noexcept {
  return state == TopUpState::paused_failure || state == TopUpState::needs_payment_method ||
         state == TopUpState::paused_limit;
}

struct TopUpSettings {
  bool is_enabled = true;
  std::uint32_t failures_max = 3;
  std::uint32_t runs_per_day_max = 10;
};

inline constexpr std::int64_t card_declines_max = 10;  // in card_window_ms
inline constexpr std::int64_t card_window_ms = 30ll * 24 * 3'600'000;
inline constexpr std::int64_t run_unknown_ms = 24ll * 3'600'000;

// The facts from the store that decide whether an account may run.
struct RunFacts {
  Credits balance = 0;
  Credits pending = 0;  // paid for but not credited
  std::int64_t spent_minor = 0;  // by runs of this UTC month that did not end unpaid
  std::int64_t runs_today = 0;   // in the last 24 hours, whatever their outcome
  std::int64_t oldest_today_ms = 0;
  std::int64_t card_declines = 0;  // of this card, in card_window_ms
  bool may_buy = true;       // the account is active and not locked
  bool has_method = true;    // the policy's setup is usable
};

// The decision whether to run now. Without `credits`: not now, and `standing` is the new standing.
struct RunDecision {
  TopUpStanding standing;
  std::optional<Credits> credits;
};
// `terms`: those in force of the method's processor; null: it sells nothing.
RunDecision decide_run(const Policy& policy, const TopUpStanding& standing, const RunFacts& facts,
                       const Terms* terms, const TopUpSettings& settings, std::int64_t now_ms);

// The end of a run, or a later event.
enum class RunEnd : std::uint8_t { credited, declined, unanswered, money_back };
TopUpStanding after_run(const TopUpStanding& standing, RunEnd end, Decline decline,
                        std::string_view code, std::uint32_t failures_max, std::int64_t now_ms);

// The first moment of the current UTC month, and of the next one.
std::int64_t month_start_ms(std::int64_t now_ms) noexcept;
std::int64_t next_month_ms(std::int64_t now_ms) noexcept;

// A sentence for people about TopUpStanding::reason.
std::string pause_text(const TopUpStanding& standing);

}  // namespace turnpike::commerce
