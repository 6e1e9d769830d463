// Targets are derived from the program: which exist, when their looks are due, and their text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/compile.h"
#include "status/stream.h"
#include "text/canonical_json.h"

namespace turnpike::status {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const registry::Program> targets_program() {
  const registry::Source source{
      "test.yaml",
      "provider: {key: alpha, name: Alpha}\n"
      "upstreams: {main: {plugin: http}}\n"
      "prices: {standard: {version: 1, credit_cost: 1}}\n"
      "defaults: {price: standard}\n"
      "routes:\n"
      "  - path: /one\n"
      "  - path: /two\n"
      "  - {path: /three, readiness: {status: blocked, reason: It has no data yet.}}\n"};
  auto compiled = registry::compile(
      {.sources = {&source, 1}, .installed = {}, .plugins = {}, .lane = nullptr});
  if (!compiled.ok()) throw std::runtime_error(compiled.error().front().text());
  return *std::move(compiled);
}

// Sets the monitoring that the registry would declare for an operation.
void monitor(const registry::Program& installed, std::size_t index, MonitoringClass kind) {
  registry::Monitoring monitoring;
  monitoring.kind = kind;
  monitoring.interval_ms = 300'000;
  monitoring.per_day_max = 288;
  const_cast<registry::Operation&>(installed.operations()[index]).monitoring =
      std::make_shared<const registry::Monitoring>(monitoring);
}

std::string name_of_operation(const registry::Program& installed, std::size_t index) {
  const registry::Operation& one = installed.operations()[index];
  return installed.routes()[one.route].id + ":GET";
}

class StatusTargets : public testing::Test {
 protected:
  [[nodiscard]] TargetSet targets() const {
    return targets_of(*program_, {.sentinels = {"mcp_ping", "healthz"}, .lanes = {"credits"}});
  }
  [[nodiscard]] bool is_blocked(std::size_t index) const {
    return !program_->routes()[program_->operations()[index].route].readiness.ready;
  }
  std::shared_ptr<const registry::Program> program_ = targets_program();
};

TEST_F(StatusTargets, FollowFromProgramAndSurroundings) {
  const TargetSet set = targets();
  const std::string upstream_id = program_->upstreams()[0].id;
  for (const std::string& name :
       {std::string("gateway:healthz"), std::string("gateway:mcp_ping"),
        std::string("lane:credits"), std::string("traffic:gateway"),
        std::string("traffic:provider:alpha"), "upstream:" + upstream_id}) {
    EXPECT_NE(set.find(name), nullptr) << name;
  }
  EXPECT_EQ(set.find("upstream:" + upstream_id)->per_day_max, 1'440u);
  EXPECT_EQ(set.find("upstream:" + upstream_id)->provider, "alpha");
  EXPECT_TRUE(std::is_sorted(set.targets.begin(), set.targets.end(),
                             [](const auto& left, const auto& right) {
                               return left.name < right.name;
                             }));
  for (std::size_t at = 0; at < 3; ++at) {
    const std::string name = name_of_operation(*program_, at);
    const Target* const look = set.find("operation:" + name);
    ASSERT_NE(look, nullptr);
    EXPECT_EQ(look->monitoring, MonitoringClass::unreviewed);
    EXPECT_EQ(look->interval_ms, 0);
    EXPECT_NE(set.find("traffic:operation:" + name), nullptr);
    EXPECT_EQ(set.find("pricing:" + name) == nullptr, is_blocked(at));
  }
}

TEST_F(StatusTargets, ClassesDecideWhetherAndWhenAnOperationIsRun) {
  std::vector<std::size_t> open;
  std::size_t blocked = 0;
  for (std::size_t at = 0; at < 3; ++at) is_blocked(at) ? void(blocked = at) : open.push_back(at);
  ASSERT_EQ(open.size(), 2u);
  monitor(*program_, open[0], MonitoringClass::continuous);
  monitor(*program_, open[1], MonitoringClass::manual);
  monitor(*program_, blocked, MonitoringClass::continuous);
  const TargetSet set = targets();
  const Target& continuous = *set.find("operation:" + name_of_operation(*program_, open[0]));
  EXPECT_EQ(continuous.interval_ms, 300'000);
  EXPECT_EQ(continuous.per_day_max, 288u);
  const Target& manual = *set.find("operation:" + name_of_operation(*program_, open[1]));
  EXPECT_EQ(manual.monitoring, MonitoringClass::manual);
  EXPECT_EQ(manual.interval_ms, 0);
  const Target& never = *set.find("operation:" + name_of_operation(*program_, blocked));
  EXPECT_EQ(never.monitoring, MonitoringClass::unreviewed);
  EXPECT_EQ(never.interval_ms, 0);

  monitor(*program_, open[0], MonitoringClass::not_applicable);
  for (const Target& target : targets().targets) {
    EXPECT_NE(target.operation, name_of_operation(*program_, open[0])) << target.name;
  }
}

TEST_F(StatusTargets, TheirTextIsReadAsItIsWrittenAndNotOtherwise) {
  monitor(*program_, 0, MonitoringClass::continuous);
  const TargetSet set = targets();
  const std::string text = set.canonical();
  EXPECT_EQ(text::canonical_json(nlohmann::json::parse(text)), text);
  const auto read = read_target_set(text);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(*read, set);
  EXPECT_EQ(read->hash(), set.hash());
  EXPECT_FALSE(read_target_set(text + " ").ok());
  EXPECT_FALSE(read_target_set("{}").ok());

  TargetSet twisted = set;
  std::swap(twisted.targets[0], twisted.targets[1]);
  EXPECT_THAT(read_target_set(twisted.canonical()).error(), HasSubstr("not in order"));
  twisted = set;
  twisted.targets[0].kind = TargetKind::lane;
  EXPECT_THAT(read_target_set(twisted.canonical()).error(), HasSubstr("makes no sense"));
  twisted = set;
  twisted.targets[0].interval_ms = 9;
  EXPECT_FALSE(read_target_set(twisted.canonical()).ok());
}

TEST_F(StatusTargets, WhatOperatorsSetIsCommittedTo) {
  TargetSet set = targets();
  const std::string hash = set.hash();
  set.evidence_lost_ms /= 2;
  EXPECT_NE(set.hash(), hash);
}

TEST(StatusPhases, AreOfTheNameAndSpread) {
  Target one = upstream("a", "alpha", 60'000);
  EXPECT_EQ(phase_ms(one), phase_ms(one));
  std::set<std::int64_t> phases;
  for (int at = 0; at < 50; ++at) {
    const Target target = upstream("u" + std::to_string(at), "alpha", 60'000);
    EXPECT_GE(phase_ms(target), 0);
    EXPECT_LT(phase_ms(target), 60'000);
    phases.insert(phase_ms(target) / 6'000);
  }
  EXPECT_EQ(phases.size(), 10u);
  EXPECT_EQ(phase_ms(sentinel("healthz")), 0);
  EXPECT_EQ(phase_ms(plain("traffic:gateway", TargetKind::traffic)), 0);
  // The first 8 bytes of SHA-256("upstream:a") modulo the interval.
  EXPECT_EQ(phase_ms(one), 2125);
  one.interval_ms = 0;
  EXPECT_EQ(due_count(one, 0, 1'000'000), 0);
  EXPECT_FALSE(is_on_grid(one, 0));
}

}  // namespace
}  // namespace turnpike::status
