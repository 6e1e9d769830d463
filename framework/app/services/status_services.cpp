#include "app/services/status_services.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/thread_name.h"
#include "catalog/readiness.h"
#include "status/board_facts.h"

namespace turnpike::app {
namespace {

using status::operation_name;
using status::Look;
using status::LookResult;
using status::Reason;
using status::Target;
using status::TargetKind;

constexpr std::int64_t look_timeout_ms = 3'000;
constexpr std::int64_t words_ms = 5'000;  // delay until statements of operators are shown
constexpr std::int64_t wake_ms = 60'000;  // between two probes of an unready upstream by a node

// When the oldest of the days began that are shown.
std::int64_t first_day_ms(std::int64_t now_ms) noexcept {
  const std::int64_t today_ms = now_ms - now_ms % status::history_day_ms;
  return today_ms - (status::history_days - 1) * status::history_day_ms;
}

constexpr std::string_view sentinel_prefix = "gateway:";
constexpr std::string_view lane_prefix = "lane:";

Look look_of(bool has_passed, Reason reason) {
  Look look;
  look.result = has_passed ? LookResult::pass : LookResult::fail;
  look.reason = has_passed ? Reason::none : reason;
  return look;
}

const registry::Operation* operation_of(const registry::Program& program, const Target& target) {
  for (const registry::Operation& operation : program.operations()) {
    if (operation_name(program, operation) == target.operation) return &operation;
  }
  return nullptr;
}

std::optional<std::uint32_t> upstream_of(const registry::Program& program, const Target& target) {
  for (std::uint32_t at = 0; at < program.upstreams().size(); ++at) {
    if (program.upstreams()[at].id == target.upstream) return at;
  }
  return std::nullopt;
}

status::Keeper::Settings keeper_settings(const StatusSettings& settings, const std::string& node) {
  status::Keeper::Settings keeper;
  keeper.node = node;
  keeper.publishing = settings.publishing;
  keeper.sweep_principal = settings.sweep_principal;
  // With short rounds, follows ten times per round.
  keeper.follow_ms = std::min<std::int64_t>(keeper.follow_ms, settings.round_ms / 10);
  return keeper;
}

}  // namespace

std::shared_ptr<status::TrafficCells> make_traffic_cells(const registry::Program& program,
                                                         std::size_t loops) {
  std::vector<std::string> names;
  for (const registry::Operation& operation : program.operations()) {
    names.push_back(operation_name(program, operation));
  }
  return std::make_shared<status::TrafficCells>(std::move(names), loops);
}

StatusServices::StatusServices(const StatusSettings& settings, const std::string& node,
                               const crypto::Ed25519Seed& seed, const Parts& parts)
    : settings_(settings),
      parts_(parts),
      looks_(parts.reports, parts.clock),
      keeper_(keeper_settings(settings, node), seed, {parts.store, *this, parts.random, parts.log}),
      work_(*parts.runtime.loops().front()) {
  for (std::size_t loop = 0; loop < parts_.runtime.loops().size(); ++loop) {
    views_.push_back(std::make_unique<base::LoopView<status::Board>>(published_));
  }
  turn();  // so that the first reader finds a board
}

StatusServices::~StatusServices() {
  cancel();
  if (thread_.joinable()) thread_.join();
}

void StatusServices::start() {
  thread_ = std::thread([this] { run(); });
}

void StatusServices::cancel() {
  is_stopping_ = true;
  {
    const std::scoped_lock lock(mutex_);
    must_stop_ = true;
  }
  wanted_.notify_all();
  work_.cancel();
}

bool StatusServices::has_ended(runtime::Deadline deadline) {
  if (thread_.joinable() && ended_.wait(deadline) != runtime::Wake::ready) return false;
  return work_.has_ended(deadline);
}

void StatusServices::run() {
  base::name_this_thread("status");
  constexpr int low_priority = 10;
  ::setpriority(PRIO_PROCESS, 0, low_priority);  // on Linux this affects only the calling thread
  const auto pause = std::chrono::milliseconds(
      std::clamp<std::int64_t>(settings_.round_ms / 50, 10, 200));
  std::unique_lock lock(mutex_);
  while (!must_stop_) {
    lock.unlock();
    turn();
    lock.lock();
    wanted_.wait_for(lock, pause, [this] { return must_stop_; });
  }
  lock.unlock();
  keeper_.stop();
  ended_.set();
}

void StatusServices::turn() {
  const std::int64_t now_ms = parts_.clock.now_ms();
  work_.forget_ended();
  watch_program();
  if (thread_.joinable()) {
    if (settings_.is_enabled) keeper_.turn(now_ms);
    wake_upstreams(now_ms);
    keep_shapes();
  }
  is_board_old_ = is_board_old_ || keeper_.version() != shown_version_;
  is_board_old_ = read_words(now_ms) || is_board_old_;
  if (is_board_old_) render_board(now_ms);
  if (settings_.is_enabled) show_metrics();
}

// For alerts: a leader that is missing, rounds that are not closed any more, open incidents.
void StatusServices::show_metrics() {
  const auto set = [this](const char* name, const char* help, double value) {
    parts_.metrics.gauge(name, help, {}).set(value);
  };
  set("turnpike_status_leader", "1 while this node looks at upstreams and signs the evidence.",
      keeper_.is_leader() ? 1 : 0);
  if (const auto standing = keeper_.standing()) {
    const status::RoundHead& head = standing->newest.round.head;
    constexpr double ms_per_s = 1'000;
    set("turnpike_status_round", "Number of the newest round of the evidence.",
        static_cast<double>(head.round));
    set("turnpike_status_round_end_timestamp_seconds",
        "When the newest round of the evidence ended, in Unix time.",
        static_cast<double>(head.ended_at_ms) / ms_per_s);
  }
  const auto is_ongoing = [](const status::ShownIncident& one) {
    return status::is_ongoing(one.incident.state);
  };
  set("turnpike_status_incidents_open", "Incidents that are open or recovering.",
      static_cast<double>(std::count_if(incidents_.begin(), incidents_.end(), is_ongoing)));
}

void StatusServices::watch_program() {
  const std::uint64_t version = parts_.serving.published().version();
  if (version == watched_version_ && program_ != nullptr) return;
  program_ = parts_.serving.current();
  watched_version_ = version;
  is_board_old_ = true;
  if (program_ == nullptr) {
    keeper_.watch(std::nullopt);
    return;
  }
  const exchange::Service& service = *program_->service;
  status::Surroundings around;
  around.sentinels = parts_.sentinels.checks(*program_);
  const auto& operations = service.program().operations();
  const bool is_sold = std::any_of(operations.begin(), operations.end(), [&](const auto& one) {
    return service.program().is_sold_per_call(one);
  });
  for (const exchange::LaneRow& row : service.lanes().rows) {
    // A payment lane that sells nothing here has no status.
    if (row.role != exchange::LaneRole::payment || is_sold) around.lanes.emplace_back(row.name);
  }
  around.round_ms = settings_.round_ms;
  around.evidence_lost_ms = settings_.evidence_lost_ms;
  targets_ = status::targets_of(service.program(), around);
  keeper_.watch(status::WatchedProgram{targets_, service.generation().epoch_id,
                                       service.generation().id,
                                       service.generation().payload_hash});
  if (std::find(cells_.begin(), cells_.end(), program_->traffic) == cells_.end()) {
    cells_.push_back(program_->traffic);
  }
}

// ---- looks --------------------------------------------------------------------------------------

void StatusServices::begin(const status::LookOrder& order) {
  work_.spawn("status look", [this, order] {
    const std::int64_t started_at_ms = parts_.clock.now_ms();
    Look answer = look(order.target);
    if (is_stopping_ && answer.result != LookResult::pass) {
      answer.result = LookResult::unknown;
      answer.reason = Reason::stopping;
    }
    parts_.metrics
        .counter("turnpike_status_looks_total", "Looks at targets of the status, by result.",
                 {{"kind", std::string(name_of(order.target.kind))},
                  {"result", std::string(name_of(answer.result))}})
        .add();
    keeper_.deliver(order.number, started_at_ms, std::move(answer));
  });
}

Look StatusServices::look(const Target& target) {
  const auto deadline = runtime::Deadline::after_ms(look_timeout_ms);
  const Program program = parts_.serving.current();
  if (program == nullptr) return {};
  const exchange::Service& service = *program->service;
  if (target.kind == TargetKind::sentinel) {
    return parts_.sentinels.look(target.name.substr(sentinel_prefix.size()), *program, deadline);
  }
  if (target.kind == TargetKind::contract) {
    const registry::Operation* const operation = operation_of(service.program(), target);
    return operation == nullptr ? Look() : run_sample(service, operation->index, deadline);
  }
  const auto upstream = upstream_of(service.program(), target);
  if (!upstream) return {};
  return looks_.reach(service, *upstream, deadline);
}

Look StatusServices::run_sample(const exchange::Service& service, std::uint32_t operation,
                                runtime::Deadline deadline) {
  status::Shape* const shape = shapes_.of(service.program(), operation);
  Look answer = looks_.run_sample(service, operation, deadline, shape);
  if (shape == nullptr) return answer;
  auto changed = shapes_.take_changed();
  const std::scoped_lock lock(learned_mutex_);
  for (auto& one : changed) learned_.push_back(std::move(one));
  return answer;
}

// Sends learned shapes to the store; a node that becomes leader loads those of other nodes.
void StatusServices::keep_shapes() {
  std::vector<std::pair<std::string, std::string>> learned;
  {
    const std::scoped_lock lock(learned_mutex_);
    learned.swap(learned_);
  }
  for (const auto& [operation, shape] : learned) {
    // If the store fails, the shape is learned again.
    (void)parts_.store.keep_shape(operation, shape);
  }
  if (std::exchange(was_leader_, keeper_.is_leader()) || !was_leader_) return;
  auto kept = parts_.store.shapes();
  if (!kept.ok()) return;
  work_.spawn("status shapes", [this, shapes = *std::move(kept)] { shapes_.load(shapes); });
}

Look StatusServices::look_now(const Target& target) {
  const Program& program = program_;
  const bool has_ledger = parts_.ledger.health().available;
  if (target.kind == TargetKind::pricing) {
    const auto* const operation = operation_of(program->service->program(), target);
    if (operation == nullptr) return {};
    if (!operation->price) return look_of(false, Reason::price_missing);
    if (!has_ledger) return look_of(false, Reason::ledger);
    return look_of(program->view->inventory(parts_.clock.now_ms()).ok(), Reason::inventory);
  }
  const std::string_view name = std::string_view(target.name).substr(lane_prefix.size());
  for (const exchange::LaneRow& row : program->service->lanes().rows) {
    if (row.name != name) continue;
    if (row.role == exchange::LaneRole::credits) return look_of(has_ledger, Reason::ledger);
    if (row.role == exchange::LaneRole::free) {
      return look_of(parts_.redis == nullptr || parts_.redis->is_reachable(), Reason::ledger);
    }
    return payments_look(*program->service);
  }
  return {};
}

// Looks whether per-call payment is possible now.
Look StatusServices::payments_look(const exchange::Service& service) {
  const registry::Program& registry = service.program();
  bool has_any = false;
  for (const registry::Operation& operation : registry.operations()) {
    if (!registry.is_sold_per_call(operation)) continue;
    has_any = true;
    if (service.payment_state(operation).condition == Condition::ready) {
      return look_of(true, Reason::none);
    }
  }
  return has_any ? look_of(false, Reason::offer) : Look();
}

void StatusServices::collect(status::TrafficSums& into) {
  for (const auto& cells : cells_) cells->collect(into);
  // A program that no call uses any more gets no further counts.
  std::erase_if(cells_, [&](const auto& cells) {
    return cells.use_count() == 1 && cells != program_->traffic;
  });
}

// Every node has its own upstream objects, but only the leader probes all of them. An upstream that
// is not ready on this node, such as one whose store was missing, is probed here, too, so that its
// recovery is noticed. These looks are not evidence.
void StatusServices::wake_upstreams(std::int64_t now_ms) {
  if (program_ == nullptr || keeper_.is_leader()) return;
  const exchange::Service& service = *program_->service;
  for (const registry::Operation& operation : service.program().operations()) {
    const std::uint32_t upstream = service.program().routes()[operation.route].upstream;
    const Condition condition = service.state(operation).condition;
    if (condition != Condition::blocked && condition != Condition::evidence_stale) continue;
    std::int64_t& woken_at_ms = woken_at_ms_[upstream];
    const std::int64_t interval_ms =
        std::max<std::int64_t>(wake_ms, service.program().upstreams()[upstream].probe.interval_ms);
    if (now_ms - woken_at_ms < interval_ms) continue;
    woken_at_ms = now_ms;
    work_.spawn("status look", [this, program = program_, upstream] {
      const auto deadline = runtime::Deadline::after_ms(look_timeout_ms);
      (void)looks_.reach(*program->service, upstream, deadline);
    });
  }
}

// ---- the board ----------------------------------------------------------------------------------

std::shared_ptr<const status::Board> StatusServices::board() {
  return views_[runtime::Loop::current()->index()]->share();
}

// Reads operators' statements, which may change at any time; returns whether they did.
bool StatusServices::read_words(std::int64_t now_ms) {
  if (now_ms - words_at_ms_ < words_ms && keeper_.version() == shown_version_) return false;
  words_at_ms_ = now_ms;
  auto incidents = parts_.store.recent_incidents(now_ms - status::history_day_ms);
  auto maintenance = parts_.store.maintenance(now_ms);
  if (!incidents.ok() || !maintenance.ok()) return false;
  std::string words;
  for (const status::ShownIncident& one : *incidents) {
    words += one.incident.id + std::string(name_of(one.incident.state)) + ' ' +
             std::to_string(one.notes.size()) + ' ' + std::to_string(one.calls_refused) + '\n';
  }
  for (const status::Maintenance& one : *maintenance) words += one.id + '\n';
  if (words == std::exchange(words_, words)) return false;
  incidents_ = *std::move(incidents);
  maintenance_ = *std::move(maintenance);
  return true;
}

// Reads the shown days once; afterwards each round updates the current day.
bool StatusServices::read_days(const status::Standing& standing, std::int64_t now_ms) {
  const std::uint64_t round = standing.newest.round.head.round;
  if (days_round_ == 0 || round > days_round_ + 1) {
    auto days = parts_.store.all_segments(status::history_day_ms, first_day_ms(now_ms));
    if (!days.ok()) return false;
    days_.clear();
    for (status::Segment& one : *days) {
      const auto key = std::pair(one.scope, one.started_at_ms);
      days_.insert_or_assign(key, std::move(one));
    }
  }
  for (status::Segment& one : standing.book.open_segments()) {
    if (one.length_ms != status::history_day_ms) continue;
    const auto key = std::pair(one.scope, one.started_at_ms);
    days_.insert_or_assign(key, std::move(one));
  }
  std::erase_if(days_, [&](const auto& one) {
    return one.first.second < first_day_ms(now_ms);
  });
  days_round_ = round;
  return true;
}

void StatusServices::render_board(std::int64_t now_ms) {
  const std::uint64_t version = keeper_.version();
  const auto standing = keeper_.standing();
  if (program_ == nullptr) {
    published_.publish(nullptr);
    return;
  }
  if (standing != nullptr && !read_days(*standing, now_ms)) return;  // retried at the next turn
  const exchange::Service& service = *program_->service;
  std::vector<bool> offered;
  for (const registry::Operation& operation : service.program().operations()) {
    offered.push_back(catalog::is_callable(service.program(), operation, *program_->readiness));
  }
  std::vector<status::Segment> days;
  for (const auto& [key, day] : days_) days.push_back(day);
  auto lease = parts_.store.lease();
  auto keys = parts_.store.keys();
  if (!lease.ok() || !keys.ok()) return;
  const std::string stream = keeper_.stream();
  published_.publish(std::make_shared<const status::Board>(status::BoardInput{
      .program = service.program(),
      .generation = service.generation(),
      .targets = targets_,
      .stream = stream,
      .newest = standing == nullptr ? nullptr : &standing->newest,
      .book = standing == nullptr ? nullptr : &standing->book,
      .offered = offered,
      .incidents = incidents_,
      .days = days,
      .maintenance = maintenance_,
      .leader = *lease,
      .keys = *keys,
      .made_at_ms = now_ms}));
  shown_version_ = version;
  is_board_old_ = false;
}

// ---- release sweeps -----------------------------------------------------------------------------

Result<status::Sweep, base::Error> StatusServices::begin_sweep(const hosts::SweepAsked& asked) {
  return keeper_.begin_sweep(asked.release, asked.generation_id, asked.payload_hash,
                             asked.principal, parts_.clock.now_ms());
}

Result<status::Sweep, base::Error> StatusServices::complete_sweep(std::string_view sweep_id,
                                                                  std::string_view principal) {
  return keeper_.complete_sweep(sweep_id, principal);
}

}  // namespace turnpike::app
