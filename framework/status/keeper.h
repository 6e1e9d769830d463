// Keeper: one node's part in the status. Every node looks at its own sentinels, counts its calls
// and reports both once per round. The node that holds the lease is the leader: it looks at
// upstreams and operations, and closes, signs and writes each round. The other nodes are followers
// and read the written rounds, so that all nodes have the same Standing.
//
// turn() is called a few times per second by one Thread; it asks the store and blocks. deliver(),
// begin_sweep() and complete_sweep() may be called by any Thread; the last two block. The clock is
// an argument. Owned by app/.
//
// Round k of a stream holds the looks that were due in one round_ms of the wall clock. It is closed
// a sixth of a round after its end, so that late looks and the reports of other nodes are included.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

#include "base/log.h"
#include "base/outage.h"
#include "base/published.h"
#include "status/look.h"
#include "status/node_report.h"
#include "status/schedule.h"
#include "status/store.h"

namespace turnpike::status {

// A look that the keeper requests. Its result is delivered once, under its number.
struct LookOrder {
  std::uint64_t number = 0;
  Target target;
};

// Makes the looks. The composition root implements it.
class Looker {
 public:
  virtual ~Looker() = default;
  // Starts the look and returns at once.
  virtual void begin(const LookOrder& order) = 0;
  // For pricing and lanes, whose state is known without waiting.
  [[nodiscard]] virtual Look look_now(const Target& target) = 0;
  // Adds the traffic of this node since the last call.
  virtual void collect(TrafficSums& into) = 0;
};

// The parts of the installed program that the status needs.
struct WatchedProgram {
  TargetSet targets;
  std::string epoch_id;
  std::string generation_id;
  std::string payload_hash;
};

// The state after the newest round.
struct Standing {
  NewestRound newest;
  Book book;
  TargetSet targets;  // of that round
};

class Keeper {
 public:
  struct Settings {
    std::string node;
    TrafficPublishing publishing = TrafficPublishing::ratio;
    std::string sweep_principal;  // may run release sweeps: "key:<id>"; empty: no one
    std::int64_t lease_ms = 20'000;
    std::int64_t lease_renewal_ms = 5'000;
    std::int64_t follow_ms = 1'000;
    std::int64_t sweep_ms = 3'600'000;
  };
  struct Parts {
    StatusStore& store;
    Looker& looker;
    Random& random;
    base::Log& log;
  };

  Keeper(Settings settings, crypto::Ed25519Seed seed, const Parts& parts);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Watches this program from now on; nullopt: no program is installed.
  void watch(std::optional<WatchedProgram> program);
  // Does the work that is due. Times never decrease; after a clock step back, work waits until the
  // clock has caught up.
  void turn(std::int64_t now_ms);
  // Delivers the result of an order.
  void deliver(std::uint64_t number, std::int64_t started_at_ms, Look look);
  // Releases the lease, so that another node need not wait for it to expire. No turn() afterwards.
  void stop();

  // Null until there is a round.
  [[nodiscard]] std::shared_ptr<const Standing> standing() const { return standing_.current(); }
  [[nodiscard]] std::uint64_t version() const noexcept { return standing_.version(); }
  [[nodiscard]] std::string stream() const;
  [[nodiscard]] bool is_leader() const noexcept { return epoch_ != 0; }

  // Described in hosts/status_source.h.
  [[nodiscard]] Result<Sweep, base::Error> begin_sweep(std::string_view release,
                                                       std::string_view generation_id,
                                                       std::string_view payload_hash,
                                                       std::string_view principal,
                                                       std::int64_t now_ms);
  [[nodiscard]] Result<Sweep, base::Error> complete_sweep(std::string_view sweep_id,
                                                          std::string_view principal);

 private:
  using Program = std::shared_ptr<const WatchedProgram>;
  struct Ordered {
    Target target;
    std::string generation;
    std::int64_t due_at_ms = 0;
    std::string sweep_id;
    bool is_scheduled = false;  // the schedule must be told when it ends
  };
  struct Delivered {
    Ordered order;
    std::int64_t started_at_ms = 0;
    Look look;
  };
  struct Round;  // the round that is being closed

  [[nodiscard]] Program watched() const;
  [[nodiscard]] bool is_leading(std::int64_t now_ms) const noexcept {
    return epoch_ != 0 && now_ms < lease_until_ms_;
  }
  void order(const Target& target, std::int64_t due_at_ms, std::string_view sweep_id,
             bool is_scheduled);
  void take_delivered(std::int64_t now_ms);
  void observe(std::int64_t now_ms);
  void report(std::int64_t now_ms);
  void keep_lease(std::int64_t now_ms);
  void lose_lead(std::string_view why);
  void follow(std::int64_t now_ms);
  [[nodiscard]] bool load_newest();
  [[nodiscard]] std::optional<Book> rebuild(const NewestRound& newest);
  void look_around(std::int64_t now_ms);
  void close_rounds(std::int64_t now_ms);
  [[nodiscard]] bool close_round(std::int64_t started_at_ms, std::int64_t now_ms);
  [[nodiscard]] bool take_reports(Round& round);
  [[nodiscard]] ClosedRound sealed(Round& round, const Standing* known, Book& book) const;
  void add_looks(Round& round) const;
  void add_known(Round& round, std::int64_t now_ms) const;
  void add_traffic(Round& round) const;
  void add_impacts(Round& round, const Book& book, ClosedRound& closed) const;
  void closed(const ClosedRound& closed, Book book, const Round& round);
  void run_sweep(std::int64_t now_ms);
  void answer_sweep(const std::vector<Record>& records, std::uint64_t round);
  void prune(std::int64_t now_ms);
  // Logs store failures at a limited rate. True: the store answered.
  template <class T>
  bool is_answered(const Result<T, base::Error>& answer, std::string_view what);

  const Settings settings_;
  const crypto::Ed25519Seed seed_;
  const crypto::Ed25519PublicKey key_;
  const Parts parts_;

  mutable std::mutex mutex_;  // guards the next four members
  Program watched_;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Ordered> ordered_;
  std::vector<Delivered> delivered_;

  // The members below are used by turn() alone.
  std::map<std::int64_t, Program> programs_;  // of unclosed rounds, by start
  std::map<std::int64_t, NodeContent> contents_;  // of rounds without a written report
  std::int64_t first_round_ms_ = 0;               // first round that this node saw
  std::int64_t observed_ms_ = 0;                  // start of the current round
  std::int64_t collected_at_ms_ = 0;
  std::atomic<std::uint64_t> epoch_{0};  // of this node's lease; 0: no lease
  std::int64_t lease_asked_at_ms_ = 0;
  std::int64_t lease_until_ms_ = 0;  // by this node's clock, counted from the request
  std::int64_t followed_at_ms_ = 0;
  std::int64_t retry_at_ms_ = 0;  // next request to the store after a failure
  bool must_reload_ = true;
  bool is_schedule_stale_ = true;
  Schedule schedule_;
  std::vector<Record> pending_;  // looks of the leader that are in no round yet
  std::string sweep_id_;         // the running sweep; empty: none
  std::set<std::string, std::less<>> swept_;  // its targets that were ordered
  std::int64_t swept_at_ms_ = 0;
  std::int64_t pruned_at_ms_ = 0;
  std::int64_t now_ms_ = 0;
  bool is_store_away_ = false;  // a request failed in this turn
  base::Outage outage_{60'000'000'000, 5'000'000'000};
  base::Published<Standing> standing_;
};

}  // namespace turnpike::status
