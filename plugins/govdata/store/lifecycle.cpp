#include "govdata/store/lifecycle.h"

#include <algorithm>
#include <array>

#include "govdata/store/decimal.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

constexpr std::array<std::string_view, 4> lifecycle_names = {"pending", "active", "closed",
                                                             "unknown"};
constexpr std::array<std::string_view, 5> outcome_names = {"passed", "failed", "canceled",
                                                           "no_quorum", "unknown"};
constexpr std::array<std::string_view, 6> execution_names = {
    "not_started", "queued", "executed", "expired", "not_applicable", "unknown"};
constexpr std::array<std::string_view, 3> confidence_names = {"exact", "estimated", "observed"};

template <class Enum, std::size_t Count>
Enum value_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  // An unknown name becomes the last value of the table, which claims the least.
  const auto at =
      found == names.end() ? Count - 1 : static_cast<std::size_t>(found - names.begin());
  return static_cast<Enum>(at);
}

bool has_come(const MaybeTime& time, std::int64_t now_ms) { return !time || *time <= now_ms; }

template <std::size_t Count>
bool begins_with_word(std::string_view label, const std::array<std::string_view, Count>& words) {
  const std::string normal = normal_title(label);
  const std::string_view first = std::string_view(normal).substr(0, normal.find(' '));
  return std::find(words.begin(), words.end(), first) != words.end();
}

enum class Side { in_favour, against, abstain, other };

Side side_of(std::string_view label) {
  constexpr std::array<std::string_view, 9> in_favour = {
      "for", "yes", "yae", "yay", "yea", "aye", "approve", "accept", "support"};
  constexpr std::array<std::string_view, 6> against = {"against", "no",     "nay",
                                                       "reject",  "oppose", "deny"};
  constexpr std::array<std::string_view, 2> abstain = {"abstain", "abstention"};
  if (begins_with_word(label, in_favour)) return Side::in_favour;
  if (begins_with_word(label, against)) return Side::against;
  return begins_with_word(label, abstain) ? Side::abstain : Side::other;
}

}  // namespace

std::string_view name_of(Lifecycle value) { return lifecycle_names[std::size_t(value)]; }
std::string_view name_of(Outcome value) { return outcome_names[std::size_t(value)]; }
std::string_view name_of(Execution value) { return execution_names[std::size_t(value)]; }
std::string_view name_of(Confidence value) { return confidence_names[std::size_t(value)]; }

Outcome outcome_of(std::string_view name) { return value_of<Outcome>(outcome_names, name); }
Execution execution_of(std::string_view name) { return value_of<Execution>(execution_names, name); }
Confidence confidence_of(std::string_view name) {
  return value_of<Confidence>(confidence_names, name);
}

Evaluated evaluate(const ProposalTimes& times, Standing standing, std::int64_t now_ms) {
  Evaluated state;
  state.execution = standing.execution;
  state.ended = times.ends;
  const bool canceled = standing.outcome == Outcome::canceled && has_come(times.canceled, now_ms);
  const bool queued = standing.execution == Execution::queued && has_come(times.queued, now_ms);
  const bool executed =
      standing.execution == Execution::executed && has_come(times.executed, now_ms);
  const bool expired =
      standing.execution == Execution::expired && times.ends && *times.ends <= now_ms;
  // Some sources give an outcome and no times; then the proposal counts as ended. This does not
  // apply to sources without execution, such as Snapshot, whose outcome may be that of the votes so
  // far.
  const bool is_state = standing.execution != Execution::not_applicable &&
                        standing.execution != Execution::unknown;
  const bool ended = is_state && !times.starts && !times.ends &&
                     standing.outcome != Outcome::unknown && standing.outcome != Outcome::canceled;
  if (canceled || queued || executed || expired || ended) {
    state.lifecycle = Lifecycle::closed;
    state.outcome = standing.outcome;
    if (canceled && times.canceled && (!state.ended || *times.canceled < *state.ended)) {
      state.ended = times.canceled;
    }
    return state;
  }
  if (standing.execution == Execution::queued || standing.execution == Execution::executed ||
      standing.execution == Execution::expired) {
    // The transition is after now_ms, so it must not show yet.
    state.execution =
        standing.execution == Execution::executed && times.queued && *times.queued <= now_ms
            ? Execution::queued
            : Execution::not_started;
  }
  if (times.starts && now_ms < *times.starts) {
    state.lifecycle = Lifecycle::pending;
  } else if (times.ends && now_ms >= *times.ends) {
    state.lifecycle = Lifecycle::closed;
    if (standing.outcome != Outcome::canceled) state.outcome = standing.outcome;
  } else if (times.starts && times.ends) {
    state.lifecycle = Lifecycle::active;
  }
  return state;
}

MaybeTime last_change(const ProposalTimes& times, std::int64_t now_ms) {
  MaybeTime latest;
  const MaybeTime all[] = {times.created, times.starts,   times.ends,          times.canceled,
                           times.queued,  times.executed, times.source_updated};
  for (const MaybeTime& time : all) {
    if (!time || *time > now_ms) continue;
    const bool is_end_of_canceled = &time == &all[2] && times.canceled && *times.canceled < *time;
    if (!is_end_of_canceled && (!latest || *time > *latest)) latest = time;
  }
  return latest;
}

Outcome snapshot_outcome(std::string_view voting_type, const std::vector<Choice>& choices,
                         const std::optional<std::string>& quorum,
                         const std::optional<std::string>& scores_total) {
  if (voting_type != "basic" && voting_type != "single-choice") return Outcome::unknown;
  const Choice* in_favour = nullptr;
  const Choice* against = nullptr;
  std::string counted = "0";
  for (const Choice& choice : choices) {
    const Side side = side_of(choice.label);
    if (side == Side::other || !choice.score) return Outcome::unknown;
    const Choice** place = side == Side::in_favour ? &in_favour : &against;
    if (side != Side::abstain) {
      if (*place != nullptr) return Outcome::unknown;
      *place = &choice;
    }
    counted = add_decimals(counted, *choice.score);
  }
  if (in_favour == nullptr || against == nullptr) return Outcome::unknown;
  if (quorum && compare_decimals(*quorum, "0") > 0 &&
      compare_decimals(scores_total ? *scores_total : counted, *quorum) < 0) {
    return Outcome::no_quorum;
  }
  return compare_decimals(*in_favour->score, *against->score) > 0 ? Outcome::passed
                                                                  : Outcome::failed;
}

Outcome governor_outcome(const std::vector<Choice>& choices,
                         const std::optional<std::string>& quorum) {
  if (choices.size() < 2 || !choices[0].score || !choices[1].score) return Outcome::unknown;
  const auto has_quorum = quorum_reached("governor", quorum, {}, choices);
  if (has_quorum == false) return Outcome::no_quorum;
  const bool is_won = compare_decimals(*choices[1].score, *choices[0].score) > 0;
  if (!is_won) return Outcome::failed;
  return has_quorum == true ? Outcome::passed : Outcome::unknown;
}

std::optional<std::string> counted_power(std::string_view provider,
                                         const std::optional<std::string>& scores_total,
                                         const std::vector<Choice>& choices) {
  if (provider != "governor") return scores_total;
  // OpenZeppelin's default: votes for and abstentions count towards the quorum.
  std::string counted = "0";
  for (const Choice& choice : choices) {
    if (choice.id == "0") continue;
    if (!choice.score) return std::nullopt;
    counted = add_decimals(counted, *choice.score);
  }
  return choices.empty() ? std::nullopt : std::optional(counted);
}

std::optional<bool> quorum_reached(std::string_view provider,
                                   const std::optional<std::string>& quorum,
                                   const std::optional<std::string>& scores_total,
                                   const std::vector<Choice>& choices) {
  const auto counted = counted_power(provider, scores_total, choices);
  if (!quorum || !counted) return std::nullopt;
  return compare_decimals(*counted, *quorum) >= 0;
}

bool labels_are_normalised(const std::vector<Choice>& choices) {
  return std::all_of(choices.begin(), choices.end(), [](const Choice& choice) {
    return side_of(choice.label) != Side::other;
  });
}

std::optional<std::size_t> leading_choice(const std::vector<Choice>& choices) {
  std::optional<std::size_t> leader;
  for (std::size_t at = 0; at < choices.size(); ++at) {
    const auto& score = choices[at].score;
    if (!score || compare_decimals(*score, "0") <= 0) continue;
    if (!leader || compare_decimals(*score, *choices[*leader].score) > 0) leader = at;
  }
  return leader;
}

}  // namespace turnpike::govdata
