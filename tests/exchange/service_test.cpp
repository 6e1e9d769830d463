#include "exchange/service.h"

#include <turnpike/helpers/mistakes.h>

#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

class ServiceTest : public ServeTest {
 protected:
  [[nodiscard]] const registry::Operation& operation_at(std::string_view path,
                                                        Method method) const {
    return *service->program().operation(*service->program().match(path).route, method);
  }
};

TEST_F(ServiceTest, CarriesUnchangedUpstreamsOver) {
  registry::SecretResolver secrets = [](const registry::SecretReference&) {
    return std::optional<std::string>("first");
  };
  auto first = bind(nullptr, &secrets);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(provider.bound_secret, "first");
  const int binds = provider.binds;
  auto second = bind(first->get(), &secrets);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(provider.binds, binds);
  EXPECT_EQ(&(*first)->upstream(0), &(*second)->upstream(0)) << "with its calls in flight";
}

TEST_F(ServiceTest, BindsAnUpstreamAnewWhenItsSecretChanged) {
  std::string value = "first";
  registry::SecretResolver secrets = [&](const registry::SecretReference&) {
    return std::optional<std::string>(value);
  };
  auto first = bind(nullptr, &secrets);
  ASSERT_TRUE(first.ok());
  value = "second";
  auto second = bind(first->get(), &secrets);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(provider.bound_secret, "second");
  EXPECT_NE(&(*first)->upstream(0), &(*second)->upstream(0));
}

TEST_F(ServiceTest, SaysWhereASettingIsWrong) {
  provider.bind_failure =
      Failure{FailureKind::invalid_settings, "expected an URL", "base_url", false};
  const auto bound = bind(nullptr);
  ASSERT_FALSE(bound.ok());
  ASSERT_EQ(bound.error().size(), 1u);
  const registry::Problem& problem = bound.error()[0];
  EXPECT_EQ(problem.path, "upstreams.acme-main.settings.base_url");
  EXPECT_EQ(problem.message, "expected an URL");
  EXPECT_EQ(problem.file, "program_fixture.yaml");
  EXPECT_GT(problem.line, 1);
}

// All mistakes are reported; those in a route's own settings at the route.
TEST_F(ServiceTest, SaysWhereEverySettingIsWrong) {
  const auto& route = *service->program().match("/v1/gateway/acme/tuned").route;
  const registry::Operation& tuned = *service->program().operation(route, Method::get);
  Mistakes mistakes;
  mistakes.add("base_url", "expected an URL");
  mistakes.add("token", "holds control characters");
  for (int method = 0; method < 2; ++method) {  // a route's methods share its settings
    mistakes.add({FailureKind::invalid_settings, "expected a path", "path", false},
                 of_operation(tuned.upstream_operation));
  }
  mistakes.add("operations[999].path", "of none");
  provider.bind_failure = mistakes.failure();
  const auto bound = bind(nullptr);
  ASSERT_FALSE(bound.ok());
  const auto& problems = bound.error();
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0].path, "upstreams.acme-main.settings.base_url");
  EXPECT_EQ(problems[1].path, "upstreams.acme-main.settings.token");
  EXPECT_EQ(problems[1].line, problems[0].line + 1);
  EXPECT_EQ(problems[2].path, "routes[/v1/gateway/acme/tuned].upstream_settings.path");
  EXPECT_EQ(problems[2].message, "expected a path");
  EXPECT_GT(problems[2].line, problems[0].line + 10) << "at the route";
  EXPECT_EQ(problems[3].message, "of none");
}

TEST_F(ServiceTest, NamesALaneThatCannotBeBound) {
  provider.bind_failure = Failure{FailureKind::unavailable, "no store", {}, false};
  bench.bind_failure = Failure{FailureKind::invalid_settings, "no key", {}, false};
  const auto bound = bind(nullptr);
  ASSERT_FALSE(bound.ok());
  ASSERT_EQ(bound.error().size(), 2u) << "all problems at once";
  EXPECT_EQ(bound.error()[0].path, "upstreams.acme-main.settings");
  EXPECT_EQ(bound.error()[1].path, "lanes.bench");
}

TEST_F(ServiceTest, RefusesTwoLanesForOneHeader) {
  ScriptedLane twin(journal, "twin", "x-bench-lane");
  ScriptedLane namesake(journal, "bench", "x-other");
  const ProviderSlot providers[] = {{"scripted", &provider, &host}};
  for (ScriptedLane* other : {&twin, &namesake}) {
    const LaneSlot lanes[] = {{&bench, &host, nullptr}, {other, &host, nullptr}};
    BindInput input;
    input.installed.program = program_fixture();
    input.providers = providers;
    input.lanes = lanes;
    EXPECT_FALSE(bind_service(input).ok());
  }
}

// Callers without a credential are sent to a single lane, which must not require an account.
TEST_F(ServiceTest, RefusesASecondLaneWithTermsAndOneForAccounts) {
  ScriptedLane first(journal, "x402", "payment-signature");
  ScriptedLane second(journal, "other", "x-other");
  first.has_terms = second.has_terms = true;
  const ProviderSlot providers[] = {{"scripted", &provider, &host}};
  const LaneSlot lanes[] = {{&first, &host, nullptr}, {&second, &host, nullptr}};
  EXPECT_EQ(lane_with_terms(lanes), &first);
  BindInput input;
  input.installed.program = program_fixture();
  input.providers = providers;
  input.lanes = lanes;
  const auto both = bind_service(input);
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error()[0].path, "lanes.other");
  second.has_terms = false;
  EXPECT_TRUE(bind_service(input).ok());
  first.needs_account = true;
  const auto keyed = bind_service(input);
  ASSERT_FALSE(keyed.ok());
  EXPECT_EQ(keyed.error()[0].path, "lanes.x402");
}

TEST_F(ServiceTest, ListsTheToolsOfPluginsOnceEach) {
  const OperationTool tool{.name = "service.scripted.find", .input_schema = R"({"type":"object"})"};
  const auto& both = operation_at("/v1/gateway/acme/both", Method::post);
  const auto& search = operation_at("/v1/gateway/acme/search", Method::post);
  provider.tools[search.upstream_operation] = provider.tools[both.upstream_operation] = tool;
  const auto bound = bind(nullptr);
  ASSERT_TRUE(bound.ok()) << bound.error()[0].text();
  const auto tools = (*bound)->operation_tools();
  ASSERT_EQ(tools.size(), 1u) << "two operations, one name: the first is the tool";
  EXPECT_EQ(tools[0].tool->name, tool.name);
  EXPECT_EQ(tools[0].operation, std::min(both.index, search.index));
}

TEST_F(ServiceTest, SaysWhyAnOperationCannotBeTheToolOfItsPlugin) {
  const OperationTool good{.name = "service.scripted.find", .input_schema = R"({"type":"object"})"};
  const auto problem_of = [&](const OperationTool& tool, std::string_view path, Method method) {
    provider.tools = {{operation_at(path, method).upstream_operation, tool}};
    const auto bound = bind(nullptr);
    if (bound.ok()) return std::string();
    EXPECT_EQ(bound.error()[0].path, "routes[" + std::string(path) + "]");
    return bound.error()[0].message;
  };
  constexpr std::string_view search = "/v1/gateway/acme/search";
  EXPECT_EQ(problem_of(good, search, Method::post), "");
  for (const char* name : {"find", "service.other.find", "service.scripted.Find",
                           "service.scripted.0123456789012345678901234567890123456789012345678"}) {
    OperationTool named = good;
    named.name = name;
    EXPECT_NE(problem_of(named, search, Method::post).find("needs a name that begins with"),
              std::string::npos)
        << name;
  }
  for (const char* schema : {"", "[]", "{", R"({"type":"array"})", R"({"anyOf":[]})"}) {
    OperationTool described = good;
    described.input_schema = schema;
    EXPECT_NE(problem_of(described, search, Method::post).find("schema"), std::string::npos)
        << schema;
    if (*schema == '\0') continue;  // an output schema is optional
    described = good;
    described.output_schema = schema;
    EXPECT_NE(problem_of(described, search, Method::post).find("schema"), std::string::npos)
        << schema;
  }
  constexpr std::string_view needs_post =
      "the plugin's tool \"service.scripted.find\" needs a POST";
  EXPECT_TRUE(problem_of(good, "/v1/gateway/acme/both", Method::get).starts_with(needs_post));
  EXPECT_TRUE(problem_of(good, "/v1/gateway/acme/items", Method::get).starts_with(needs_post));
}

TEST_F(ServiceTest, NamesAPluginThatIsNotLoaded) {
  BindInput input;
  input.installed.program = program_fixture();
  const auto bound = bind_service(input);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error()[0].message, "no provider plugin named \"scripted\" is loaded");
}

TEST_F(ServiceTest, TellsTheStateOfOperations) {
  const auto state_of = [&](std::string_view path) {
    const auto match = service->program().match(path);
    return service->state(*service->program().operation(*match.route, Method::get));
  };
  EXPECT_EQ(state_of("/v1/gateway/acme/items").condition, Condition::ready);
  EXPECT_EQ(state_of("/v1/gateway/acme/blocked").condition, Condition::blocked);
  EXPECT_EQ(state_of("/v1/gateway/acme/blocked").reason, "It comes later.");
  provider.state = {Condition::evidence_stale, "Old data."};
  EXPECT_EQ(state_of("/v1/gateway/acme/items").condition, Condition::evidence_stale);
}

// Mistakes in terms are reported at their line of the registry.
TEST_F(ServiceTest, PlacesWhatALaneSaysOfTermsInTheRegistry) {
  ScriptedLane& lane = install_payment_lane();
  lane.notes = {{"a note", "registry.networks.base.pay_to"}, {"another", "chains"}};
  lane.bind_failure =
      Failure{FailureKind::invalid_settings, "no", "registry.assets.base-usdc.address", {}};
  const auto bound = bind(nullptr);
  ASSERT_FALSE(bound.ok());
  ASSERT_EQ(bound.error().size(), 1u);
  const registry::Problem& problem = bound.error().front();
  EXPECT_EQ(problem.path, "x402.assets.base-usdc.address");
  EXPECT_EQ(problem.file, "program_fixture.yaml");
  EXPECT_GT(problem.line, 0);
  lane.bind_failure.reset();
  const auto sound = bind(nullptr);
  ASSERT_TRUE(sound.ok());
  ASSERT_EQ((*sound)->notes().size(), 2u);
  EXPECT_EQ((*sound)->notes()[0].path, "x402.networks.base.pay_to");
  EXPECT_EQ((*sound)->notes()[0].line, problem.line - 4);
  EXPECT_EQ((*sound)->notes()[1].path, "lanes.x402.chains");
}

TEST_F(ServiceTest, TellsLanesWhatIsBlocked) {
  ScriptedLane& lane = install_payment_lane();
  const auto is_blocked = [&](std::string_view path) {
    const auto match = service->program().match(path);
    return lane.operations[service->program().operation(*match.route, Method::get)->index]
        .is_blocked;
  };
  EXPECT_TRUE(is_blocked("/v1/gateway/acme/blocked"));
  EXPECT_FALSE(is_blocked("/v1/gateway/acme/payable"));
  provider.state = {Condition::evidence_stale, "Old data."};
  install();
  EXPECT_FALSE(is_blocked("/v1/gateway/acme/payable")) << "that may pass";
  provider.state = {Condition::credential_missing, "No secret."};
  install();
  EXPECT_TRUE(is_blocked("/v1/gateway/acme/payable"));
}

TEST_F(ServiceTest, GivesTheLaneItsTerms) {
  ScriptedLane& lane = install_payment_lane();
  const auto match = service->program().match("/v1/gateway/acme/payable");
  const auto* operation = service->program().operation(*match.route, Method::get);
  const PricedOperation& priced = lane.operations[operation->index];
  EXPECT_TRUE(priced.is_offered);
  EXPECT_EQ(priced.credit_cost, 5u);
  EXPECT_TRUE(priced.terms.starts_with("[{\"asset\":\"0x"));
  EXPECT_NE(priced.terms.find("\"atomic_amount\":\"1000\""), std::string_view::npos);
}

}  // namespace
}  // namespace turnpike::exchange
