// Keeper: one node's part in the status. Every node looks at its own sentinels, counts its calls
// and reports both once a round. The node that holds the lease is the leader: it looks at upstreams
// and operations, closes each round, signs it and writes it. The others follow: they read what was
// written. All of them have the same Standing then.
//
// turn() is called again and again, a few times a second, by one Thread, and asks the store, so it
// blocks. deliver() may be called by any Thread; begin_sweep() and complete_sweep(), too, which
// block. The clock is an argument. Owned by app/.
//
// Round k of a stream holds the looks that were due in one round_ms of the wall clock. It is closed
// a sixth of a round after its end: looks that began late, and reports of other nodes, are there by
// then.
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

// A look that the keeper wants made. Its answer is delivered once, under its number.
struct LookOrder {
  std::uint64_t number = 0;
  Target target;
};

// What makes the looks. The composition root implements it.
class Looker {
 public:
  virtual ~Looker() = default;
  // Begins it and returns at once.
  virtual void begin(const LookOrder& order) = 0;
  // Of pricing and lanes: known without waiting.
  [[nodiscard]] virtual Look look_now(const Target& target) = 0;
  // Adds what calls of this node saw since the last time.
  virtual void collect(TrafficSums& into) = 0;
};

// The program in service, as far as the status goes.
struct WatchedProgram {
  TargetSet targets;
  std::string epoch_id;
  std::string generation_id;
  std::string payload_hash;
};

// What is known after the newest round.
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
    std::string sweep_principal;  // "key:<id>"; empty: nobody may
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

  // From now on this program is watched; nothing: none is installed.
  void watch(std::optional<WatchedProgram> program);
  // Does what is due. Times only grow; a clock that went back waits until it is there again.
  void turn(std::int64_t now_ms);
  // The answer to an order.
  void deliver(std::uint64_t number, std::int64_t started_at_ms, Look look);
  // Gives the lease up, so that another node need not wait for its end. No turn() afterwards.
  void stop();

  // Null until there is a round.
  [[nodiscard]] std::shared_ptr<const Standing> standing() const { return standing_.current(); }
  [[nodiscard]] std::uint64_t version() const noexcept { return standing_.version(); }
  [[nodiscard]] std::string stream() const;
  [[nodiscard]] bool is_leader() const noexcept { return epoch_ != 0; }

  // As hosts/status_source.h says.
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
    bool is_scheduled = false;  // the schedule waits for its end
  };
  struct Delivered {
    Ordered order;
    std::int64_t started_at_ms = 0;
    Look look;
  };
  struct Round;  // that is about to be closed

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
  // Tells of what the store refuses, now and then. Whether it answered.
  template <class T>
  bool is_answered(const Result<T, base::Error>& answer, std::string_view what);

  const Settings settings_;
  const crypto::Ed25519Seed seed_;
  const crypto::Ed25519PublicKey key_;
  const Parts parts_;

  mutable std::mutex mutex_;  // guards the next four
  Program watched_;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Ordered> ordered_;
  std::vector<Delivered> delivered_;

  // The rest is of turn() alone.
  std::map<std::int64_t, Program> programs_;  // of the rounds that are not closed, by their start
  std::map<std::int64_t, NodeContent> contents_;  // of those whose report is not written
  std::int64_t first_round_ms_ = 0;               // that this node has seen
  std::int64_t observed_ms_ = 0;                  // the start of the round that runs
  std::int64_t collected_at_ms_ = 0;
  std::atomic<std::uint64_t> epoch_{0};  // of the lease that this node holds; 0: it holds none
  std::int64_t lease_asked_at_ms_ = 0;
  std::int64_t lease_until_ms_ = 0;  // by this node's clock, from when it asked
  std::int64_t followed_at_ms_ = 0;
  std::int64_t retry_at_ms_ = 0;  // when the store is asked again after a failure
  bool must_reload_ = true;
  bool is_schedule_stale_ = true;
  Schedule schedule_;
  std::vector<Record> pending_;  // looks of the leader that no round holds yet
  std::string sweep_id_;         // that runs; empty: none
  std::set<std::string, std::less<>> swept_;  // its targets that were ordered
  std::int64_t swept_at_ms_ = 0;
  std::int64_t pruned_at_ms_ = 0;
  std::int64_t now_ms_ = 0;
  bool is_store_away_ = false;  // in this turn
  base::Outage outage_{60'000'000'000, 5'000'000'000};
  base::Published<Standing> standing_;
};

}  // namespace turnpike::status
