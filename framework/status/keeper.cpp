#include "status/keeper.h"

#include <algorithm>
#include <array>
#include <utility>

#include "status/rules.h"
#include "text/encoding.h"

namespace turnpike::status {
namespace {

using base::ErrorCode;

constexpr std::int64_t collect_ms = 5'000;
constexpr std::int64_t retry_ms = 1'000;
constexpr std::int64_t prune_ms = 3'600'000;
constexpr std::int64_t sweep_turn_ms = 1'000;
// Rounds that were not closed in time are closed later from the nodes' reports; rounds older than
// this many are skipped and stay unknown.
constexpr std::int64_t late_rounds_max = 30;
constexpr std::size_t pending_max = 100'000;
constexpr std::size_t sweep_looks_at_once_max = 4;

// Delay between the end of a round and its closing.
std::int64_t grace_ms(std::int64_t round_ms) noexcept { return round_ms / 6; }
// Delay between the end of a round and a node's report, with the looks that have finished by then.
std::int64_t report_delay_ms(std::int64_t round_ms) noexcept { return round_ms / 12; }

std::int64_t floor_to(std::int64_t at_ms, std::int64_t step_ms) noexcept {
  return at_ms - at_ms % step_ms;
}

RecordKind record_kind(TargetKind kind) noexcept {
  switch (kind) {
    case TargetKind::sentinel:
      return RecordKind::sentinel;
    case TargetKind::reachability:
      return RecordKind::probe;
    case TargetKind::contract:
      return RecordKind::contract;
    case TargetKind::traffic:
      return RecordKind::traffic;
    case TargetKind::pricing:
    case TargetKind::lane:
      break;
  }
  return RecordKind::pricing;
}

Record record_of(const Target& target, const Look& look, std::int64_t due_at_ms,
                 std::int64_t started_at_ms) {
  Record record;
  record.kind = record_kind(target.kind);
  record.target = target.name;
  record.due_at_ms = due_at_ms;
  record.started_at_ms = started_at_ms;
  record.latency_ms = look.latency_ms;
  record.result = look.result;
  record.reason = look.result == LookResult::pass ? Reason::none : look.reason;
  record.status = look.status;
  record.difference = look.difference;
  record.expect_hash = look.expect_hash;
  record.body_sha256 = look.body_sha256;
  return record;
}

base::Error not_the_principal() {
  return {ErrorCode::status_sweep_principal,
          "Release sweeps are begun and completed by the one API key that the operator has bound "
          "to them (status.release_sweep.principal)."};
}

}  // namespace

// The data collected for one round.
struct Keeper::Round {
  Program program;
  std::int64_t started_at_ms = 0;
  std::int64_t ended_at_ms = 0;
  std::vector<std::string> nodes;
  std::map<std::string, NodeContent> contents;  // of this round, by node
  TrafficSums traffic;                          // of the window that ends with this round
  std::vector<Record> records;

  void add(Record record, std::string_view node) {
    record.generation = program->generation_id;
    record.node = node;
    records.push_back(std::move(record));
  }
};

Keeper::Keeper(Settings settings, crypto::Ed25519Seed seed, const Parts& parts)
    : settings_(std::move(settings)),
      seed_(seed),
      key_(crypto::ed25519_public_key(seed_)),
      parts_(parts),
      schedule_(parts.random) {}

void Keeper::watch(std::optional<WatchedProgram> program) {
  Program fresh =
      program ? std::make_shared<const WatchedProgram>(*std::move(program)) : nullptr;
  const std::scoped_lock lock(mutex_);
  watched_ = std::move(fresh);
}

Keeper::Program Keeper::watched() const {
  const std::scoped_lock lock(mutex_);
  return watched_;
}

// Each database has one stream, since the stream's name derives from the database's epoch.
std::string Keeper::stream() const {
  const Program program = watched();
  if (program == nullptr) return {};
  const std::string_view epoch = program->epoch_id;
  return "st_" + std::string(epoch.starts_with("ep_") ? epoch.substr(3) : epoch);
}

void Keeper::turn(std::int64_t now_ms) {
  now_ms_ = now_ms;
  if (watched() == nullptr && observed_ms_ == 0) return;
  take_delivered(now_ms);
  observe(now_ms);
  if (now_ms < retry_at_ms_) return;
  is_store_away_ = false;
  report(now_ms);
  keep_lease(now_ms);
  if (is_leading(now_ms) && !is_store_away_) {
    if (must_reload_ && !load_newest()) return;
    look_around(now_ms);
    run_sweep(now_ms);
    close_rounds(now_ms);
    prune(now_ms);
  } else {
    follow(now_ms);
  }
  if (is_store_away_) retry_at_ms_ = now_ms + retry_ms;
}

template <class T>
bool Keeper::is_answered(const Result<T, base::Error>& answer, std::string_view what) {
  constexpr std::int64_t ns_per_ms = 1'000'000;
  if (answer.ok()) {
    if (const auto failures = outage_.worked(now_ms_ * ns_per_ms)) {
      parts_.log.write(Severity::info, "status_store_works_again", {{"failures", failures}});
    }
    return true;
  }
  if (const auto failures = outage_.failed(now_ms_ * ns_per_ms)) {
    parts_.log.write(
        Severity::warning, "status_store_failed",
        {{"what", what}, {"error", answer.error().message}, {"failures", failures}});
  }
  is_store_away_ = true;
  return false;
}

// ---- looks --------------------------------------------------------------------------------------

void Keeper::order(const Target& target, std::int64_t due_at_ms, std::string_view sweep_id,
                   bool is_scheduled) {
  const Program& program = programs_.rbegin()->second;
  LookOrder look{0, target};
  {
    const std::scoped_lock lock(mutex_);
    look.number = next_number_++;
    ordered_.emplace(look.number, Ordered{target, program->generation_id, due_at_ms,
                                          std::string(sweep_id), is_scheduled});
  }
  parts_.looker.begin(look);
}

void Keeper::deliver(std::uint64_t number, std::int64_t started_at_ms, Look look) {
  const std::scoped_lock lock(mutex_);
  const auto found = ordered_.find(number);
  if (found == ordered_.end()) return;
  delivered_.push_back({std::move(found->second), started_at_ms, std::move(look)});
  ordered_.erase(found);
}

void Keeper::take_delivered(std::int64_t now_ms) {
  std::vector<Delivered> delivered;
  {
    const std::scoped_lock lock(mutex_);
    delivered.swap(delivered_);
  }
  for (Delivered& one : delivered) {
    const Target& target = one.order.target;
    const Look& look = one.look;
    if (one.order.is_scheduled) {
      const bool has_answer = look.result == LookResult::pass || look.result == LookResult::fail;
      schedule_.ended(target.name, has_answer, look.result == LookResult::pass, now_ms);
    } else if (one.order.sweep_id.empty()) {
      // A sentinel's look: this node writes it into its own report, whichever node leads.
      const auto content = contents_.find(one.order.due_at_ms);
      if (content == contents_.end()) continue;  // the report was written already
      content->second.looks.push_back(
          {target.name, one.order.due_at_ms, one.started_at_ms, std::move(one.look)});
      continue;
    }
    if (epoch_ == 0 || pending_.size() >= pending_max) continue;
    Record record = record_of(target, look, one.order.due_at_ms, one.started_at_ms);
    record.generation = one.order.generation;
    record.sweep_id = one.order.sweep_id;
    pending_.push_back(std::move(record));
  }
}

// Begins the current round: pins its program and starts the sentinel looks.
void Keeper::observe(std::int64_t now_ms) {
  if (const Program program = watched(); program != nullptr) {
    const std::int64_t started_at_ms = floor_to(now_ms, program->targets.round_ms);
    if (started_at_ms > observed_ms_) {
      if (observed_ms_ != 0) parts_.looker.collect(contents_[observed_ms_].traffic);
      collected_at_ms_ = now_ms;
      if (first_round_ms_ == 0) first_round_ms_ = started_at_ms;
      observed_ms_ = started_at_ms;
      const bool is_other = programs_.empty() || programs_.rbegin()->second != program;
      is_schedule_stale_ = is_schedule_stale_ || is_other;
      programs_[started_at_ms] = program;
      contents_[started_at_ms];
      for (const Target& target : program->targets.targets) {
        if (target.kind == TargetKind::sentinel) order(target, started_at_ms, {}, false);
      }
    }
  }
  if (now_ms - collected_at_ms_ >= collect_ms && contents_.contains(observed_ms_)) {
    parts_.looker.collect(contents_[observed_ms_].traffic);
    collected_at_ms_ = now_ms;
  }
  while (programs_.size() > late_rounds_max) programs_.erase(programs_.begin());
  while (contents_.size() > late_rounds_max) contents_.erase(contents_.begin());
}

void Keeper::report(std::int64_t now_ms) {
  while (!contents_.empty()) {
    const auto& [started_at_ms, content] = *contents_.begin();
    const auto program = programs_.find(started_at_ms);
    if (program == programs_.end()) {
      contents_.erase(contents_.begin());
      continue;
    }
    const std::int64_t round_ms = program->second->targets.round_ms;
    if (now_ms < started_at_ms + round_ms + report_delay_ms(round_ms)) return;
    const auto written =
        parts_.store.write_report({settings_.node, started_at_ms, program->second->generation_id,
                                   write_node_content(content)});
    if (!is_answered(written, "write the report of the node")) return;
    contents_.erase(contents_.begin());
  }
}

// ---- leadership ---------------------------------------------------------------------------------

void Keeper::keep_lease(std::int64_t now_ms) {
  if (now_ms - lease_asked_at_ms_ < settings_.lease_renewal_ms) return;
  const auto lease = parts_.store.hold_lease(settings_.node, settings_.lease_ms);
  if (!is_answered(lease, "hold the lease")) return;
  lease_asked_at_ms_ = now_ms;
  if (!lease->has_value()) {
    if (epoch_ != 0) lose_lead("another node holds the lease");
    return;
  }
  lease_until_ms_ = now_ms + settings_.lease_ms;
  if (epoch_ == (*lease)->epoch) return;
  epoch_ = (*lease)->epoch;
  must_reload_ = true;
  is_schedule_stale_ = true;
  swept_.clear();
  pending_.clear();
  parts_.log.write(Severity::info, "status_leads",
                   {{"node", settings_.node}, {"epoch", (*lease)->epoch}});
}

void Keeper::lose_lead(std::string_view why) {
  parts_.log.write(Severity::info, "status_follows", {{"node", settings_.node}, {"reason", why}});
  epoch_ = 0;
  schedule_.clear();
  pending_.clear();
  must_reload_ = true;
}

void Keeper::stop() {
  if (epoch_ == 0) return;
  (void)parts_.store.release_lease(settings_.node);
  epoch_ = 0;
}

void Keeper::follow(std::int64_t now_ms) {
  if (now_ms - followed_at_ms_ < settings_.follow_ms) return;
  followed_at_ms_ = now_ms;
  const auto newest = parts_.store.newest_round(stream());
  if (!is_answered(newest, "look for a new round")) return;
  const auto known = standing_.current();
  if (known == nullptr ? *newest != 0 : *newest != known->newest.round.head.round) {
    (void)load_newest();
  }
}

// The store's content is authoritative, also after a commit of unknown outcome.
bool Keeper::load_newest() {
  auto newest = parts_.store.newest(stream());
  if (!is_answered(newest, "read the newest round")) return false;
  must_reload_ = false;
  swept_.clear();
  if (!newest->has_value()) return true;
  NewestRound& stored = **newest;
  const RoundHead& head = stored.round.head;
  std::erase_if(pending_, [&](const Record& one) { return one.due_at_ms < head.ended_at_ms; });
  auto targets = read_target_set(stored.targets);
  auto book = Book::read(stored.book);
  std::optional<Book> right;
  if (book.ok() && book->hash() == head.state_hash) {
    right = *std::move(book);
  } else {
    parts_.log.write(Severity::error, "status_book_differs",
                     {{"round", head.round},
                      {"problem", book.ok() ? "it is not the one that the round was signed with"
                                            : book.error()}});
    right = rebuild(stored);
  }
  if (!right || !targets.ok()) {
    must_reload_ = true;
    is_store_away_ = true;
    return false;
  }
  standing_.publish(std::make_shared<const Standing>(
      Standing{std::move(stored), *std::move(right), *std::move(targets)}));
  return true;
}

// Rebuilds the book from the evidence.
std::optional<Book> Keeper::rebuild(const NewestRound& newest) {
  constexpr std::uint32_t page = 60;
  const std::string& stream = newest.round.head.stream;
  auto from = parts_.store.first_verifiable(stream);
  if (!is_answered(from, "find where the evidence begins")) return std::nullopt;
  Book book;
  if (*from > 1) {
    const auto kept = parts_.store.book_after(stream, *from - 1);
    if (!is_answered(kept, "read a kept book")) return std::nullopt;
    auto read = Book::read(*kept);
    if (!read.ok()) return std::nullopt;
    book = *std::move(read);
  }
  while (book.round() < newest.round.head.round) {
    const auto rounds = parts_.store.rounds(stream, *from, page);
    if (!is_answered(rounds, "read the evidence") || rounds->empty()) return std::nullopt;
    for (const StoredRound& one : *rounds) {
      const auto set = parts_.store.target_set(one.round.head.expected_targets_hash);
      if (!is_answered(set, "read a set of targets") || !one.lines) return std::nullopt;
      const auto targets = read_target_set(*set);
      std::vector<Record> records;
      for (std::string_view rest = *one.lines; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        auto record = read_line(rest.substr(0, end));
        if (!record.ok() || end == rest.npos) return std::nullopt;
        records.push_back(*std::move(record));
        rest.remove_prefix(end + 1);
      }
      if (!targets.ok()) return std::nullopt;
      (void)book.apply(*targets, one.round.head, records);
    }
    *from = rounds->back().round.head.round + 1;
  }
  if (book.hash() != newest.round.head.state_hash) return std::nullopt;
  return book;
}

// ---- the leader's work --------------------------------------------------------------------------

void Keeper::look_around(std::int64_t now_ms) {
  if (programs_.empty()) return;
  const Program& program = programs_.rbegin()->second;
  if (std::exchange(is_schedule_stale_, false)) {
    const auto known = standing_.current();
    const auto looks_today = [&](const std::string& name) -> std::optional<std::uint32_t> {
      const TargetFigures* const figures = known == nullptr ? nullptr : known->book.target(name);
      if (figures == nullptr || !figures->last) return std::nullopt;
      return figures->looks_on(now_ms / Segment::day_ms);
    };
    schedule_.install(program->targets, now_ms, looks_today);
  }
  for (const DueLook& due : schedule_.take(now_ms)) {
    if (!due.is_over_budget) {
      order(due.target, due.due_at_ms, {}, true);
      continue;
    }
    Look skipped;
    skipped.result = LookResult::skipped;
    skipped.reason = Reason::budget;
    Record record = record_of(due.target, skipped, due.due_at_ms, now_ms);
    record.generation = program->generation_id;
    pending_.push_back(std::move(record));
  }
}

void Keeper::close_rounds(std::int64_t now_ms) {
  if (programs_.empty()) return;
  const std::int64_t round_ms = programs_.rbegin()->second->targets.round_ms;
  const auto known = standing_.current();
  std::int64_t next_ms = first_round_ms_;
  if (known != nullptr) {
    next_ms = floor_to(known->newest.round.head.ended_at_ms + round_ms - 1, round_ms);
  }
  next_ms = std::max(next_ms, floor_to(now_ms, round_ms) - late_rounds_max * round_ms);
  for (; next_ms + round_ms + grace_ms(round_ms) <= now_ms; next_ms += round_ms) {
    if (!close_round(next_ms, now_ms)) return;
  }
}

bool Keeper::close_round(std::int64_t started_at_ms, std::int64_t now_ms) {
  Round round;
  const auto of_round = programs_.find(started_at_ms);
  round.program = of_round == programs_.end() ? programs_.rbegin()->second : of_round->second;
  round.started_at_ms = started_at_ms;
  round.ended_at_ms = started_at_ms + round.program->targets.round_ms;
  if (!take_reports(round)) return false;
  add_looks(round);
  add_known(round, now_ms);
  add_traffic(round);

  const auto known = standing_.current();
  auto book = known == nullptr ? Result<Book, std::string>(Book())
                               : Book::read(known->newest.book);
  if (!book.ok()) {
    must_reload_ = true;
    return false;
  }
  const ClosedRound closing = sealed(round, known.get(), *book);
  const auto outcome = parts_.store.close_round(closing);
  if (!is_answered(outcome, "close a round")) {
    must_reload_ = true;  // it may have been written nevertheless
    return false;
  }
  switch (*outcome) {
    case Closing::written:
      closed(closing, *std::move(book), round);
      return true;
    case Closing::lease_lost:
      lose_lead("the lease was lost");
      return false;
    case Closing::not_next:
      must_reload_ = true;
      return false;
  }
  return false;
}

// Reads the nodes' looks of this round, and their traffic of the window that ends with it.
bool Keeper::take_reports(Round& round) {
  const std::int64_t round_ms = round.program->targets.round_ms;
  const std::int64_t window_ms = std::max(traffic_window_ms, 2 * round_ms);
  const auto reports = parts_.store.reports(round.ended_at_ms - window_ms);
  if (!is_answered(reports, "read the reports of nodes")) return false;
  for (const NodeReport& one : *reports) {
    auto content = read_node_content(one.body);
    if (!content.ok() || one.started_at_ms >= round.ended_at_ms) continue;
    for (const auto& [operation, sum] : content->traffic) round.traffic[operation].add(sum);
    const bool is_alive = one.started_at_ms >= round.started_at_ms - round_ms;
    if (!is_alive || one.generation != round.program->generation_id) continue;
    // A node is alive if it reported this round or the previous one, so a dead node is missing
    // once.
    round.nodes.push_back(one.node);
    if (one.started_at_ms == round.started_at_ms) {
      round.contents[one.node] = *std::move(content);
    }
  }
  std::sort(round.nodes.begin(), round.nodes.end());
  round.nodes.erase(std::unique(round.nodes.begin(), round.nodes.end()), round.nodes.end());
  return true;
}

// Numbers, chains and signs the round and applies it to `book`. `known`: the previous state; null:
// there is none.
ClosedRound Keeper::sealed(Round& round, const Standing* known, Book& book) const {
  ClosedRound closing;
  RoundHead head;
  std::uint64_t sequence = book.records();
  for (Record& record : round.records) {
    record.sequence = ++sequence;
    closing.lines += line_of(record) + "\n";
  }
  head.stream = stream();
  head.round = (known == nullptr ? 0 : known->newest.round.head.round) + 1;
  head.prev = known == nullptr ? std::string(first_prev) : known->newest.round.head.head;
  head.head = chained_head(head.prev, closing.lines);
  head.count = round.records.size();
  head.generation = round.program->generation_id;
  head.expected_targets_hash = round.program->targets.hash();
  head.rules_hash = rules_hash();
  head.started_at_ms = round.started_at_ms;
  head.ended_at_ms = round.ended_at_ms;
  head.epoch = epoch_;
  head.node = settings_.node;
  head.nodes = round.nodes;
  head.kid = key_id(key_);
  closing.changes = book.apply(round.program->targets, head, round.records);
  head.state_hash = book.hash();
  closing.round = sign(std::move(head), seed_);
  closing.targets = round.program->targets.canonical();
  closing.book = book.canonical();
  closing.keeps_book =
      known != nullptr &&
      known->newest.round.head.ended_at_ms / Segment::day_ms != round.ended_at_ms / Segment::day_ms;
  closing.key = key_;
  add_impacts(round, book, closing);
  return closing;
}

void Keeper::closed(const ClosedRound& closing, Book book, const Round& round) {
  answer_sweep(round.records, closing.round.head.round);
  std::erase_if(pending_,
                [&](const Record& one) { return one.due_at_ms < round.ended_at_ms; });
  programs_.erase(programs_.begin(), programs_.lower_bound(round.started_at_ms));
  standing_.publish(std::make_shared<const Standing>(
      Standing{{closing.round, closing.targets, closing.book},
               std::move(book),
               round.program->targets}));
}

// Adds the nodes' looks at their sentinels and the leader's looks.
void Keeper::add_looks(Round& round) const {
  for (const auto& [node, content] : round.contents) {
    for (const SentinelLook& one : content.looks) {
      const Target* const target = round.program->targets.find(one.target);
      if (target == nullptr || target->kind != TargetKind::sentinel) continue;
      round.add(record_of(*target, one.look, one.due_at_ms, one.started_at_ms), node);
    }
  }
  std::vector<const Record*> looks;
  for (const Record& one : pending_) {
    const bool is_of_round = one.due_at_ms < round.ended_at_ms &&
                             one.generation == round.program->generation_id &&
                             round.program->targets.find(one.target) != nullptr;
    if (is_of_round) looks.push_back(&one);
  }
  std::stable_sort(looks.begin(), looks.end(), [](const Record* left, const Record* right) {
    return left->due_at_ms < right->due_at_ms;
  });
  for (const Record* one : looks) round.add(*one, settings_.node);
}

// Pricing and lanes: the leader reads their state locally.
void Keeper::add_known(Round& round, std::int64_t now_ms) const {
  for (const Target& target : round.program->targets.targets) {
    if (target.kind != TargetKind::pricing && target.kind != TargetKind::lane) continue;
    round.add(record_of(target, parts_.looker.look_now(target), round.started_at_ms, now_ms),
              settings_.node);
  }
}

void Keeper::add_traffic(Round& round) const {
  std::map<std::string, TrafficSum> providers;
  TrafficSum gateway;
  const TargetSet& targets = round.program->targets;
  for (const Target& target : targets.targets) {
    if (target.kind != TargetKind::traffic || target.operation.empty()) continue;
    const auto found = round.traffic.find(target.operation);
    if (found == round.traffic.end()) continue;
    providers[target.provider].add(found->second);
    gateway.add(found->second);
  }
  for (const Target& target : targets.targets) {
    if (target.kind != TargetKind::traffic) continue;
    const TrafficSum none;
    const TrafficSum* sum = &none;
    if (!target.operation.empty()) {
      const auto found = round.traffic.find(target.operation);
      if (found != round.traffic.end()) sum = &found->second;
    } else {
      sum = target.provider.empty() ? &gateway : &providers[target.provider];
    }
    const Traffic traffic = published(*sum, settings_.publishing);
    Look look;
    if (!traffic.is_thin) {
      look.result =
          traffic_level(traffic) == Level::operational ? LookResult::pass : LookResult::fail;
    }
    Record record = record_of(target, look, round.started_at_ms, round.ended_at_ms);
    record.traffic = traffic;
    round.add(std::move(record), settings_.node);
  }
}

void Keeper::add_impacts(Round& round, const Book& book, ClosedRound& closing) const {
  TrafficSums now;  // of this round only
  for (const auto& [node, content] : round.contents) {
    for (const auto& [operation, sum] : content.traffic) now[operation].add(sum);
  }
  for (const Incident& incident : book.incidents()) {
    if (incident.state == IncidentState::resolved) continue;
    Impact impact{incident.id, 0, 0};
    for (const Target& target : round.program->targets.targets) {
      if (target.kind != TargetKind::traffic || target.operation.empty()) continue;
      const bool is_affected = incident.scope == "gateway" ||
                               incident.scope == "provider:" + target.provider ||
                               incident.scope == "operation:" + target.operation;
      const auto found = now.find(target.operation);
      if (!is_affected || found == now.end()) continue;
      const TrafficCounts& counts = found->second.counts;
      impact.calls_refused += counts.provider_fault + counts.gateway_fault;
      impact.credits_charged_for_failures += counts.charged_failures;
    }
    if (impact.calls_refused + impact.credits_charged_for_failures != 0) {
      closing.impacts.push_back(std::move(impact));
    }
  }
}

void Keeper::prune(std::int64_t now_ms) {
  if (now_ms - pruned_at_ms_ < prune_ms) return;
  if (is_answered(parts_.store.prune({}), "remove what is older than it is kept")) {
    pruned_at_ms_ = now_ms;
  }
}

// ---- release sweeps -----------------------------------------------------------------------------

void Keeper::run_sweep(std::int64_t now_ms) {
  if (now_ms - swept_at_ms_ < sweep_turn_ms || programs_.empty()) return;
  swept_at_ms_ = now_ms;
  const auto running = parts_.store.running_sweep();
  if (!is_answered(running, "look for a release sweep")) return;
  if (!running->has_value()) return;
  const Sweep& sweep = **running;
  if (std::exchange(sweep_id_, sweep.id) != sweep.id) swept_.clear();
  const Program& program = programs_.rbegin()->second;
  const Program installed = watched();
  const bool is_of_program =
      installed != nullptr && sweep.generation_id == installed->generation_id;
  if (!is_of_program || now_ms >= sweep.expires_at_ms) {
    (void)is_answered(parts_.store.end_sweep(sweep.id, SweepState::failed,
                                             is_of_program ? "expired" : "reloaded"),
                      "end a release sweep");
    return;
  }
  if (sweep.generation_id != program->generation_id) return;  // starts with the next round
  std::size_t in_flight = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [number, one] : ordered_) in_flight += one.sweep_id == sweep.id;
  }
  for (const SweepTarget& one : sweep.targets) {
    if (in_flight == sweep_looks_at_once_max) return;
    const Target* const target = program->targets.find(one.target);
    if (one.result || target == nullptr || !swept_.insert(one.target).second) continue;
    // A due time off the grid does not count as a regular look.
    order(*target, now_ms + (target->interval_ms != 0 && is_on_grid(*target, now_ms) ? 1 : 0),
          sweep.id, false);
    ++in_flight;
  }
}

void Keeper::answer_sweep(const std::vector<Record>& records, std::uint64_t round) {
  std::map<std::string, std::vector<SweepTarget>> answers;  // by sweep id
  for (const Record& record : records) {
    if (record.sweep_id.empty()) continue;
    SweepTarget answer;
    answer.target = record.target;
    answer.result = record.result;
    answer.reason = record.reason;
    answer.observed_at_ms = record.started_at_ms;
    answer.round = round;
    answers[record.sweep_id].push_back(std::move(answer));
  }
  for (const auto& [id, targets] : answers) {
    if (is_answered(parts_.store.answer_sweep(id, targets), "answer a release sweep")) continue;
    // The records are in the evidence; the sweep looks at these targets again.
    for (const SweepTarget& one : targets) swept_.erase(one.target);
  }
}

Result<Sweep, base::Error> Keeper::begin_sweep(std::string_view release,
                                               std::string_view generation_id,
                                               std::string_view payload_hash,
                                               std::string_view principal, std::int64_t now_ms) {
  if (settings_.sweep_principal.empty() || principal != settings_.sweep_principal) {
    return not_the_principal();
  }
  const Program program = watched();
  if (program == nullptr) {
    return base::Error{ErrorCode::registry_unavailable, "No valid registry is installed.", 5};
  }
  if (generation_id != program->generation_id || payload_hash != program->payload_hash) {
    return base::Error{ErrorCode::status_generation_mismatch,
                       "Another generation is installed: " + program->generation_id +
                           " with payload_hash " + program->payload_hash + "."};
  }
  Sweep sweep;
  std::array<std::uint8_t, 16> chance;
  parts_.random.fill(chance);
  sweep.id = "swp_" + text::base62(chance, 22);
  sweep.release = release;
  sweep.generation_id = generation_id;
  sweep.payload_hash = payload_hash;
  sweep.principal = principal;
  sweep.started_at_ms = now_ms;
  sweep.expires_at_ms = now_ms + settings_.sweep_ms;
  for (const Target& target : program->targets.targets) {
    const bool is_looked_at = target.monitoring == MonitoringClass::continuous ||
                              target.monitoring == MonitoringClass::manual;
    if (!is_active(target.kind) || !is_looked_at) continue;
    SweepTarget one;
    one.target = target.name;
    one.monitoring = target.monitoring;
    sweep.targets.push_back(std::move(one));
  }
  return parts_.store.begin_sweep(sweep);
}

Result<Sweep, base::Error> Keeper::complete_sweep(std::string_view sweep_id,
                                                  std::string_view principal) {
  if (settings_.sweep_principal.empty() || principal != settings_.sweep_principal) {
    return not_the_principal();
  }
  auto found = parts_.store.sweep(sweep_id);
  if (!found.ok()) return std::move(found).error();
  if (!found->has_value()) {
    return base::Error{ErrorCode::status_sweep_not_found, "There is no such release sweep."};
  }
  const Sweep& sweep = **found;
  if (sweep.state != SweepState::running) return sweep;
  std::size_t open = 0;
  bool all_passed = true;
  for (const SweepTarget& one : sweep.targets) {
    open += !one.result;
    all_passed = all_passed && one.result == LookResult::pass;
  }
  if (open > 0) {
    constexpr std::uint32_t retry_seconds = 5;
    return base::Error{ErrorCode::status_sweep_incomplete,
                       std::to_string(open) + " of " + std::to_string(sweep.targets.size()) +
                           " targets have no answer yet.",
                       retry_seconds};
  }
  auto ended = parts_.store.end_sweep(sweep_id,
                                      all_passed ? SweepState::complete : SweepState::failed,
                                      all_passed ? "" : "looks_failed");
  if (!ended.ok()) return std::move(ended).error();
  if (ended->has_value()) return **std::move(ended);
  found = parts_.store.sweep(sweep_id);  // another request ended it meanwhile
  if (!found.ok()) return std::move(found).error();
  return **std::move(found);
}

}  // namespace turnpike::status
