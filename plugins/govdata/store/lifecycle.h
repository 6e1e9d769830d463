// What a proposal is at a moment: pending, active or closed is never stored as truth but evaluated
// against a clock from its times and terminal transitions. Also the rule that reads an outcome out
// of a Snapshot vote. Pure functions; safe on any Thread.
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
// Of the names above; unknown (observed for Confidence) when it is none of them.
Outcome outcome_of(std::string_view name);
Execution execution_of(std::string_view name);
Confidence confidence_of(std::string_view name);

using MaybeTime = std::optional<std::int64_t>;

struct ProposalTimes {
  MaybeTime created, starts, ends, canceled, queued, executed, source_updated;
  bool operator==(const ProposalTimes&) const = default;
};

// What the source said last: how it ended (once it has ended) and whether it was carried out.
struct Standing {
  Outcome outcome = Outcome::unknown;
  Execution execution = Execution::unknown;
};

struct Evaluated {
  Lifecycle lifecycle = Lifecycle::unknown;
  Outcome outcome = Outcome::unknown;
  Execution execution = Execution::unknown;
  MaybeTime ended;  // when voting ended: its end, or an earlier cancellation
};

Evaluated evaluate(const ProposalTimes& times, Standing standing, std::int64_t now_ms);

// The latest time at or before `now_ms` at which something happened to it.
MaybeTime last_change(const ProposalTimes& times, std::int64_t now_ms);

struct Choice {
  std::string id;
  std::string label;
  std::optional<std::string> score;  // decimal
  std::optional<std::int64_t> votes_count;
};

// Passed, failed or no_quorum of a closed for-and-against vote; unknown where the labels or the
// voting type do not say which choice is which.
Outcome snapshot_outcome(std::string_view voting_type, const std::vector<Choice>& choices,
                         const std::optional<std::string>& quorum,
                         const std::optional<std::string>& scores_total);

// Passed, failed or no_quorum of a Governor's vote that is over. More for than against passes only
// with its quorum: without one that is known it is unknown, unless the vote is lost anyway.
Outcome governor_outcome(const std::vector<Choice>& choices,
                         const std::optional<std::string>& quorum);

// Power that counts towards the quorum, where the source's rule is known.
std::optional<std::string> counted_power(std::string_view provider,
                                         const std::optional<std::string>& scores_total,
                                         const std::vector<Choice>& choices);
std::optional<bool> quorum_reached(std::string_view provider,
                                   const std::optional<std::string>& quorum,
                                   const std::optional<std::string>& scores_total,
                                   const std::vector<Choice>& choices);

// Whether every label says for, against or abstain.
bool labels_are_normalised(const std::vector<Choice>& choices);

// The index of the choice with the most power; nullopt when none has any.
std::optional<std::size_t> leading_choice(const std::vector<Choice>& choices);

}  // namespace turnpike::govdata
