// The registry that ships, compared with docs/interface.md, "Gateway routes", and
// docs/decisions.md, "Registry, catalog, cursors".
#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "registry/compile.h"
#include "registry/program.h"
#include "support/paths.h"
#include "support/x402_lane.h"

namespace turnpike::registry {
namespace {

const std::string base_path = "/v1/gateway/govdata/global/v1";

class Shipped : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sources = read_sources(support::source_path("registry"));
    ASSERT_TRUE(sources) << sources.error().front().text();
    const std::vector<std::string> plugins = {"govdata", "http", "substrate"};
    auto compiled = compile(
        {.sources = *sources, .installed = {}, .plugins = plugins, .lane = &support::x402_lane()});
    if (!compiled) {
      for (const Problem& problem : compiled.error()) ADD_FAILURE() << problem.text();
      FAIL();
    }
    program = *compiled;
  }

  const Route& at(const std::string& path) {
    const Match match = program->match(base_path + path);
    EXPECT_EQ(match.status, MatchStatus::found) << path;
    return *match.route;
  }

  const Operation& operation_at(const std::string& path) {
    return *program->operation(at(path), Method::get);
  }

  template <class Kind>
  const Kind& constraint(const std::string& path, const std::string& name) {
    for (const QueryParameter& parameter : operation_at(path).query->parameters) {
      if (parameter.name == name) return std::get<Kind>(parameter.constraint);
    }
    throw std::out_of_range(name);
  }

  std::shared_ptr<const Program> program;
};

const std::vector<std::string> paths = {"/meta/pricing",
                                        "/daos",
                                        "/system/freshness",
                                        "/proposals/lookup",
                                        "/items/proposal/7",
                                        "/daos/ens/brief",
                                        "/daos/ens/proposals/snapshot/0x1/evidence",
                                        "/governance-signals",
                                        "/activity",
                                        "/governance-events"};

TEST_F(Shipped, HasTheTenRoutes) {
  EXPECT_EQ(program->routes().size(), paths.size() + 1);  // plus the verifier's route
  for (const std::string& path : paths) {
    const Route& route = at(path);
    EXPECT_EQ(route.methods, std::vector{Method::get});
    EXPECT_TRUE(route.body->forbidden);
    const Operation& operation = operation_at(path);
    EXPECT_EQ(operation.response->success_statuses, std::vector<std::uint16_t>{200});
    EXPECT_EQ(operation.response->allowed_content_types,
              std::vector<std::string>{"application/json"});
    EXPECT_EQ(operation.query->max_encoded_bytes, 16'384u);
    EXPECT_FALSE(route.enforce_declared);
    EXPECT_EQ(program->providers()[route.provider].key, "govdata");
    EXPECT_EQ(program->upstreams()[route.upstream].plugin, "govdata");
  }
}

TEST_F(Shipped, VerifiesRuntimeUpgrades) {
  const Match match = program->match("/v1/gateway/substrate/runtime-upgrade/verify");
  ASSERT_EQ(match.status, MatchStatus::found);
  const Operation* const operation = program->operation(*match.route, Method::post);
  ASSERT_NE(operation, nullptr);
  EXPECT_EQ(program->prices()[*operation->price].policy_key, "substrate.verify");
  EXPECT_EQ(match.route->body->max_bytes, 24u * 1024 * 1024);
  EXPECT_TRUE(match.route->readiness.ready);
}

TEST_F(Shipped, PricesAllRoutesButEvents) {
  for (const std::string& path : paths) {
    const Route& route = at(path);
    const Operation* operation = program->operation(route, Method::get);
    ASSERT_NE(operation, nullptr);
    EXPECT_EQ(program->operation(route, Method::post), nullptr);
    if (path == "/governance-events") {
      EXPECT_FALSE(operation->price);
      EXPECT_TRUE(route.credential_required);
      EXPECT_FALSE(route.free_policy);
      continue;
    }
    ASSERT_TRUE(operation->price);
    const Price& price = program->prices()[*operation->price];
    EXPECT_EQ(price.policy_key, "govdata.standard");
    EXPECT_EQ(price.version, 4u);
    EXPECT_EQ(price.credit_cost, 1u);
    EXPECT_FALSE(price.terms->is_offered);
    const auto terms = nlohmann::json::parse(price.terms->binding);
    ASSERT_EQ(terms.size(), 1u);
    EXPECT_EQ(terms[0]["atomic_amount"], "1000");
    EXPECT_EQ(terms[0]["network"], "eip155:8453");
    EXPECT_EQ(terms[0]["pay_to"], "");
    EXPECT_FALSE(route.credential_required);
    ASSERT_TRUE(route.free_policy);
    EXPECT_EQ(program->free_policies()[*route.free_policy].policy_key, "govdata.free");
  }
}

TEST_F(Shipped, BlocksNothing) {
  for (const std::string& path : paths) {
    EXPECT_TRUE(at(path).readiness.ready) << path;
    EXPECT_EQ(at(path).readiness.reason, "") << path;
  }
}

TEST_F(Shipped, TellsWhatEveryOperationAnswers) {
  for (const std::string& path : paths) {
    ASSERT_TRUE(operation_at(path).reply_schema) << path;
    const auto schema = nlohmann::json::parse(operation_at(path).reply_schema->json);
    EXPECT_EQ(schema["type"], "object") << path;
    EXPECT_EQ(operation_at(path).error_schema->name, "govdata.error") << path;
  }
}

TEST_F(Shipped, DeclaresTheQueriesOfTheInterface) {
  for (const char* path : {"/meta/pricing", "/daos", "/system/freshness", "/items/topic/1",
                           "/daos/ens/proposals/snapshot/0x1/evidence"}) {
    EXPECT_TRUE(operation_at(path).query->deny) << path;
  }
  const auto& url = constraint<StringConstraint>("/proposals/lookup", "url");
  EXPECT_EQ(url.min_bytes, 1u);
  EXPECT_EQ(url.max_bytes, 2'048u);
  const auto& rules = operation_at("/proposals/lookup").query->rules;
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(std::get<AtLeastOne>(rules[0]).parameters,
            (std::vector<std::string>{"external_id", "title", "url"}));
  const auto& brief = constraint<IntegerConstraint>("/daos/ens/brief", "activity_limit");
  EXPECT_EQ(brief.minimum, 1);
  EXPECT_EQ(brief.maximum, 20);
  EXPECT_EQ(constraint<IntegerConstraint>("/activity", "hours").maximum, 168);
  EXPECT_TRUE(constraint<CommaListConstraint>("/activity", "types").unique);
}

TEST_F(Shipped, DeclaresSignalsAndEvents) {
  for (const char* path : {"/governance-signals", "/governance-events"}) {
    const auto& start = constraint<IntegerConstraint>(path, "start_ms");
    EXPECT_EQ(start.minimum, 0);
    EXPECT_EQ(start.maximum, 9'007'199'254'740'991);
    const auto& rules = operation_at(path).query->rules;
    ASSERT_EQ(rules.size(), 1u);
    EXPECT_EQ(std::get<IntegerComparison>(rules[0]).left, "start_ms");
    EXPECT_EQ(std::get<IntegerComparison>(rules[0]).right, "end_ms");
    std::vector<std::string> required;
    for (const QueryParameter& parameter : operation_at(path).query->parameters) {
      if (parameter.required) required.push_back(parameter.name);
    }
    EXPECT_EQ(required, (std::vector<std::string>{"end_ms", "start_ms"}));
  }
  const auto& signals = constraint<CommaListConstraint>("/governance-signals", "signal_types");
  EXPECT_EQ(signals.allowed_values.size(), 7u);
  EXPECT_EQ(signals.max_items, 7u);
  EXPECT_TRUE(signals.unique);
  const auto& events = constraint<CommaListConstraint>("/governance-events", "event_types");
  EXPECT_EQ(events.allowed_values.size(), 7u);
  EXPECT_FALSE(events.unique);
  EXPECT_EQ(operation_at("/governance-signals").query->parameters.size(), 9u);
  EXPECT_EQ(operation_at("/governance-events").query->parameters.size(), 9u);
  // More events than a page holds may have one time, so readers go on behind an event.
  const auto& after = constraint<StringConstraint>("/governance-events", "after_id");
  EXPECT_EQ(after.min_bytes, 1u);
  EXPECT_EQ(after.max_bytes, 64u);
}

TEST_F(Shipped, LooksAtEverything) {
  for (const std::string& path : paths) {
    const Monitoring& monitoring = *operation_at(path).monitoring;
    EXPECT_EQ(monitoring.kind, MonitoringClass::continuous) << path;
    EXPECT_EQ(monitoring.interval_ms, 60'000u) << path;
    EXPECT_EQ(program->match(monitoring.sample.path).route, &at(path));
    EXPECT_FALSE(monitoring.expect.hash.empty()) << path;
  }
  EXPECT_EQ(operation_at("/system/freshness").monitoring->expect.fresh_at, "/data/dataAsOf");
  EXPECT_FALSE(program->upstreams()[0].probe.uses_credential);
}

// The YAML blocks in the README are the files of one program.
TEST(ShippedReadme, ShowsWhatCompiles) {
  std::ifstream file(support::source_path("registry/README.md"));
  std::vector<Source> sources;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```yaml") {
      sources.push_back({"README.md, example " + std::to_string(sources.size() + 1), ""});
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      sources.back().text += line + "\n";
    }
  }
  EXPECT_GE(sources.size(), 5u);
  const Compiled compiled =
      compile({.sources = sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  if (compiled) return;
  for (const Problem& problem : compiled.error()) ADD_FAILURE() << problem.text();
}

}  // namespace
}  // namespace turnpike::registry
