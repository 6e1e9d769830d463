// StatusStore: the port through which evidence is kept and shared by the nodes (storage/ implements
// it). One node of a fleet is the leader: it holds the lease, and with it alone the right to close
// rounds. The lease's epoch is checked by the insert of a round, so a leader that was replaced
// without noticing writes nothing.
//
// Called from a plain Thread or the blocking pool; blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "crypto/signature.h"
#include "identity/audit.h"
#include "status/book.h"
#include "status/record.h"
#include "status/round.h"

namespace turnpike::status {

struct Lease {
  std::string holder;  // node
  std::uint64_t epoch = 0;
  std::int64_t until_ms = 0;  // in the store's time
};

// One node's part of a round: what its own calls and sentinels saw in [started_at_ms, + round_ms).
struct NodeReport {
  std::string node;
  std::int64_t started_at_ms = 0;
  std::string generation;  // id
  std::string body;        // JSON; the store does not read it
};

// What an incident cost callers, added up by the leader from what nodes report. No part of the
// evidence: under `publish: ratio` nobody else could recompute it.
struct Impact {
  std::string incident_id;
  std::uint64_t calls_refused = 0;
  std::uint64_t credits_charged_for_failures = 0;
};

// Everything that closing a round writes, in one transaction.
struct ClosedRound {
  SignedRound round;
  std::string lines;      // of the records, each with "\n" behind it
  std::string targets;    // canonical JSON of the set that the round commits to
  std::string book;       // canonical JSON after the round
  bool keeps_book = false;  // for later readers of the evidence: the first round of each UTC day
  crypto::Ed25519PublicKey key{};
  Changes changes;
  std::vector<Impact> impacts;  // to be added to those of the incidents
};

enum class Closing : std::uint8_t {
  written,
  lease_lost,  // another epoch holds: nothing was written
  not_next,    // the stream has this round already, or lacks the one before: nothing was written
};

struct NewestRound {
  SignedRound round;
  std::string targets;
  std::string book;
};

// A stretch of evidence. Lines of a round older than they are kept are gone, its head is not.
struct StoredRound {
  SignedRound round;
  std::optional<std::string> lines;
};

struct SigningKey {
  std::string kid;
  std::string public_key;  // base64url
  std::uint64_t first_round = 0;
};

// What operators say: words and announcements. Nothing of theirs moves a status.
struct IncidentNote {
  std::int64_t at_ms = 0;
  std::string operator_id;  // the principal: "operator:opr_…", "operator:cli"
  std::string text;
};

enum class IncidentSource : std::uint8_t { automatic, operators };
std::string_view name_of(IncidentSource source) noexcept;

struct ShownIncident {
  Incident incident;
  IncidentSource source = IncidentSource::automatic;
  std::uint64_t calls_refused = 0;
  std::uint64_t credits_charged_for_failures = 0;
  std::vector<IncidentNote> notes;    // oldest first
  std::vector<IncidentEvent> events;  // oldest first
};

struct IncidentQuery {
  // Those that began before it, newest first: the key of the last one of the page before.
  std::int64_t before_started_at_ms = 0;  // 0: from the newest
  std::string before_id = {};
  std::uint32_t limit = 50;
  bool with_unconfirmed = false;  // suspicions that did not come true
};

struct Maintenance {
  std::string id;     // "mnt_…"
  std::string scope;  // of a component; "gateway": all
  std::string text;
  std::int64_t starts_at_ms = 0;
  std::int64_t ends_at_ms = 0;
  std::string operator_id;
  std::int64_t cancelled_at_ms = 0;  // 0: it was not
};

enum class SweepState : std::uint8_t { running, complete, failed };
std::string_view name_of(SweepState state) noexcept;

struct SweepTarget {
  std::string target;
  MonitoringClass monitoring = MonitoringClass::continuous;
  std::optional<LookResult> result = {};  // nothing: it is open
  Reason reason = Reason::none;
  std::int64_t observed_at_ms = 0;
  std::uint64_t round = 0;  // that holds the record; 0: not yet

  friend bool operator==(const SweepTarget&, const SweepTarget&) = default;
};

struct Sweep {
  std::string id;  // "swp_…"
  std::string release;
  std::string generation_id;
  std::string payload_hash;
  std::string principal;  // who began it
  SweepState state = SweepState::running;
  std::string reason;  // of a failed one: "looks_failed", "superseded", "reloaded", "expired"
  std::int64_t started_at_ms = 0;
  std::int64_t completed_at_ms = 0;  // 0: it runs
  std::int64_t expires_at_ms = 0;
  std::vector<SweepTarget> targets;  // in the order of the set
};

// What of the tables may go. Rounds keep their heads for ever, incidents and day segments stay.
struct Retention {
  std::int64_t lines_ms = 30 * 86'400'000LL;  // lines of rounds, and kept books
  std::int64_t segments_5min_ms = 14 * 86'400'000LL;
  std::int64_t segments_hour_ms = 90 * 86'400'000LL;
  std::int64_t reports_ms = 2 * 86'400'000LL;
};

class StatusStore {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;

  virtual ~StatusStore() = default;

  // ---- leadership ----
  // Takes the lease if it is free or over, renews it if this node holds it; nothing: another node
  // holds it. A lease that is taken anew has the next epoch, also by the same node.
  [[nodiscard]] virtual Answer<std::optional<Lease>> hold_lease(std::string_view node,
                                                               std::int64_t hold_ms) = 0;
  // Ends it early, at a stop. Nothing happens when another holds it.
  [[nodiscard]] virtual Answer<Unit> release_lease(std::string_view node) = 0;
  [[nodiscard]] virtual Answer<std::optional<Lease>> lease() = 0;

  // ---- rounds ----
  // When the answer of the store was lost (status.unavailable), the round may be written or not:
  // newest() tells, and another try writes it no second time (not_next).
  [[nodiscard]] virtual Answer<Closing> close_round(const ClosedRound& round) = 0;
  // The number of the newest round; 0: there is none. Cheap: followers ask each second.
  [[nodiscard]] virtual Answer<std::uint64_t> newest_round(std::string_view stream) = 0;
  [[nodiscard]] virtual Answer<std::optional<NewestRound>> newest(std::string_view stream) = 0;
  [[nodiscard]] virtual Answer<std::vector<StoredRound>> rounds(std::string_view stream,
                                                               std::uint64_t from_round,
                                                               std::uint32_t limit) = 0;
  // The set with this hash; empty: not known.
  [[nodiscard]] virtual Answer<std::string> target_set(std::string_view hash) = 0;
  // The book after that round, where it was kept or the round is the newest; empty: it was not.
  [[nodiscard]] virtual Answer<std::string> book_after(std::string_view stream,
                                                       std::uint64_t round) = 0;
  // The oldest round from which a verifier can start: the first, while its lines are kept; else the
  // one behind the oldest book.
  [[nodiscard]] virtual Answer<std::uint64_t> first_verifiable(std::string_view stream) = 0;
  [[nodiscard]] virtual Answer<std::vector<SigningKey>> keys() = 0;

  // ---- what nodes saw ----
  // The same node and time again replaces the report.
  [[nodiscard]] virtual Answer<Unit> write_report(const NodeReport& report) = 0;
  // Of all nodes, from `from_ms` on, by time and node.
  [[nodiscard]] virtual Answer<std::vector<NodeReport>> reports(std::int64_t from_ms) = 0;

  // ---- history ----
  // Those of a scope and length that began at `from_ms` or later, oldest first.
  [[nodiscard]] virtual Answer<std::vector<Segment>> segments(std::string_view scope,
                                                             std::int64_t length_ms,
                                                             std::int64_t from_ms) = 0;
  // The same of every scope.
  [[nodiscard]] virtual Answer<std::vector<Segment>> all_segments(std::int64_t length_ms,
                                                                 std::int64_t from_ms) = 0;
  [[nodiscard]] virtual Answer<std::vector<ShownIncident>> incidents(
      const IncidentQuery& query) = 0;
  // Not resolved, of both sources, and those resolved at `since_ms` or later, oldest first.
  [[nodiscard]] virtual Answer<std::vector<ShownIncident>> recent_incidents(
      std::int64_t since_ms) = 0;
  [[nodiscard]] virtual Answer<std::optional<ShownIncident>> incident(std::string_view id) = 0;
  // Removes what is older than it is kept; the number of rows.
  [[nodiscard]] virtual Answer<std::uint64_t> prune(const Retention& retention) = 0;

  // ---- operators' words ----
  // Each is written with its audit event; the actor's principal is the operator that is named.
  // False: there is no such incident.
  [[nodiscard]] virtual Answer<bool> add_note(std::string_view incident_id, std::string_view text,
                                              const identity::Actor& actor) = 0;
  // An incident that only operators know of; it has the source `operators`, its first note is
  // `text`. Its id.
  [[nodiscard]] virtual Answer<std::string> open_incident(std::string_view scope, Level severity,
                                                          std::string_view text,
                                                          const identity::Actor& actor) = 0;
  // Of the source `operators` alone; false: there is none that is open.
  [[nodiscard]] virtual Answer<bool> resolve_incident(std::string_view incident_id,
                                                      std::string_view text,
                                                      const identity::Actor& actor) = 0;
  // Its id. That of `maintenance`, its operator and cancelled_at_ms are not read.
  [[nodiscard]] virtual Answer<std::string> announce(const Maintenance& maintenance,
                                                     const identity::Actor& actor) = 0;
  // False: there is none that is announced and not over.
  [[nodiscard]] virtual Answer<bool> cancel_maintenance(std::string_view id,
                                                        const identity::Actor& actor) = 0;
  // Not cancelled, and not over at `now_ms`, by their start.
  [[nodiscard]] virtual Answer<std::vector<Maintenance>> maintenance(std::int64_t now_ms) = 0;

  // ---- learned shapes ----
  // What an upstream's replies to a sample look like, as learned, by operation
  // ("<capability_id>:<METHOD>"): JSON that the store does not read. The newest replaces the one
  // before.
  [[nodiscard]] virtual Answer<Unit> keep_shape(std::string_view operation,
                                                std::string_view shape) = 0;
  [[nodiscard]] virtual Answer<std::vector<std::pair<std::string, std::string>>> shapes() = 0;

  // ---- release sweeps ----
  // Stores `sweep`, unless one of the same release and generation is there: then that one. Another
  // one that runs fails as superseded.
  [[nodiscard]] virtual Answer<Sweep> begin_sweep(const Sweep& sweep) = 0;
  [[nodiscard]] virtual Answer<std::optional<Sweep>> sweep(std::string_view id) = 0;
  [[nodiscard]] virtual Answer<std::optional<Sweep>> running_sweep() = 0;
  // The newest ones, newest first, with their targets.
  [[nodiscard]] virtual Answer<std::vector<Sweep>> sweeps(std::uint32_t limit) = 0;
  // Answers of its targets; those that have one already keep it, and so do all of a sweep that has
  // ended.
  [[nodiscard]] virtual Answer<Unit> answer_sweep(std::string_view id,
                                                  std::span<const SweepTarget> answers) = 0;
  // Only a running one ends; the sweep as it is then.
  [[nodiscard]] virtual Answer<std::optional<Sweep>> end_sweep(std::string_view id,
                                                               SweepState state,
                                                               std::string_view reason) = 0;
};

}  // namespace turnpike::status
