// The events of one proposal: its creation, the events of each of its schedules, and its changes.
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "govdata/store/decimal.h"
#include "govdata/store/event_rows.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using EventJson = nlohmann::ordered_json;

constexpr std::int64_t far_future_ms = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t turnout_votes_min = 100;
constexpr std::int64_t long_vote_ms = 48 * ms_per_hour;

template <class T>
EventJson known(const std::optional<T>& value) {
  return value ? EventJson(*value) : EventJson(nullptr);
}

// A voting period, and the span of time in which it was the current one in the store.
struct Schedule {
  MaybeTime starts, ends;
  std::int64_t observed_at = 0;
  std::int64_t replaced_at = far_future_ms;
  std::int64_t revision = 1;
};

struct Change {
  std::int64_t revision = 0;
  std::int64_t observed_at = 0;
  std::set<std::string> fields;  // by the replies' names
  nlohmann::json before, after;
};

struct Subject {
  EventItem item;
  MaybeText proposer, quorum, scores_total, proposal_type;
  MaybeInteger votes;
  ProposalTimes times;
  Confidence confidence = Confidence::exact;
  bool flagged = false;
  std::int64_t first_seen_at = 0, revision = 1, actions = 0;
  bool has_upgrade = false;
  std::vector<Choice> choices;
  std::vector<Schedule> schedules;
  std::vector<Change> changes;
};

std::optional<Subject> read_subject(Database& database, std::int64_t pk) {
  auto row = database.prepare(
      "SELECT dao_id, provider, external_id, proposer, quorum, scores_total, proposal_type,"
      " votes_count, created_at, voting_starts_at, voting_ends_at, canceled_at, queued_at,"
      " executed_at, source_updated_at, time_confidence, flagged, first_seen_at, revision"
      " FROM proposal WHERE proposal_pk=?1");
  row.with(pk);
  if (!row.step()) return std::nullopt;
  Subject subject;
  subject.item = {"proposal", pk, row.text(0), row.text(1), row.text(2)};
  subject.proposer = row.maybe_text(3);
  subject.quorum = row.maybe_text(4);
  subject.scores_total = row.maybe_text(5);
  subject.proposal_type = row.maybe_text(6);
  subject.votes = row.maybe_integer(7);
  subject.times = {row.maybe_integer(8),  row.maybe_integer(9),  row.maybe_integer(10),
                   row.maybe_integer(11), row.maybe_integer(12), row.maybe_integer(13),
                   row.maybe_integer(14)};
  subject.confidence = confidence_of(row.text(15));
  subject.flagged = row.integer(16) != 0;
  subject.first_seen_at = row.integer(17);
  subject.revision = row.integer(18);
  return subject;
}

bool is_upgrade(std::string_view signature, std::string_view calldata) {
  constexpr std::array<std::string_view, 5> names = {"upgradeTo", "upgradeToAndCall", "setCode",
                                                     "grantRole", "transferOwnership"};
  // The selectors (first four bytes of calldata) of the Solidity functions among them, for actions
  // without a signature.
  constexpr std::array<std::string_view, 4> selectors = {"3659cfe6", "4f1ef286", "2f2ff15d",
                                                         "f2fde38b"};
  std::string_view name = signature.substr(0, signature.find('('));
  name.remove_prefix(std::min(name.size(), name.rfind('.') + 1));  // system.setCode
  if (!name.empty()) return std::find(names.begin(), names.end(), name) != names.end();
  const std::string lower = lower_ascii(calldata.substr(0, 10));
  std::string_view selector = lower;
  if (selector.substr(0, 2) == "0x") selector.remove_prefix(2);
  return std::find(selectors.begin(), selectors.end(), selector.substr(0, 8)) != selectors.end();
}

void read_subject_parts(Database& database, Subject& subject) {
  {
    auto row = database.prepare(
        "SELECT choice_id, label, score, votes_count FROM proposal_choice WHERE proposal_pk=?1"
        " ORDER BY rowid");
    row.with(subject.item.pk);
    while (row.step()) {
      subject.choices.push_back(
          {row.text(0), row.text(1), row.maybe_text(2), row.maybe_integer(3)});
    }
  }
  auto row = database.prepare(
      "SELECT signature, substr(calldata, 1, 16) FROM proposal_action WHERE proposal_pk=?1");
  row.with(subject.item.pk);
  while (row.step()) {
    ++subject.actions;
    subject.has_upgrade = subject.has_upgrade || is_upgrade(row.text(0), row.text(1));
  }
}

MaybeTime time_in(const nlohmann::json& snapshot, const char* name) {
  const auto found = snapshot.find(name);
  if (found == snapshot.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string word_in(const nlohmann::json& snapshot, const char* name) {
  const auto found = snapshot.find(name);
  return found != snapshot.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The terminal state that the change reached (queued, executed, expired, canceled), or empty.
std::string terminal_state(const Change& change) {
  const std::string execution = word_in(change.after, "execution");
  const bool moved = execution != word_in(change.before, "execution");
  if (moved && (execution == "queued" || execution == "executed" || execution == "expired")) {
    return execution;
  }
  const std::string outcome = word_in(change.after, "outcome");
  const bool canceled = outcome == "canceled" && word_in(change.before, "outcome") != outcome;
  return canceled ? outcome : std::string();
}

// The changed fields of a revision that make an event, by their names in replies. A change of
// tallies alone makes none.
std::set<std::string> telling_fields(const Change& change, const nlohmann::json& changed) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> names = {
      {{"title", "title"},
       {"body", "body"},
       {"choices", "choices"},
       {"start", "votingStartsAt"},
       {"end", "votingEndsAt"},
       {"quorum", "quorum"},
       {"discussion_url", "discussionUrl"},
       {"flagged", "flagged"}}};
  std::set<std::string> fields;
  for (const auto& [stored, shown] : names) {
    if (std::find(changed.begin(), changed.end(), stored) != changed.end()) fields.emplace(shown);
  }
  const std::string terminal = terminal_state(change);
  if (!terminal.empty()) fields.insert(terminal == "canceled" ? "outcome" : "executionStatus");
  return fields;
}

void extend_schedules(std::vector<Schedule>& schedules, const Schedule& next) {
  if (!schedules.empty()) {
    Schedule& last = schedules.back();
    if (last.starts == next.starts && last.ends == next.ends) return;
    last.replaced_at = next.observed_at;
  }
  schedules.push_back(next);
}

// Reads the proposal's changes and schedules from its revisions.
void read_revisions(Database& database, Subject& subject) {
  if (subject.revision > 1) {
    nlohmann::json before;
    auto row = database.prepare(
        "SELECT revision, observed_at, changed_fields, snapshot_json FROM proposal_revision"
        " WHERE proposal_pk=?1 ORDER BY revision");
    row.with(subject.item.pk);
    while (row.step()) {
      Change change{row.integer(0), row.integer(1), {}, std::move(before),
                    nlohmann::json::parse(row.text(3), nullptr, false)};
      const auto changed = nlohmann::json::parse(row.text(2), nullptr, false);
      before = change.after;
      extend_schedules(subject.schedules,
                       {time_in(change.after, "start"), time_in(change.after, "end"),
                        change.observed_at, far_future_ms, change.revision});
      if (change.revision == 1) continue;
      change.fields = telling_fields(change, changed);
      if (!change.fields.empty()) subject.changes.push_back(std::move(change));
    }
  }
  if (subject.schedules.empty()) {
    subject.schedules.push_back(
        {subject.times.starts, subject.times.ends, subject.first_seen_at, far_future_ms, 1});
  }
  // A schedule that the same run replaced was never visible to readers.
  std::erase_if(subject.schedules, [](const Schedule& schedule) {
    return schedule.observed_at == schedule.replaced_at;
  });
}

EventReasons proposal_reasons(const Subject& subject, int base) {
  EventReasons reasons;
  reasons.add("base", base);
  if (subject.actions > 0) reasons.add("executable", 10);
  const std::string type = subject.proposal_type.value_or("");
  if (type.rfind("treasury/", 0) == 0 || type == "protocol/major-change" || subject.has_upgrade) {
    reasons.add("high_impact_type", 10);
  }
  if (subject.votes.value_or(0) >= turnout_votes_min) reasons.add("turnout", 5);
  if (subject.flagged) reasons.add("flagged", -30);
  return reasons;
}

EventJson leader_json(const Subject& subject) {
  const auto at = leading_choice(subject.choices);
  if (!at) return nullptr;
  const Choice& choice = subject.choices[*at];
  std::string whole = "0";
  for (const Choice& other : subject.choices) {
    if (!other.score) return {{"id", choice.id}, {"label", choice.label}, {"power", *choice.score},
                              {"share", nullptr}};
    whole = add_decimals(whole, *other.score);
  }
  return {{"id", choice.id},
          {"label", choice.label},
          {"power", *choice.score},
          {"share", known(share_of(*choice.score, whole))}};
}

std::optional<bool> reached(const Subject& subject) {
  return quorum_reached(subject.item.provider, subject.quorum, subject.scores_total,
                        subject.choices);
}

DerivedEvent event_of(const Subject& subject, EventType type, std::int64_t event_time,
                      std::int64_t observed_at, int base) {
  DerivedEvent event;
  event.type = type;
  event.revision = subject.revision;
  event.event_time = event_time;
  event.discovered_time = std::max(event_time, observed_at);
  event.confidence = subject.confidence;
  event.reasons = proposal_reasons(subject, base);
  return event;
}


bool is_over_by(const Subject& subject, std::int64_t time_ms) {
  const auto by = [&](const MaybeTime& time) { return time && *time <= time_ms; };
  return by(subject.times.canceled) || by(subject.times.queued) || by(subject.times.executed);
}

std::optional<DerivedEvent> voting_started(const Subject& subject, const Schedule& schedule) {
  const bool canceled_before =
      subject.times.canceled && schedule.starts && *subject.times.canceled < *schedule.starts;
  if (!schedule.starts || canceled_before) return std::nullopt;
  auto event = event_of(subject, EventType::proposal_voting_started, *schedule.starts,
                        schedule.observed_at, 60);
  event.bucket = std::to_string(*schedule.starts);
  event.deadline_at = schedule.ends;
  event.details = {{"votingEndsAtMs", known(schedule.ends)}};
  return event;
}

std::optional<DerivedEvent> ending_soon(const Subject& subject, const Schedule& schedule) {
  if (!schedule.starts || !schedule.ends || *schedule.ends <= *schedule.starts) {
    return std::nullopt;
  }
  const std::int64_t span_ms = *schedule.ends - *schedule.starts;
  const std::int64_t left_ms = span_ms >= long_vote_ms ? ms_per_day : span_ms / 4;
  const std::int64_t time_ms = *schedule.ends - left_ms;
  if (is_over_by(subject, time_ms)) return std::nullopt;
  auto event = event_of(subject, EventType::proposal_voting_ending_soon, time_ms,
                        schedule.observed_at, 75);
  event.bucket = std::to_string(*schedule.ends);
  event.deadline_at = schedule.ends;
  event.details = {{"hoursLeft", left_ms / ms_per_hour},
                   {"quorumReached", known(reached(subject))},
                   {"leadingChoice", leader_json(subject)}};
  return event;
}

std::optional<DerivedEvent> voting_ended(const Subject& subject, const Schedule& schedule) {
  MaybeTime ended = schedule.ends;
  if (subject.times.canceled && (!ended || *subject.times.canceled < *ended)) {
    ended = subject.times.canceled;
  }
  if (!ended || !schedule.starts || *schedule.starts > *ended) return std::nullopt;
  auto event =
      event_of(subject, EventType::proposal_voting_ended, *ended, schedule.observed_at, 70);
  if (reached(subject).value_or(false)) event.reasons.add("quorum_reached", 5);
  event.bucket = std::to_string(*ended);
  // Readers add outcome and execution as of their clock.
  event.details = {{"turnout", {{"votes", known(subject.votes)},
                                {"power", known(subject.scores_total)}}},
                   {"leadingChoice", leader_json(subject)}};
  return event;
}

DerivedEvent created(const Subject& subject) {
  auto event = event_of(subject, EventType::proposal_created, *subject.times.created,
                        subject.first_seen_at, 55);
  event.deadline_at = subject.times.ends;
  event.details = {{"proposer", known(subject.proposer)},
                   {"votingStartsAtMs", known(subject.times.starts)},
                   {"votingEndsAtMs", known(subject.times.ends)},
                   {"actionsCount", subject.actions}};
  return event;
}

DerivedEvent updated(const Subject& subject, const Change& change) {
  const std::string terminal = terminal_state(change);
  MaybeTime told;
  if (!terminal.empty() && terminal != "expired") told = time_in(change.after, terminal.c_str());
  const MaybeTime source_updated = time_in(change.after, "source_updated");
  if (!told && source_updated != time_in(change.before, "source_updated")) told = source_updated;
  auto event = event_of(subject, EventType::proposal_updated, told.value_or(change.observed_at),
                        change.observed_at, 40);
  if (!terminal.empty()) event.reasons.add("terminal_change", 15);
  if (!told) event.confidence = Confidence::observed;
  event.revision = change.revision;
  event.bucket = std::to_string(change.revision);
  event.deadline_at = time_in(change.after, "end");
  const char* moved = terminal == "canceled" ? "outcome" : "execution";
  event.details = {{"changedFields", change.fields},
                   {"from", terminal.empty() ? EventJson(nullptr)
                                             : EventJson(word_in(change.before, moved))},
                   {"to", terminal.empty() ? EventJson(nullptr) : EventJson(terminal)},
                   {"revision", change.revision}};
  return event;
}

}  // namespace

void derive_proposal_events(Database& database, std::int64_t proposal_pk) {
  auto subject = read_subject(database, proposal_pk);
  if (!subject) return;
  read_subject_parts(database, *subject);
  read_revisions(database, *subject);
  std::vector<DerivedEvent> events;
  if (subject->times.created) events.push_back(created(*subject));
  for (const Schedule& schedule : subject->schedules) {
    for (auto* derive : {voting_started, ending_soon, voting_ended}) {
      auto event = derive(*subject, schedule);
      if (!event || event->event_time >= schedule.replaced_at) continue;
      event->revision = schedule.revision;
      events.push_back(*std::move(event));
    }
  }
  for (const Change& change : subject->changes) events.push_back(updated(*subject, change));
  write_events(database, subject->item, std::move(events));
}

}  // namespace turnpike::govdata
