// StatusServices: the status of this process: the keeper with its Thread, the looks that it orders,
// the counts of calls, and the board that hosts read. It connects the status with the other layers.
//
// Owned by the gateway; start() once its listeners are up, cancel() and has_ended() before the
// runtime stops. board() is for loop Threads; the other members say theirs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/services/background_work.h"
#include "app/services/looks.h"
#include "app/services/sentinels.h"
#include "app/serving.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/published.h"
#include "exchange/call_reports.h"
#include "hosts/status_source.h"
#include "runtime/runtime.h"
#include "status/board.h"
#include "status/keeper.h"
#include "storage/redis_quota.h"

namespace turnpike::app {

struct StatusSettings {
  bool is_enabled = true;  // false: no looks, no rounds, all is unknown
  std::int64_t round_ms = 60'000;
  std::int64_t evidence_lost_ms = 86'400'000;
  status::TrafficPublishing publishing = status::TrafficPublishing::ratio;
  std::string sweep_principal;  // "key:<id>"; empty: no release sweeps
};

class StatusServices final : public hosts::StatusSource, private status::Looker {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    const Serving& serving;
    status::StatusStore& store;
    const Sentinels& sentinels;
    const ledger::EscrowLedger& ledger;
    const storage::RedisQuota* redis;  // of free counts; null: not used
    exchange::CallReports& reports;
    const Clock& clock;
    Random& random;
    base::Metrics& metrics;
    base::Log& log;
  };

  StatusServices(const StatusSettings& settings, const std::string& node,
                 const crypto::Ed25519Seed& seed, const Parts& parts);
  ~StatusServices() override;  // REQUIRES: has_ended()
  StatusServices(const StatusServices&) = delete;
  StatusServices& operator=(const StatusServices&) = delete;

  void start();
  // Starts no further look and cancels the running ones. Any Thread.
  void cancel();
  // Returns whether the Thread and all looks ended by the deadline; a look whose plugin blocks its
  // loop does not.
  [[nodiscard]] bool has_ended(runtime::Deadline deadline);

  std::shared_ptr<const status::Board> board() override;
  status::StatusStore& store() override { return parts_.store; }
  std::string stream() override { return keeper_.stream(); }
  Result<status::Sweep, base::Error> begin_sweep(const hosts::SweepAsked& asked) override;
  Result<status::Sweep, base::Error> complete_sweep(std::string_view sweep_id,
                                                    std::string_view principal) override;

 private:
  using Program = std::shared_ptr<const InService>;

  // The interface Looker.
  void begin(const status::LookOrder& order) override;
  status::Look look_now(const status::Target& target) override;
  void collect(status::TrafficSums& into) override;

  void run();
  void turn();
  void show_metrics();
  void watch_program();
  void wake_upstreams(std::int64_t now_ms);
  [[nodiscard]] status::Look look(const status::Target& target);
  [[nodiscard]] status::Look run_sample(const exchange::Service& service, std::uint32_t operation,
                                        runtime::Deadline deadline);
  void keep_shapes();
  [[nodiscard]] static status::Look payments_look(const exchange::Service& service);
  void render_board(std::int64_t now_ms);
  bool read_words(std::int64_t now_ms);
  bool read_days(const status::Standing& standing, std::int64_t now_ms);

  const StatusSettings settings_;
  const Parts parts_;
  const Looks looks_;
  LearnedShapes shapes_;  // used on the looks' loop
  status::Keeper keeper_;
  std::atomic<bool> is_stopping_{false};

  std::mutex learned_mutex_;                                  // guards the next
  std::vector<std::pair<std::string, std::string>> learned_;  // shapes not stored yet

  // Counts of programs that calls may still use; used by the Thread alone.
  std::vector<std::shared_ptr<status::TrafficCells>> cells_;

  // The inputs of the board; used by the Thread alone.
  bool was_leader_ = false;
  std::uint64_t watched_version_ = 0;
  Program program_;
  status::TargetSet targets_;
  std::uint64_t shown_version_ = 0;
  bool is_board_old_ = true;
  std::int64_t words_at_ms_ = 0;
  std::string words_;  // last shown, to detect changes
  std::vector<status::ShownIncident> incidents_;
  std::vector<status::Maintenance> maintenance_;
  std::uint64_t days_round_ = 0;  // last round in days_; 0: not read yet
  std::map<std::pair<std::string, std::int64_t>, status::Segment> days_;  // by scope and start
  std::map<std::uint32_t, std::int64_t> woken_at_ms_;                     // by upstream

  base::Published<status::Board> published_;
  std::vector<std::unique_ptr<base::LoopView<status::Board>>> views_;  // by loop

  std::mutex mutex_;
  std::condition_variable wanted_;
  bool must_stop_ = false;
  runtime::Event ended_;
  std::thread thread_;

  BackgroundWork work_;
};

// The counts for the calls of a program.
std::shared_ptr<status::TrafficCells> make_traffic_cells(const registry::Program& program,
                                                         std::size_t loops);

}  // namespace turnpike::app
