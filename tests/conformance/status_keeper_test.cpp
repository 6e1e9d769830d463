// The keeper on real stores, with a clock that the test moves. One leader closes rounds, the others
// follow, and the chain has neither a gap nor a fork, whichever node dies.
#include "status/keeper.h"

#include <algorithm>
#include <deque>
#include <functional>

#include "conformance/engines.h"
#include "status/rules.h"
#include "support/kept_log.h"

namespace turnpike::status {
namespace {

constexpr std::int64_t round_ms = 60'000;
constexpr std::int64_t tick_ms = 500;

Target target(std::string name, TargetKind kind, std::int64_t interval_ms = round_ms) {
  Target one;
  one.name = std::move(name);
  one.kind = kind;
  one.interval_ms = interval_ms;
  return one;
}

WatchedProgram program_named(const std::string& generation) {
  WatchedProgram program;
  program.epoch_id = "ep_test";
  program.generation_id = generation;
  program.payload_hash = "sha256:" + generation;
  program.targets.round_ms = round_ms;
  Target upstream = target("upstream:up", TargetKind::reachability);
  upstream.upstream = "up";
  upstream.provider = "weather";
  upstream.per_day_max = 1'440;
  Target contract = target("operation:route-1:GET", TargetKind::contract, 5 * round_ms);
  contract.upstream = "up";
  contract.provider = "weather";
  contract.operation = "route-1:GET";
  contract.per_day_max = 300;
  Target traffic = target("traffic:operation:route-1:GET", TargetKind::traffic);
  traffic.provider = "weather";
  traffic.operation = "route-1:GET";
  Target of_provider = target("traffic:provider:weather", TargetKind::traffic);
  of_provider.provider = "weather";
  program.targets.targets = {target("gateway:healthz", TargetKind::sentinel),
                             target("lane:credits", TargetKind::lane),
                             contract,
                             target("pricing:route-1:GET", TargetKind::pricing),
                             target("traffic:gateway", TargetKind::traffic),
                             traffic,
                             of_provider,
                             upstream};
  program.targets.targets[3].operation = "route-1:GET";
  program.targets.targets[3].provider = "weather";
  return program;
}

// One node: its store, its keeper and the results of its looks.
class TestNode final : public Looker {
 public:
  TestNode(std::unique_ptr<storage::Node> node, const std::string& name,
           const crypto::Ed25519Seed& seed, Random& random)
      : node_(std::move(node)), keeper_(settings(name), seed,
                                        {node_->status(), *this, random, log}) {}

  void begin(const LookOrder& order) override {
    ++looks[order.target.name];
    Look look;
    look.latency_ms = 5;
    const bool passes = world == nullptr || world(order.target.name);
    look.result = passes ? LookResult::pass : LookResult::fail;
    look.reason = passes ? Reason::none : Reason::unreachable;
    answers_.push_back({order.number, look});
  }
  Look look_now(const Target&) override {
    Look look;
    look.result = LookResult::pass;
    return look;
  }
  void collect(TrafficSums& into) override {
    for (const auto& [operation, sum] : traffic) into[operation].add(sum);
    traffic.clear();
  }

  void turn(std::int64_t now_ms) {
    for (const auto& [number, look] : std::exchange(answers_, {})) {
      keeper_.deliver(number, now_ms, look);
    }
    keeper_.turn(now_ms);
  }
  Keeper& keeper() { return keeper_; }
  StatusStore& store() { return node_->status(); }

  std::function<bool(const std::string&)> world;  // whether looks at a target pass; null: always
  std::map<std::string, int> looks;
  TrafficSums traffic;
  support::KeptLog log;

 private:
  static Keeper::Settings settings(const std::string& name) {
    Keeper::Settings settings;
    settings.node = name;
    settings.sweep_principal = "key:release";
    return settings;
  }

  std::unique_ptr<storage::Node> node_;
  std::vector<std::pair<std::uint64_t, Look>> answers_;
  Keeper keeper_;
};

class StatusKeeperTest : public OnEveryEngine {
 protected:
  void TearDown() override { nodes_.clear(); }

  TestNode& add(const std::string& name, const std::string& generation = "gen_1") {
    auto node = GetParam() == storage::Engine::sqlite
                    ? store_->open(storage::Role::tool)  // beside the fixture's gateway
                    : store_->open(storage::Role::gateway, name);
    nodes_.push_back(std::make_unique<TestNode>(std::move(node), name, seed_, store_->random));
    nodes_.back()->keeper().watch(program_named(generation));
    return *nodes_.back();
  }
  void run_ms(std::int64_t for_ms, std::int64_t step_ms = tick_ms) {
    for (const std::int64_t until = store_->clock.now_ms() + for_ms;
         store_->clock.now_ms() < until; store_->clock.move_ms(step_ms)) {
      for (const auto& node : nodes_) node->turn(store_->clock.now_ms());
    }
  }
  // Reads and checks the whole chain: numbers, heads, signatures, and that the evidence yields the
  // same book.
  std::vector<StoredRound> chain() {
    const auto key = crypto::ed25519_public_key(seed_);
    auto rounds = *node_->status().rounds("st_test", 1, 10'000);
    std::string prev(first_prev);
    Book book;
    std::int64_t ended_at_ms = 0;
    for (std::size_t at = 0; at < rounds.size(); ++at) {
      const RoundHead& head = rounds[at].round.head;
      EXPECT_EQ(head.round, at + 1);
      EXPECT_EQ(head.prev, prev);
      EXPECT_EQ(head.head, chained_head(head.prev, *rounds[at].lines));
      EXPECT_TRUE(is_signed_by(rounds[at].round, key));
      EXPECT_GE(head.started_at_ms, ended_at_ms);
      ended_at_ms = head.ended_at_ms;
      prev = head.head;
      const auto targets = read_target_set(*node_->status().target_set(
          head.expected_targets_hash));
      EXPECT_TRUE(targets.ok());
      const auto records = records_of(rounds[at]);
      EXPECT_EQ(records.size(), head.count);
      (void)book.apply(*targets, head, records);
      EXPECT_EQ(book.hash(), head.state_hash) << "round " << head.round;
    }
    return rounds;
  }
  static std::vector<Record> records_of(const StoredRound& round) {
    std::vector<Record> records;
    for (std::string_view rest = *round.lines; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      auto record = read_line(rest.substr(0, end));
      EXPECT_TRUE(record.ok());
      records.push_back(*std::move(record));
      rest.remove_prefix(end + 1);
    }
    return records;
  }
  [[nodiscard]] Level level(TestNode& node, std::string_view scope) {
    const auto standing = node.keeper().standing();
    const ScopeFigures* const figures =
        standing == nullptr ? nullptr : standing->book.scope(scope);
    return figures == nullptr ? Level::unknown : figures->level;
  }

  const crypto::Ed25519Seed seed_ = [] {
    crypto::Ed25519Seed seed;
    seed.fill(7);
    return seed;
  }();
  std::vector<std::unique_ptr<TestNode>> nodes_;
};
TURNPIKE_ON_EVERY_ENGINE(StatusKeeperTest);

TEST_P(StatusKeeperTest, ANodeClosesARoundEachMinute) {
  TestNode& node = add("node_a");
  run_ms(10 * round_ms);
  const auto rounds = chain();
  EXPECT_EQ(rounds.size(), 9u);  // the current round is not over
  EXPECT_EQ(level(node, "gateway"), Level::operational);
  EXPECT_EQ(level(node, "provider:weather"), Level::operational);
  EXPECT_EQ(level(node, "operation:route-1:GET"), Level::operational);
  EXPECT_EQ(rounds.back().round.head.nodes, std::vector<std::string>{"node_a"});
}

TEST_P(StatusKeeperTest, OneOfThreeNodesLeadsAndAllKnowTheSame) {
  for (const char* name : {"node_a", "node_b", "node_c"}) add(name);
  run_ms(6 * round_ms);
  int leaders = 0;
  for (const auto& node : nodes_) {
    leaders += node->keeper().is_leader();
    ASSERT_NE(node->keeper().standing(), nullptr);
    EXPECT_EQ(node->keeper().standing()->newest.round,
              nodes_.front()->keeper().standing()->newest.round);
    EXPECT_EQ(node->looks.contains("upstream:up"), node->keeper().is_leader());
    EXPECT_GE(node->looks["gateway:healthz"], 5);  // every node looks at itself
  }
  EXPECT_EQ(leaders, 1);
  EXPECT_EQ(chain().back().round.head.nodes,
            (std::vector<std::string>{"node_a", "node_b", "node_c"}));
}

TEST_P(StatusKeeperTest, AnotherNodeGoesOnWhenTheLeaderIsGone) {
  add("node_a");
  add("node_b");
  run_ms(5 * round_ms);
  const auto leads = [](const auto& node) { return node->keeper().is_leader(); };
  nodes_.erase(std::find_if(nodes_.begin(), nodes_.end(), leads));  // killed without release
  const std::size_t before = chain().size();
  run_ms(5 * round_ms);
  EXPECT_TRUE(nodes_.front()->keeper().is_leader());
  const auto rounds = chain();
  EXPECT_GE(rounds.size(), before + 4);
  EXPECT_GT(rounds.back().round.head.epoch, rounds.front().round.head.epoch);
  EXPECT_EQ(rounds.back().round.head.nodes.size(), 1u);
}

TEST_P(StatusKeeperTest, ALeaderThatStopsGivesTheLeadUpAtOnce) {
  TestNode& first = add("node_a");
  run_ms(2 * round_ms);
  first.keeper().stop();
  nodes_.clear();
  TestNode& second = add("node_b");
  run_ms(tick_ms);
  EXPECT_TRUE(second.keeper().is_leader());
}

TEST_P(StatusKeeperTest, RoundsThatNobodyClosedInTimeAreClosedAfterwards) {
  TestNode& node = add("node_a");
  run_ms(3 * round_ms);
  store_->clock.move_ms(10 * round_ms);  // nothing ran
  run_ms(2 * round_ms);
  const auto rounds = chain();
  EXPECT_EQ(rounds.back().round.head.ended_at_ms - rounds.front().round.head.started_at_ms,
            static_cast<std::int64_t>(rounds.size()) * round_ms);
  // Missed looks count as unknown and as nothing else.
  std::uint64_t unknown = 0;
  for (const Segment& one : node.keeper().standing()->book.open_segments()) {
    EXPECT_EQ(one.expected, one.passed + one.failed + one.unknown) << one.scope;
    if (one.scope == "gateway" && one.length_ms == 86'400'000) unknown = one.unknown;
  }
  EXPECT_GE(unknown, 10u);
}

TEST_P(StatusKeeperTest, AProviderThatFailsHasAnIncidentAndRecovers) {
  TestNode& node = add("node_a");
  run_ms(10 * round_ms);
  bool is_down = true;
  node.world = [&](const std::string& name) { return name.starts_with("gateway:") || !is_down; };
  run_ms(12 * round_ms);
  EXPECT_EQ(level(node, "provider:weather"), Level::major_outage);
  const auto open = *node.store().recent_incidents(0);
  ASSERT_EQ(open.size(), 1u);  // the operation's failures belong to the provider
  EXPECT_EQ(open[0].incident.scope, "provider:weather");
  EXPECT_EQ(open[0].incident.state, IncidentState::open);
  EXPECT_EQ(open[0].incident.affected, std::vector<std::string>{"route-1:GET"});
  is_down = false;
  run_ms(40 * round_ms);
  EXPECT_EQ(level(node, "provider:weather"), Level::operational);
  EXPECT_EQ((*node.store().recent_incidents(0))[0].incident.resolution, Resolution::recovered);
  (void)chain();
}

TEST_P(StatusKeeperTest, TellsOfCallsWithoutTellingOfFew) {
  TestNode& node = add("node_a");
  run_ms(round_ms);
  TrafficSum few;
  few.counts.good = 50;
  few.add_account(1);
  node.traffic["route-1:GET"] = few;
  run_ms(2 * round_ms);
  const auto traffic = [&](std::string_view name) {
    return node.keeper().standing()->book.target(name)->traffic;
  };
  EXPECT_TRUE(traffic("traffic:operation:route-1:GET")->is_thin);
  TrafficSum many;
  many.counts = {900, 100, 0, 0};
  for (std::uint64_t account = 1; account <= 5; ++account) many.add_account(account);
  node.traffic["route-1:GET"] = many;
  run_ms(2 * round_ms);
  EXPECT_FALSE(traffic("traffic:operation:route-1:GET")->is_thin);
  EXPECT_EQ(traffic("traffic:operation:route-1:GET")->good, 9'047u);  // of 1,050 in five minutes
  EXPECT_EQ(traffic("traffic:provider:weather")->good, 9'047u);
  EXPECT_EQ(traffic("traffic:gateway")->provider_fault, 953u);
  EXPECT_EQ(level(node, "provider:weather"), Level::degraded);  // although every look passes
  EXPECT_FALSE(traffic("traffic:gateway")->counts);
}

// 14: simulates a day (on PostgreSQL its first two hours) and counts the looks at the upstream.
TEST_P(StatusKeeperTest, ADayOfLooksKeepsTheBudget) {
  const int hours = GetParam() == storage::Engine::sqlite ? 24 : 2;
  TestNode& node = add("node_a");
  const std::int64_t midnight_ms = (store_->clock.now_ms() / day_ms + 1) * day_ms;
  while (store_->clock.now_ms() < midnight_ms) store_->clock.move_ms(tick_ms);
  node.world = [&](const std::string& name) {
    return name.starts_with("gateway:") || store_->clock.now_ms() / (11 * round_ms) % 3 != 0;
  };
  run_ms(day_ms / 24 * hours, 5'000);
  const int minutes = 60 * hours;
  EXPECT_LE(node.looks["upstream:up"], std::min(1'440, minutes + 10));
  EXPECT_GE(node.looks["upstream:up"], minutes - 10);
  EXPECT_LE(node.looks["operation:route-1:GET"], 300);
  EXPECT_GE(node.looks["operation:route-1:GET"], minutes / 5 - 1);
  EXPECT_EQ(chain().size(), static_cast<std::size_t>(minutes - 1));
}

TEST_P(StatusKeeperTest, AReloadIsOfTheNextRound) {
  TestNode& node = add("node_a");
  run_ms(3 * round_ms + round_ms / 2);
  node.keeper().watch(program_named("gen_2"));
  run_ms(3 * round_ms);
  const auto rounds = chain();
  EXPECT_EQ(rounds.front().round.head.generation, "gen_1");
  EXPECT_EQ(rounds.back().round.head.generation, "gen_2");
  for (const StoredRound& one : rounds) {
    for (const Record& record : records_of(one)) {
      EXPECT_EQ(record.generation, one.round.head.generation);
    }
  }
  EXPECT_EQ(level(node, "provider:weather"), Level::operational);
}

// ---- release sweeps ----

class StatusSweepTest : public StatusKeeperTest {
 protected:
  Result<Sweep, base::Error> begin(TestNode& node, const std::string& release = "1.0",
                                   const std::string& principal = "key:release") {
    return node.keeper().begin_sweep(release, "gen_1", "sha256:gen_1", principal,
                                     store_->clock.now_ms());
  }
};
TURNPIKE_ON_EVERY_ENGINE(StatusSweepTest);

TEST_P(StatusSweepTest, CompletesOnceEveryTargetHasAnAnswer) {
  TestNode& node = add("node_a");
  run_ms(round_ms);
  const auto begun = begin(node);
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  EXPECT_EQ(begun->targets.size(), 3u);
  EXPECT_EQ(begin(node)->id, begun->id);  // same release, same generation: same sweep
  const auto early = node.keeper().complete_sweep(begun->id, "key:release");
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, base::ErrorCode::status_sweep_incomplete);
  EXPECT_GT(early.error().retry_after_seconds, 0u);
  run_ms(2 * round_ms);
  const auto complete = node.keeper().complete_sweep(begun->id, "key:release");
  ASSERT_TRUE(complete.ok()) << complete.error().message;
  EXPECT_EQ(complete->state, SweepState::complete);
  for (const SweepTarget& one : complete->targets) {
    EXPECT_EQ(one.result, LookResult::pass) << one.target;
    EXPECT_GT(one.round, 0u);
  }
  EXPECT_EQ(node.keeper().complete_sweep(begun->id, "key:release")->state, SweepState::complete);
  bool is_in_evidence = false;
  for (const StoredRound& round : chain()) {
    for (const Record& record : records_of(round)) {
      is_in_evidence = is_in_evidence || record.sweep_id == begun->id;
    }
  }
  EXPECT_TRUE(is_in_evidence);
}

TEST_P(StatusSweepTest, FailsWhenALookFails) {
  TestNode& node = add("node_a");
  node.world = [](const std::string& name) { return name != "upstream:up"; };
  run_ms(round_ms);
  const auto begun = begin(node);
  run_ms(2 * round_ms);
  const auto ended = node.keeper().complete_sweep(begun->id, "key:release");
  EXPECT_EQ(ended->state, SweepState::failed);
  EXPECT_EQ(ended->reason, "looks_failed");
}

TEST_P(StatusSweepTest, IsOfOnePrincipalAndTheInstalledGeneration) {
  TestNode& node = add("node_a");
  run_ms(round_ms);
  EXPECT_EQ(begin(node, "1.0", "key:other").error().code,
            base::ErrorCode::status_sweep_principal);
  EXPECT_EQ(node.keeper()
                .begin_sweep("1.0", "gen_0", "sha256:gen_0", "key:release", 0)
                .error()
                .code,
            base::ErrorCode::status_generation_mismatch);
  EXPECT_EQ(node.keeper().complete_sweep("swp_none", "key:release").error().code,
            base::ErrorCode::status_sweep_not_found);
  EXPECT_EQ(node.keeper().complete_sweep("swp_none", "key:other").error().code,
            base::ErrorCode::status_sweep_principal);
}

TEST_P(StatusSweepTest, EndsWithAReloadAnHourOrANewerOne) {
  TestNode& node = add("node_a");
  run_ms(round_ms);
  const auto first = begin(node, "1.0");
  const auto second = begin(node, "1.1");
  EXPECT_EQ((*node.store().sweep(first->id))->reason, "superseded");
  node.keeper().watch(program_named("gen_2"));
  run_ms(round_ms);
  EXPECT_EQ((*node.store().sweep(second->id))->reason, "reloaded");
  node.keeper().watch(program_named("gen_1"));
  const auto third = begin(node, "1.2");
  store_->clock.move_ms(3'700'000);
  run_ms(round_ms);
  EXPECT_EQ((*node.store().sweep(third->id))->reason, "expired");
}

}  // namespace
}  // namespace turnpike::status
