// StatusStore: the port through which evidence is stored and shared by the nodes (storage/
// implements it). One node of a fleet is the leader: it holds the lease, and only the leader may
// close rounds. The lease's epoch is a fencing token: the insert of a round checks it, so a leader
// that was replaced without noticing writes nothing.
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
  std::string holder;  // node id
  std::uint64_t epoch = 0;
  std::int64_t until_ms = 0;  // by the store's clock
};

// One node's part of a round: the results of its calls and sentinels in [started_at_ms, +
// round_ms).
struct NodeReport {
  std::string node;
  std::int64_t started_at_ms = 0;
  std::string generation;  // id
  std::string body;        // JSON; opaque to the store
};

// The cost of an incident to callers, summed by the leader from the nodes' reports. Not part of the
// evidence: under `publish: ratio` others could not recompute it.
struct Impact {
  std::string incident_id;
  std::uint64_t calls_refused = 0;
  std::uint64_t credits_charged_for_failures = 0;
};

// Everything that closing a round writes, in one transaction.
struct ClosedRound {
  SignedRound round;
  std::string lines;      // record lines, each ending with "\n"
  std::string targets;    // canonical JSON of the set that the round commits to
  std::string book;       // canonical JSON after the round
  bool keeps_book = false;  // for verifiers: set for the first round of each UTC day
  crypto::Ed25519PublicKey key{};
  Changes changes;
  std::vector<Impact> impacts;  // added to the incidents' impacts
};

enum class Closing : std::uint8_t {
  written,
  lease_lost,  // another epoch holds the lease: nothing was written
  not_next,    // the stream has this round already, or lacks the previous one: nothing was written
};

struct NewestRound {
  SignedRound round;
  std::string targets;
  std::string book;
};

// A round from the evidence. Record lines are deleted after their retention time; heads are kept.
struct StoredRound {
  SignedRound round;
  std::optional<std::string> lines;
};

struct SigningKey {
  std::string kid;
  std::string public_key;  // base64url
  std::uint64_t first_round = 0;
};

// Texts and announcements of operators. They never change a status.
struct IncidentNote {
  std::int64_t at_ms = 0;
  std::string operator_id;  // principal: "operator:opr_…", "operator:cli"
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
  // Cursor: incidents that began before this one, newest first; the last one of the previous page.
  std::int64_t before_started_at_ms = 0;  // 0: start at the newest
  std::string before_id = {};
  std::uint32_t limit = 50;
  bool with_unconfirmed = false;  // includes unconfirmed suspicions
};

struct Maintenance {
  std::string id;     // "mnt_…"
  std::string scope;  // of a component; "gateway": all
  std::string text;
  std::int64_t starts_at_ms = 0;
  std::int64_t ends_at_ms = 0;
  std::string operator_id;
  std::int64_t cancelled_at_ms = 0;  // 0: not cancelled
};

enum class SweepState : std::uint8_t { running, complete, failed };
std::string_view name_of(SweepState state) noexcept;

struct SweepTarget {
  std::string target;
  MonitoringClass monitoring = MonitoringClass::continuous;
  std::optional<LookResult> result = {};  // nullopt: no result yet
  Reason reason = Reason::none;
  std::int64_t observed_at_ms = 0;
  std::uint64_t round = 0;  // round of the record; 0: none yet

  friend bool operator==(const SweepTarget&, const SweepTarget&) = default;
};

struct Sweep {
  std::string id;  // "swp_…"
  std::string release;
  std::string generation_id;
  std::string payload_hash;
  std::string principal;  // principal that began the sweep
  SweepState state = SweepState::running;
  std::string reason;  // of a failed sweep: "looks_failed", "superseded", "reloaded", "expired"
  std::int64_t started_at_ms = 0;
  std::int64_t completed_at_ms = 0;  // 0: running
  std::int64_t expires_at_ms = 0;
  std::vector<SweepTarget> targets;  // in the order of the set
};

// Retention times. Heads of rounds, incidents and day segments are kept forever.
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
  // Takes the lease if it is free or expired, renews it if this node holds it; nullopt: another
  // node holds it. A lease that is taken anew gets the next epoch, even for the same node.
  [[nodiscard]] virtual Answer<std::optional<Lease>> hold_lease(std::string_view node,
                                                               std::int64_t hold_ms) = 0;
  // Ends this node's lease early, at a stop. No effect if another node holds it.
  [[nodiscard]] virtual Answer<Unit> release_lease(std::string_view node) = 0;
  [[nodiscard]] virtual Answer<std::optional<Lease>> lease() = 0;

  // ---- rounds ----
  // If the store's answer was lost (status.unavailable), the round may or may not be written:
  // newest() tells, and a retry does not write it twice (not_next).
  [[nodiscard]] virtual Answer<Closing> close_round(const ClosedRound& round) = 0;
  // The number of the newest round; 0: none. Cheap: followers poll it every second.
  [[nodiscard]] virtual Answer<std::uint64_t> newest_round(std::string_view stream) = 0;
  [[nodiscard]] virtual Answer<std::optional<NewestRound>> newest(std::string_view stream) = 0;
  [[nodiscard]] virtual Answer<std::vector<StoredRound>> rounds(std::string_view stream,
                                                               std::uint64_t from_round,
                                                               std::uint32_t limit) = 0;
  // The set with this hash; empty: unknown hash.
  [[nodiscard]] virtual Answer<std::string> target_set(std::string_view hash) = 0;
  // The book after that round, if it was kept or the round is the newest; empty: it was not kept.
  [[nodiscard]] virtual Answer<std::string> book_after(std::string_view stream,
                                                       std::uint64_t round) = 0;
  // The oldest round from which a verifier can start: the first, while its lines are kept; else the
  // one after the oldest kept book.
  [[nodiscard]] virtual Answer<std::uint64_t> first_verifiable(std::string_view stream) = 0;
  [[nodiscard]] virtual Answer<std::vector<SigningKey>> keys() = 0;

  // ---- nodes' reports ----
  // A second report for the same node and time replaces the first.
  [[nodiscard]] virtual Answer<Unit> write_report(const NodeReport& report) = 0;
  // Reports of all nodes from `from_ms` on, ordered by time and node.
  [[nodiscard]] virtual Answer<std::vector<NodeReport>> reports(std::int64_t from_ms) = 0;

  // ---- history ----
  // Segments of a scope and length that began at `from_ms` or later, oldest first.
  [[nodiscard]] virtual Answer<std::vector<Segment>> segments(std::string_view scope,
                                                             std::int64_t length_ms,
                                                             std::int64_t from_ms) = 0;
  // As segments(), for every scope.
  [[nodiscard]] virtual Answer<std::vector<Segment>> all_segments(std::int64_t length_ms,
                                                                 std::int64_t from_ms) = 0;
  [[nodiscard]] virtual Answer<std::vector<ShownIncident>> incidents(
      const IncidentQuery& query) = 0;
  // Unresolved incidents of both sources, and those resolved at `since_ms` or later, oldest first.
  [[nodiscard]] virtual Answer<std::vector<ShownIncident>> recent_incidents(
      std::int64_t since_ms) = 0;
  [[nodiscard]] virtual Answer<std::optional<ShownIncident>> incident(std::string_view id) = 0;
  // Deletes rows past their retention time; returns their number.
  [[nodiscard]] virtual Answer<std::uint64_t> prune(const Retention& retention) = 0;

  // ---- operators' texts ----
  // Each is written with its audit event; the actor's principal is recorded as the operator.
  // False: no such incident.
  [[nodiscard]] virtual Answer<bool> add_note(std::string_view incident_id, std::string_view text,
                                              const identity::Actor& actor) = 0;
  // Opens an incident by hand: its source is `operators` and its first note is `text`. Returns its
  // id.
  [[nodiscard]] virtual Answer<std::string> open_incident(std::string_view scope, Level severity,
                                                          std::string_view text,
                                                          const identity::Actor& actor) = 0;
  // For incidents of the source `operators` only; false: no such open incident.
  [[nodiscard]] virtual Answer<bool> resolve_incident(std::string_view incident_id,
                                                      std::string_view text,
                                                      const identity::Actor& actor) = 0;
  // Returns the new id. The id, operator and cancelled_at_ms of `maintenance` are ignored.
  [[nodiscard]] virtual Answer<std::string> announce(const Maintenance& maintenance,
                                                     const identity::Actor& actor) = 0;
  // False: no such maintenance that is announced and not over.
  [[nodiscard]] virtual Answer<bool> cancel_maintenance(std::string_view id,
                                                        const identity::Actor& actor) = 0;
  // Maintenance that is not cancelled and not over at `now_ms`, ordered by start.
  [[nodiscard]] virtual Answer<std::vector<Maintenance>> maintenance(std::int64_t now_ms) = 0;

  // ---- learned shapes ----
  // The learned shape of an upstream's replies to a sample, by operation
  // ("<capability_id>:<METHOD>"): JSON that is opaque to the store. A newer shape replaces the
  // older.
  [[nodiscard]] virtual Answer<Unit> keep_shape(std::string_view operation,
                                                std::string_view shape) = 0;
  [[nodiscard]] virtual Answer<std::vector<std::pair<std::string, std::string>>> shapes() = 0;

  // ---- release sweeps ----
  // Stores `sweep`, unless a sweep of the same release and generation exists, which is then
  // returned. Any other running sweep fails as superseded.
  [[nodiscard]] virtual Answer<Sweep> begin_sweep(const Sweep& sweep) = 0;
  [[nodiscard]] virtual Answer<std::optional<Sweep>> sweep(std::string_view id) = 0;
  [[nodiscard]] virtual Answer<std::optional<Sweep>> running_sweep() = 0;
  // The newest sweeps, newest first, with their targets.
  [[nodiscard]] virtual Answer<std::vector<Sweep>> sweeps(std::uint32_t limit) = 0;
  // Records results of targets. Targets that have a result keep it, and an ended sweep does not
  // change.
  [[nodiscard]] virtual Answer<Unit> answer_sweep(std::string_view id,
                                                  std::span<const SweepTarget> answers) = 0;
  // Ends a running sweep; returns the sweep's state afterwards.
  [[nodiscard]] virtual Answer<std::optional<Sweep>> end_sweep(std::string_view id,
                                                               SweepState state,
                                                               std::string_view reason) = 0;
};

}  // namespace turnpike::status
