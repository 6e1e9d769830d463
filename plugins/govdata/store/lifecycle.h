// The state of a proposal at a moment. Whether it is pending, active or closed is evaluated from
// its times and terminal transitions against a clock; the stored value is only a cache. Also the
// rules for the outcome of Snapshot and Governor votes. Pure functions; any Thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::govdata {

enum class Lifecycle : std::uint8_t { pending, active, closed, unknown };
enum class Outcome : std::uint8_t { passed, failed, canceled, no_quorum, unknown };
enum class Execution : std::uint8_t {
  not_started,
  queued,
  executed,
  expired,
  not_applicable,
  unknown
};
enum class Confidence : std::uint8_t { exact, estimated, observed };

std::string_view name_of(Lifecycle value);
std::string_view name_of(Outcome value);
std::string_view name_of(Execution value);
std::string_view name_of(Confidence value);
// The value with this name. For other names: unknown, or observed for Confidence.
Outcome outcome_of(std::string_view name);
Execution execution_of(std::string_view name);
Confidence confidence_of(std::string_view name);

using MaybeTime = std::optional<std::int64_t>;

struct ProposalTimes {
  MaybeTime created, starts, ends, canceled, queued, executed, source_updated;
  bool operator==(const ProposalTimes&) const = default;
};

// The source's latest statement: the outcome, once the vote has ended, and the execution.
struct Standing {
  Outcome outcome = Outcome::unknown;
  Execution execution = Execution::unknown;
};

struct Evaluated {
  Lifecycle lifecycle = Lifecycle::unknown;
  Outcome outcome = Outcome::unknown;
  Execution execution = Execution::unknown;
  MaybeTime ended;  // the end of voting, or an earlier cancellation
};

Evaluated evaluate(const ProposalTimes& times, Standing standing, std::int64_t now_ms);

// The latest time at or before `now_ms` at which something happened to the proposal.
MaybeTime last_change(const ProposalTimes& times, std::int64_t now_ms);

struct Choice {
  std::string id;
  std::string label;
  std::optional<std::string> score;  // decimal
  std::optional<std::int64_t> votes_count;
};

// The outcome of a closed vote for or against: passed, failed or no_quorum. Unknown if the labels
// or the voting type do not show which choice is which.
Outcome snapshot_outcome(std::string_view voting_type, const std::vector<Choice>& choices,
                         const std::optional<std::string>& quorum,
                         const std::optional<std::string>& scores_total);

// The outcome of a Governor's vote that is over: passed, failed or no_quorum. A majority passes
// only with the quorum. If it is not known whether the quorum was reached, a lost vote is failed
// and a won one unknown.
Outcome governor_outcome(const std::vector<Choice>& choices,
                         const std::optional<std::string>& quorum);

// The power that counts towards the quorum; empty if it is not known.
std::optional<std::string> counted_power(std::string_view provider,
                                         const std::optional<std::string>& scores_total,
                                         const std::vector<Choice>& choices);
std::optional<bool> quorum_reached(std::string_view provider,
                                   const std::optional<std::string>& quorum,
                                   const std::optional<std::string>& scores_total,
                                   const std::vector<Choice>& choices);

// Whether every label means for, against or abstain.
bool labels_are_normalised(const std::vector<Choice>& choices);

// The index of the choice with the most power; empty if no choice has any.
std::optional<std::size_t> leading_choice(const std::vector<Choice>& choices);

}  // namespace turnpike::govdata
