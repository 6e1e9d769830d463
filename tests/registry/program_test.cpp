// Properties of a compiled program: its canonical form and hash, ids, facts, policies, settings,
// and lookups without allocations.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crypto/digest.h"
#include "registry/diff.h"
#include "registry/policy.h"
#include "registry/programs.h"
#include "registry/settings_tree.h"
#include "support/allocations.h"
#include "support/paths.h"
#include "text/canonical_json.h"

namespace turnpike::registry {
namespace {

const std::string rich = R"(
provider: {key: t, name: "T\u00e9st", revision: 3}
upstreams:
  main:
    plugin: http
    settings:
      base_url: https://example.org
      retries: 3
      quoted: "3"
      verify: true
      nothing: ~
      token: {secret: {env: T_TOKEN}}
      more: {zebra: 1, apple: [1, {secret: {file: /run/key}}]}
prices:
  standard:
    version: 2
    credit_cost: 7
    no_charge_when: [empty_body]
    x402: [{asset: usdc, amount: "1000"}]
x402:
  enabled: true
  networks: {base: {id: "eip155:8453", pay_to: "0x0123456789012345678901234567890123456789"}}
  assets:
    usdc: {network: base, address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", decimals: 6,
           name: USD Coin, version: "2"}
free_policies:
  gentle: {window: {limit: 5, seconds: 60}, concurrency: 2, cumulative_limit: 100,
           bucket_scope: {shared: all}}
query_policies:
  paging:
    parameters:
      limit: {type: integer, range: 1..50}
      order: {type: string, values: [up, down]}
    rules: [{at_least_one: [order, limit]}]
defaults: {price: standard, free: gentle}
routes:
  - path: /things/{name}
    summary: One thing
    revision: 4
    query: paging
    upstream_settings: {path: "/x/{name}"}
    allowed_response_headers: [X-Total, etag]
  - path: /things
    methods: [POST, GET]
    price: {GET: unavailable, POST: standard}
    body: {max_bytes: 100, media_types: [Application/JSON, text/plain]}
    enforcement: declared
    deadline_ms: 1000
    readiness: {status: blocked, reason: Not yet.}
    forwarded_headers: [Accept-Language]
)";

const std::string rich_tools = R"(
tools:
  find_thing:
    title: Find a thing
    description: One thing by its name.
    route: GET /v1/gateway/t/things/{name}
    arguments: {name: What it is called., order: "\u0022Up\u0022 or down."}
    fixed: {limit: 20}
  Add-thing: {route: POST /v1/gateway/t/things, description: Adds a thing., arguments: {body: It.}}
  free.thing:
    route: "GET /v1/gateway/t/things/{name}"
    description: The same for nothing.
    variant: free
    read_only: false
)";

TEST(Program, IsWrittenInItsCanonicalForm) {
  for (const std::string& text : {rich, rich + rich_tools, preamble, std::string()}) {
    const auto program = program_of(text);
    const auto json = nlohmann::json::parse(program->canonical_json());
    EXPECT_EQ(text::canonical_json(json), program->canonical_json());
    EXPECT_EQ(program->payload_hash(), "sha256:" + crypto::sha256_hex(program->canonical_json()));
    EXPECT_EQ(nlohmann::json::parse(dump(*program)), json);
  }
}

// Every valid fixture with the hash of its program: a change of the codec must not change the hash
// of programs that it does not concern.
TEST(Program, KeepsItsHashFromReleaseToRelease) {
  const std::map<std::string, std::string> hashes = {
      {"empty", "0ee9849a2fb37f6b886041f813415c8affc2b8fa076af772db448a690770fe26"},
      {"methods", "573f5d9869c17d79b08a28995ec4bed1a7f10ec4960927e40eb7c37d1ab55ed7"},
      {"monitoring", "21840a2c4f2d51f4b53012e629a5b84fdf564e6eb4bfa53bf9bea0bf4fcc8a96"},
      {"rich", "0d947f163f71f57c198ec4e47e9c6ad7cf7819e94b8564610ef8ed48a44dffa5"},
      {"two_providers", "85c80b5c99b9fe86e0272848dff4c3f79c21864c2a4d48acd06adc41c2210a1e"},
      {"types", "e464cd7b95ac29dd05b0e84449b22c3929a5c0d9b221f41a514b267f010dd465"},
  };
  std::size_t seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(support::source_path("tests/fixtures/registry/valid"))) {
    const auto sources = read_sources(entry.path().string());
    ASSERT_TRUE(sources.ok()) << sources.error().front().text();
    const Compiled program = compile(
        {.sources = *sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
    ASSERT_TRUE(program.ok()) << program.error().front().text();
    const auto known = hashes.find(entry.path().filename().string());
    ASSERT_NE(known, hashes.end()) << entry.path();
    EXPECT_EQ((*program)->payload_hash(), "sha256:" + known->second) << entry.path();
    const auto json = nlohmann::json::parse((*program)->canonical_json());
    EXPECT_EQ(text::canonical_json(json), (*program)->canonical_json()) << entry.path();
    ++seen;
  }
  EXPECT_EQ(seen, hashes.size());
}

const std::string pets = R"(
routes:
  - path: /pets
    summary: Pets
    methods:
      GET:
        summary: List pets
        query: {parameters: {limit: {type: integer, range: 1..50}}}
        no_charge_when: [{empty_at: ""}]
      POST:
        price: dear
        body: {max_bytes: 1000, media_types: [application/json]}
        response: {statuses: [201]}
        deadline_ms: 20000
)";
const std::string pets_preamble =
    "provider: {key: t, name: Test}\n"
    "upstreams: {main: {plugin: http}}\n"
    "prices: {standard: {version: 1, credit_cost: 1}, dear: {version: 1, credit_cost: 5}}\n"
    "defaults: {price: standard}\n";

// Methods of one path may differ in more than their prices.
TEST(Methods, MayDefineWhatTheyTakeAndGiveForThemselves) {
  const auto program = program_of(pets_preamble + pets);
  const Route& route = *program->match("/v1/gateway/t/pets").route;
  EXPECT_EQ(route.summary, "Pets");
  EXPECT_EQ(route.methods, (std::vector<Method>{Method::get, Method::post}));
  EXPECT_EQ(route.body->max_bytes, 1000u);
  const Operation& get = *program->operation(route, Method::get);
  const Operation& post = *program->operation(route, Method::post);
  EXPECT_EQ(get.summary, "List pets");
  EXPECT_EQ(post.summary, "Pets") << "the route's, where it says nothing itself";
  EXPECT_FALSE(get.query->deny);
  EXPECT_TRUE(post.query->deny);
  EXPECT_EQ(get.response->success_statuses, std::vector<std::uint16_t>{200});
  EXPECT_EQ(post.response->success_statuses, std::vector<std::uint16_t>{201});
  EXPECT_EQ(get.deadline_ms, base::limits::upstream_deadline_ms);
  EXPECT_EQ(post.deadline_ms, 20'000u);
  EXPECT_EQ(program->prices()[*get.price].credit_cost, 1u);
  EXPECT_EQ(program->prices()[*post.price].credit_cost, 5u);
  EXPECT_EQ(get.no_charge_when.size(), 1u);
  EXPECT_TRUE(post.no_charge_when.empty());
}

TEST(Methods, ArePartOfTheDefinitionButForTheirSummaries) {
  const auto hashes_of = [](const std::string& from, const std::string& to) {
    std::string text = pets_preamble + pets;
    text.replace(text.find(from), from.size(), to);
    const auto program = program_of(text);
    return std::pair(program->payload_hash(), facts_of(*program).at(2).digest);
  };
  const auto unchanged = hashes_of("Pets", "Pets");
  for (const char* change : {"20000", "[201]", "1..50"}) {
    const auto changed = hashes_of(change, std::string(change) == "20000"   ? "20001"
                                           : std::string(change) == "[201]" ? "[202]"
                                                                            : "1..51");
    EXPECT_NE(changed.first, unchanged.first) << change;
    EXPECT_NE(changed.second, unchanged.second) << change;
  }
  const auto renamed = hashes_of("List pets", "All pets");
  EXPECT_NE(renamed.first, unchanged.first);
  EXPECT_EQ(renamed.second, unchanged.second);
}

TEST(Methods, ThatAreAlikeMakeTheSameProgramAsAList) {
  const std::string listed =
      preamble + "routes: [{path: /a, methods: [GET, POST], body: forbidden}]";
  const std::string mapped =
      preamble + "routes: [{path: /a, methods: {POST: {body: forbidden}, GET: {}}}]";
  EXPECT_EQ(program_of(mapped)->canonical_json(), program_of(listed)->canonical_json());
}

TEST(Types, OfPathParametersAreKeptAndChangeNoId) {
  const std::string path = "routes:\n  - path: /pets/{petId}/{owner-id}\n";
  const auto typed =
      program_of(preamble + path + "    path_parameters: {petId: {type: integer, range: 1..9}}\n");
  const auto untyped = program_of(preamble + path);
  const Segment& segment = typed->routes()[0].matcher.segments[4];
  EXPECT_EQ(segment.text, "petId");
  ASSERT_NE(segment.constraint, nullptr);
  EXPECT_EQ(check_segment(segment, "7"), std::nullopt);
  EXPECT_EQ(check_segment(segment, "10")->location, "path.petId");
  EXPECT_EQ(check_segment(segment, "x")->problem, "is no integer");
  EXPECT_EQ(check_segment(typed->routes()[0].matcher.segments[5], "x"), std::nullopt);
  EXPECT_EQ(typed->routes()[0].id, untyped->routes()[0].id);
  EXPECT_NE(typed->payload_hash(), untyped->payload_hash());
}

TEST(Types, NumbersAreDecimalAsJsonWritesThem) {
  const auto program = program_of(preamble +
                                  "routes:\n  - path: /a\n    query:\n      parameters:\n"
                                  "        n: {type: number, range: -0.5..1e3}\n"
                                  "        m: {type: integer, range: 0..9}\n"
                                  "      rules: [{less_than: [n, m]}]\n");
  const QueryPolicy& query = *program->operations()[0].query;
  for (const char* good : {"n=-0.5", "n=0", "n=-0", "n=1000", "n=1E3", "n=12.25e-1", "n=0.5&m=1"}) {
    EXPECT_TRUE(check_query(query, good).empty()) << good;
  }
  for (const char* bad :
       {"n=", "n=.5", "n=5.", "n=%2B1", "n=01", "n=0x1", "n=inf", "n=nan", "n=1e999", "n=1,5",
        "n=%201", "n=-", "n=1e", "n=-0.51", "n=1000.001", "n=1&m=1"}) {
    EXPECT_EQ(check_query(query, bad).size(), 1u) << bad;
  }
  EXPECT_EQ(check_query(query, "n=2000").front().fix, "give a number from -0.5 to 1000");
}

TEST(Tools, AreOperationsUnderNamesOfTheirOwn) {
  const auto program = program_of(rich + rich_tools);
  const auto& tools = program->tools();
  ASSERT_EQ(tools.size(), 3u);
  EXPECT_EQ(tools[0].name, "Add-thing") << "in order, whatever the case of letters";
  EXPECT_EQ(tools[1].name, "find_thing");
  EXPECT_EQ(tools[2].name, "free.thing");
  const auto path_of = [&](const Tool& tool) {
    return program->routes()[program->operations()[tool.operation].route].matcher.pattern;
  };
  EXPECT_EQ(path_of(tools[0]), "/v1/gateway/t/things");
  EXPECT_EQ(path_of(tools[1]), "/v1/gateway/t/things/{name}");
  EXPECT_EQ(program->operations()[tools[0].operation].method, Method::post);
  EXPECT_EQ(program->operations()[tools[1].operation].method, Method::get);
  EXPECT_FALSE(tools[0].is_read_only) << "a POST, unless it is said to be";
  EXPECT_TRUE(tools[1].is_read_only);
  EXPECT_FALSE(tools[2].is_read_only);
  EXPECT_TRUE(tools[2].is_free);
  EXPECT_FALSE(tools[1].is_free);
  EXPECT_EQ(tools[1].title, "Find a thing");
  EXPECT_EQ(tools[1].description, "One thing by its name.");
  EXPECT_EQ(tools[1].descriptions.at("order"), "\"Up\" or down.");
  EXPECT_EQ(tools[1].fixed.at("limit"), "20");
  EXPECT_EQ(tools[0].descriptions.at("body"), "It.");
}

TEST(Tools, MayBeInAFileOfTheirOwnAndComeBeforeTheirRoutes) {
  const Source sources[] = {{"a/tools.yaml", rich_tools}, {"b.yaml", rich}};
  const auto apart =
      compile({.sources = sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  ASSERT_TRUE(apart.ok()) << apart.error().front().text();
  EXPECT_EQ((*apart)->payload_hash(), program_of(rich + rich_tools)->payload_hash());
}

TEST(Tools, ChangeNoHashOfAProgramWithoutThem) {
  EXPECT_EQ(program_of("")->canonical_json(),
            R"({"format":"turnpike.registry.v1","free_policies":[],"prices":[],"providers":[],)"
            R"("routes":[],"upstreams":[]})");
  EXPECT_EQ(program_of(rich)->canonical_json().find("\"tools\""), std::string::npos);
  EXPECT_EQ(program_of(rich)->payload_hash(),
            "sha256:233f3e144aa45d0aa936d8cea064395009952aa4baddfb91463742450168abbf");
  EXPECT_EQ(program_of(rich + "tools: {}")->payload_hash(), program_of(rich)->payload_hash());
  EXPECT_NE(program_of(rich + rich_tools)->payload_hash(), program_of(rich)->payload_hash());
  EXPECT_EQ(facts_of(*program_of(rich + rich_tools)).size(), facts_of(*program_of(rich)).size())
      << "and fix nothing for good";
}

TEST(Tools, ShowInTheCanonicalFormWithWhatWasStated) {
  const auto program = program_of(rich + rich_tools);
  const auto tools = nlohmann::json::parse(program->canonical_json())["tools"];
  EXPECT_EQ(tools[0], (nlohmann::json{{"arguments", {{{"name", "body"}, {"text", "It."}}}},
                                      {"description", "Adds a thing."},
                                      {"name", "Add-thing"},
                                      {"read_only", false},
                                      {"route", "POST /v1/gateway/t/things"}}));
  EXPECT_EQ(tools[1]["fixed"], (nlohmann::json{{{"name", "limit"}, {"text", "20"}}}));
  EXPECT_EQ(tools[1]["title"], "Find a thing");
  EXPECT_EQ(tools[2]["variant"], "free");
}

// A program with one EIP-3009 token; `asset` adds members to it.
std::string payable_text(const std::string& asset) {
  return R"(
prices: {standard: {version: 1, credit_cost: 1, x402: [{asset: usdc, amount: "1000"}]}}
x402:
  networks: {base: {id: "eip155:8453"}}
  assets:
    usdc: {network: base, address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", decimals: 6)" +
         asset + "}\n";
}

TEST(Program, ShowsTheTransferOfATokenOnlyWhereItIsNotTheUsualOne) {
  const std::string domain = ", name: USD Coin, version: \"2\"";
  const auto usual = program_of(payable_text(domain));
  EXPECT_EQ(program_of(payable_text(domain + ", transfer: eip3009"))->payload_hash(),
            usual->payload_hash());
  EXPECT_EQ(usual->canonical_json().find("transfer"), std::string::npos);

  const auto permit = program_of(payable_text(", transfer: permit2"));  // has a domain of its own
  const auto term_of = [](const auto& program) {
    return nlohmann::json::parse(program->prices()[0].terms->binding)[0];
  };
  EXPECT_EQ(term_of(permit)["transfer"], "permit2");
  EXPECT_EQ(term_of(permit)["offer_id"], term_of(usual)["offer_id"]);
  EXPECT_EQ(term_of(permit)["name"], "");
  EXPECT_EQ(permit->prices()[0].terms->statuses, std::vector<std::uint16_t>{412});
  EXPECT_TRUE(usual->prices()[0].terms->statuses.empty());
  const auto json = nlohmann::json::parse(permit->canonical_json());
  EXPECT_EQ(json["x402"]["assets"][0]["transfer"], "permit2");
  EXPECT_EQ(json["prices"][0]["x402_terms"][0]["transfer"], "permit2");
  EXPECT_NE(permit->payload_hash(), usual->payload_hash());
}

TEST(Program, ShowsTheBindingOfPaymentsOnlyWhereItIsNotTheUsualOne) {
  const auto with = [](const std::string& x402) {
    return program_of(preamble + "routes:\n  - {path: /a, x402: " + x402 + "}\n");
  };
  const auto usual = with("{}");
  const auto said = with("{binding: accepted}");
  const auto required = with("{binding: required}");
  EXPECT_EQ(said->payload_hash(), usual->payload_hash());
  EXPECT_NE(required->payload_hash(), usual->payload_hash());
  const auto policy_of = [](const auto& program) {
    return program->lane_terms()->policies[program->routes()[0].policy].binding;
  };
  EXPECT_EQ(policy_of(said), "authorization");
  EXPECT_EQ(policy_of(required), "authorization bound");
  const auto upfront = with("{flow: upfront, binding: required}");
  EXPECT_NE(upfront->payload_hash(), with("{flow: upfront}")->payload_hash());
}

TEST(Program, HasTheSameHashWhateverTheOrderAndForm) {
  const std::vector<Source> sources = {
      {"z.yaml",
       "routes:\n- {path: /things, price: unavailable, free: none}\n"
       "- path: /things/{name}\n  price: standard\nprovider: t\n"},
      {"a.yaml",
       "{prices: {standard: {credit_cost: 1, version: 1}},\n"
       " upstreams: {main: {settings: {b: 2, a: 1}, plugin: http}},\n"
       " provider: {name: 'T', key: t}}"}};
  const std::vector<Source> turned = {
      {"1.yaml",
       "# another form of the same\nprovider:\n  key: t\n  name: \"T\"\n  id: t\n"
       "  base_path: /v1/gateway/t\nupstreams:\n  main:\n    plugin: http\n"
       "    revision: 1\n    settings:\n      a: 1\n      b: 2\n"
       "prices:\n  standard:\n    version: 1\n    credit_cost: 1\n"
       "defaults: {price: standard}\nroutes:\n  - path: /things/{name}\n"
       "    methods: [GET]\n    query: deny\n    body: forbidden\n"
       "  - path: /%74hings\n    price: unavailable\n"}};
  const Compiled first =
      compile({.sources = sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  const Compiled second = compile({turned, {}, {}});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*first)->payload_hash(), (*second)->payload_hash());
  EXPECT_EQ((*first)->canonical_json(), (*second)->canonical_json());
}

TEST(Program, NamesRoutesByProviderAndPathWithoutParameterNames) {
  const auto program = program_of(routes_text({"/a/{x}"}));
  const std::string form = R"({"path":"/v1/gateway/t/a/{}","provider_key":"t"})";
  EXPECT_EQ(program->routes()[0].id, "route-" + crypto::sha256_hex(form).substr(0, 32));
  EXPECT_EQ(program_of(routes_text({"/a/{y}"}))->routes()[0].id, program->routes()[0].id);
  EXPECT_EQ(program->find_route(program->routes()[0].id), &program->routes()[0]);
  EXPECT_EQ(program->find_route("route-0"), nullptr);
}

TEST(Program, KeepsWhatWasDeclared) {
  const auto program = program_of(rich);
  const Match one = program->match("/v1/gateway/t/things/a%20b");
  ASSERT_EQ(one.status, MatchStatus::found);
  EXPECT_EQ(one.route->allowed_response_headers, (std::vector<std::string>{"etag", "x-total"}));
  const Operation& get = *program->operation(*one.route, Method::get);
  EXPECT_EQ(get.query->parameters[1].name, "order");
  EXPECT_EQ(get.deadline_ms, base::limits::upstream_deadline_ms);
  const Route& many = *program->match("/v1/gateway/t/things").route;
  EXPECT_EQ(many.methods, (std::vector<Method>{Method::get, Method::post}));
  EXPECT_FALSE(program->operation(many, Method::get)->price);
  const Operation* post = program->operation(many, Method::post);
  ASSERT_TRUE(post->price);
  const Price& price = program->prices()[*post->price];
  EXPECT_TRUE(price.terms->is_offered);
  const auto term = nlohmann::json::parse(price.terms->binding)[0];
  EXPECT_EQ(term["pay_to"], "0x0123456789012345678901234567890123456789");
  EXPECT_TRUE(term["offer_id"].get<std::string>().starts_with("off_"));
  EXPECT_EQ(many.body->media_types, (std::vector<std::string>{"application/json", "text/plain"}));
  EXPECT_TRUE(many.enforce_declared);
  EXPECT_FALSE(many.readiness.ready);
  EXPECT_EQ(program->free_policies()[*many.free_policy].bucket_scope, "all");
  for (const Operation& operation : program->operations()) {
    const Upstream& upstream = program->upstreams()[program->routes()[operation.route].upstream];
    EXPECT_EQ(upstream.operations[operation.upstream_operation], operation.index);
  }
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(Facts, HoldDefinitionsFast) {
  const std::vector<InstalledFact> facts = facts_of(*program_of(rich));
  EXPECT_TRUE(compiled(rich, facts).ok());
  struct Case {
    const char* what;
    const char* with;
    const char* key;
  };
  for (const Case& altered :
       {Case{"credit_cost: 7", "credit_cost: 8", "version 2 of price standard"},
        Case{"amount: \"1000\"", "amount: \"1001\"", "version 2 of price standard"},
        Case{"retries: 3", "retries: 4", "revision 1 of upstream main"},
        Case{"name: \"T\\u00e9st\"", "name: Test", "revision 3 of provider t"},
        Case{"range: 1..50", "range: 1..51", "revision 4 of route /"},
        Case{"/things/{name}", "/things/{title}", "revision 4 of route /"}}) {
    const Compiled result = compiled(replaced(rich, altered.what, altered.with), facts);
    ASSERT_FALSE(result.ok()) << altered.with;
    EXPECT_EQ(result.error().size(), 1u);
    EXPECT_EQ(result.error()[0].rule, "installed_differs");
    EXPECT_TRUE(result.error()[0].message.starts_with(altered.key)) << result.error()[0].text();
  }
}

TEST(Facts, LetOperatorsChangeWhatIsTheirs) {
  const std::vector<InstalledFact> facts = facts_of(*program_of(rich));
  EXPECT_TRUE(compiled(replaced(rich, "One thing", "One of them"), facts).ok());
  EXPECT_TRUE(compiled(replaced(rich, "Not yet.", "Maintenance until noon."), facts).ok());
  EXPECT_TRUE(compiled(replaced(rich, "enabled: true", "enabled: false"), facts).ok());
  EXPECT_TRUE(compiled(replaced(rich, "0x0123", "0x9123"), facts).ok());
  const std::string raised =
      replaced(replaced(rich, "credit_cost: 7", "credit_cost: 8"), "version: 2", "version: 3");
  EXPECT_TRUE(compiled(raised, facts).ok());
  std::vector<InstalledFact> both = facts_of(*program_of(raised));
  both.insert(both.end(), facts.begin(), facts.end());
  EXPECT_TRUE(compiled(rich, both).ok());  // back to the older program
}

TEST(ReplySchemas, StandWithAllThatTheyReferTo) {
  const auto program = program_of(
      preamble +
      "reply_schemas:\n"
      "  t.other: {type: string}\n"
      "  t.level: {type: [number, \"null\"], minimum: 0.5}\n"
      "  t.report:\n"
      "    type: object\n"
      "    properties: {level: {\"$ref\": \"#/$defs/t.level\"},\n"
      "                 next: {\"$ref\": \"#/$defs/t.report\"}}\n"
      "  t.error: {type: object, required: [error]}\n"
      "routes:\n"
      "  - {path: /a, reply_schema: t.report, error_schema: t.error}\n"
      "  - {path: /b}\n");
  const auto at = [&](const std::string& path) {
    return program->operation(*program->match("/v1/gateway/t" + path).route, Method::get);
  };
  const Operation& told = *at("/a");
  ASSERT_TRUE(told.reply_schema);
  EXPECT_EQ(told.reply_schema->name, "t.report");
  EXPECT_EQ(told.reply_schema->json,
            R"({"$defs":{"t.level":{"minimum":0.5,"type":["number","null"]},)"
            R"("t.report":{"properties":{"level":{"$ref":"#/$defs/t.level"},)"
            R"("next":{"$ref":"#/$defs/t.report"}},"type":"object"}},)"
            R"("properties":{"level":{"$ref":"#/$defs/t.level"},)"
            R"("next":{"$ref":"#/$defs/t.report"}},"type":"object"})");
  EXPECT_EQ(told.error_schema->json, R"({"required":["error"],"type":"object"})");
  EXPECT_FALSE(at("/b")->reply_schema);
  EXPECT_NE(program->canonical_json().find(R"("reply_schema":{"$defs")"), std::string::npos);
}

TEST(ReplySchemas, AreTheOperatorsToChangeWithoutARevision) {
  const auto text = [](const std::string& type) {
    return preamble + "reply_schemas: {t.a: {type: " + type +
           "}}\nroutes: [{path: /a, reply_schema: t.a}]\n";
  };
  const auto before = program_of(text("object"));
  const Compiled after = compiled(text("array"), facts_of(*before));
  ASSERT_TRUE(after);
  EXPECT_NE((*after)->payload_hash(), before->payload_hash());
}

TEST(ReplySchemas, ThatAreNotThereAreNamed) {
  const auto problem = [](const std::string& text) {
    const Compiled result = compiled(preamble + text, std::vector<InstalledFact>());
    return result ? std::string("compiled") : result.error().front().text();
  };
  EXPECT_NE(problem("reply_schemas: {t.report: {}}\nroutes: [{path: /a, reply_schema: t.reprot}]\n")
                .find("no reply schema is named \"t.reprot\"; did you mean \"t.report\"?"),
            std::string::npos);
  EXPECT_NE(problem("reply_schemas: {t.report: {\"$ref\": \"#/$defs/t.level\"}}\n"
                    "routes: [{path: /a, reply_schema: t.report}]\n")
                .find("no reply schema is named \"t.level\""),
            std::string::npos);
  EXPECT_NE(problem("reply_schemas: {t.report: text}\nroutes: [{path: /a}]\n")
                .find("expected a JSON Schema"),
            std::string::npos);
}

TEST(Settings, KeepSecretsOutOfTheProgram) {
  const auto program = program_of(rich);
  EXPECT_NE(program->canonical_json().find(R"({"secret":{"env":"T_TOKEN"}})"), std::string::npos);
  const Settings resolved =
      resolve_secrets(program->upstreams()[0].settings, [](const SecretReference& reference) {
        const bool known = reference.origin == SecretReference::Origin::environment;
        return known ? std::optional(reference.name + "-value") : std::nullopt;
      });
  const Settings* token = resolved.find("token");
  ASSERT_NE(token, nullptr);
  EXPECT_TRUE(token->is_secret);
  EXPECT_EQ(token->text, "T_TOKEN-value");
  const Settings& key = resolved.find("more")->find("apple")->items[1];
  EXPECT_TRUE(key.is_secret);
  EXPECT_EQ(key.text, "");
  EXPECT_EQ(*resolved.integer("retries", 0, 0, 9), 3);
  EXPECT_FALSE(resolved.integer("quoted", 0, 0, 9).ok());
}

TEST(Settings, DigestFollowsSettingsAndOperations) {
  const auto digest = [](const std::string& text) {
    return program_of(text)->upstreams()[0].settings_digest;
  };
  const std::string first = digest(rich);
  EXPECT_EQ(first.size(), 64u);
  EXPECT_NE(first, digest(replaced(rich, "retries: 3", "retries: 4")));
  EXPECT_NE(first, digest(replaced(rich, "path: \"/x/{name}\"", "path: /y")));
  EXPECT_NE(first, digest(replaced(rich, "credit_cost: 7", "credit_cost: 8")));
  EXPECT_NE(first, digest(replaced(rich, "query: paging", "credential_required: true")));
  EXPECT_EQ(digest(replaced(rich, "query: paging", "query: deny")), first);
  EXPECT_EQ(first, digest(replaced(rich, "One thing", "One of them")));
}

TEST(Match, AllocatesNothing) {
  const auto program = program_of(rich);
  const std::string paths[] = {"/v1/gateway/t/things",        "/v1/gateway/t/things/a%20b%2f",
                               "/v1/gateway/t/none/at/all",   "/v1/%zz",
                               "/" + std::string(8'000, 'x'), "/" + std::string(8'000, '/')};
  const std::uint64_t before = allocations_so_far();
  for (const std::string& path : paths) {
    const Match match = program->match(path);
    if (match.route != nullptr) {
      static_cast<void>(program->operation(*match.route, Method::post));
    }
  }
  const std::uint64_t after = allocations_so_far();
  EXPECT_EQ(after - before, 0u);
}

TEST(Match, GivesTheRawParameters) {
  const auto program = program_of(routes_text({"/{a}/x/{b}"}));
  const std::string path = "/v1/gateway/t/one%20two/x/3";
  const Match match = program->match(path);
  ASSERT_EQ(match.parameter_count, 2);
  const auto raw = [&](int at) {
    return path.substr(match.parameters[at].offset, match.parameters[at].length);
  };
  EXPECT_EQ(raw(0), "one%20two");
  EXPECT_EQ(raw(1), "3");
  char decoded[16];
  EXPECT_EQ(decode_segment(raw(0), decoded), 7u);
  EXPECT_FALSE(decode_segment("%0", decoded));
  EXPECT_FALSE(decode_segment("%00", decoded));
}

TEST(Match, TakesALiteralFreeSuffixOnlyEscaped) {
  const auto program = program_of(routes_text({"/a%3Afree"}));
  EXPECT_EQ(program->match("/v1/gateway/t/a%3afree").status, MatchStatus::found);
  EXPECT_EQ(program->routes()[0].matcher.pattern, "/v1/gateway/t/a%3Afree");
}

TEST(Match, BoundsThePath) {
  const auto program = program_of(routes_text({"/{a}"}));
  std::string path = "/v1/gateway/t/";
  path.resize(base::limits::request_path_bytes_max, 'x');
  EXPECT_EQ(program->match(path).status, MatchStatus::found);
  EXPECT_EQ(program->match(path + "x").status, MatchStatus::path_malformed);
  EXPECT_EQ(program->match("").status, MatchStatus::path_malformed);
  EXPECT_EQ(program->match("v1").status, MatchStatus::path_malformed);
}

TEST(Policy, ChecksBodies) {
  const auto program = program_of(rich);
  const BodyPolicy& body = *program->match("/v1/gateway/t/things").route->body;
  EXPECT_TRUE(check_body(body, "", 0).empty());
  EXPECT_TRUE(check_body(body, "APPLICATION/json ; charset=utf-8", 100).empty());
  EXPECT_EQ(check_body(body, "text/plain", 101)[0].location, "body");
  EXPECT_EQ(check_body(body, "text/html", 1)[0].location, "header.content-type");
  EXPECT_EQ(check_body(BodyPolicy(), "text/plain", 1)[0].location, "body");
}

TEST(Policy, ReportsABoundedNumberOfProblems) {
  const auto program = program_of(rich);
  const Route& route = *program->match("/v1/gateway/t/things/a").route;
  const QueryPolicy& query = *program->operation(route, Method::get)->query;
  std::string text;
  for (int at = 0; at < 1'000; ++at) text += "x=1&";
  EXPECT_EQ(check_query(query, text).size(), policy_problems_max);
}

TEST(Diff, NamesWhatChanged) {
  const auto before = program_of(rich);
  EXPECT_TRUE(difference(*before, *before).empty());
  std::string text = replaced(rich, "credit_cost: 7", "credit_cost: 8");
  text = replaced(text, "    revision: 4\n", "    revision: 5\n    deadline_ms: 9\n");
  text = replaced(text, "path: /things\n", "path: /stuff\n");
  const auto changes = difference(*before, *program_of(text));
  EXPECT_EQ(text_of(changes),
            "- routes /v1/gateway/t/things (t)\n"
            "~ routes /v1/gateway/t/things/{name} (t)\n"
            "    /deadline_ms: 30000 -> 9\n"
            "    /revision: 4 -> 5\n"
            "+ routes /v1/gateway/t/stuff (t)\n"
            "~ prices standard\n"
            "    /credit_cost: 7 -> 8\n");
  const nlohmann::json json = json_of(changes);
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[1]["fields"][0],
            (nlohmann::json{{"path", "/deadline_ms"}, {"before", 30000}, {"after", 9}}));
}

TEST(Diff, NamesTools) {
  const auto before = program_of(rich + rich_tools);
  std::string text = replaced(rich + rich_tools, "fixed: {limit: 20}", "fixed: {limit: 30}");
  text = replaced(text, "  Add-thing:", "  new-thing:");
  const auto changes = difference(*before, *program_of(text));
  EXPECT_EQ(text_of(changes),
            "- tools Add-thing\n"
            "~ tools find_thing\n"
            "    /fixed/limit/text: \"20\" -> \"30\"\n"
            "+ tools new-thing\n");
}

std::shared_ptr<const Program> charging(const std::string& of_price, const std::string& of_route) {
  const Source source{"charging.yaml",
                      "provider: {key: t, name: T}\nupstreams: {u: {plugin: http}}\n"
                      "prices: {p: {version: 1, credit_cost: 1" +
                          of_price +
                          "}}\n"
                          "routes:\n  - {path: /a, methods: [GET, POST], body: forbidden,\n"
                          "     price: {GET: p, POST: unavailable}" +
                          of_route + "}\n"};
  auto compiled = compile({{&source, 1}, {}, {}});
  EXPECT_TRUE(compiled.ok()) << compiled.error().front().text();
  return *compiled;
}

TEST(NoCharge, AnOperationHasThoseOfItsPriceAndItsRouteInOneOrder) {
  const auto program = charging(", no_charge_when: [{upstream_over_ms: 9}, empty_body]",
                                ", no_charge_when: [{empty_at: /a~1b}, empty_body]");
  ASSERT_EQ(program->operations().size(), 2u);
  std::string shown;
  for (const NoCharge& each : program->operations()[0].no_charge_when) {
    append_canonical(shown, each);
  }
  EXPECT_EQ(shown, R"({"kind":"empty_body"}{"kind":"empty_at","pointer":"/a~1b"})"
                   R"({"kind":"upstream_over","ms":9})");
  EXPECT_TRUE(program->operations()[1].no_charge_when.empty()) << "without a price nothing is free";
}

TEST(NoCharge, IsPartOfTheHashButNotItsOrder) {
  const auto hash = [](const std::string& conditions) {
    return charging("", conditions.empty() ? "" : ", no_charge_when: " + conditions)
        ->payload_hash();
  };
  EXPECT_EQ(hash(""), hash("[]")) << "routes without any keep the hash they had";
  EXPECT_NE(hash(""), hash("[empty_body]"));
  EXPECT_NE(hash("[{empty_at: /a}]"), hash("[{empty_at: /b}]"));
  EXPECT_NE(hash("[{upstream_over_ms: 5}]"), hash("[{upstream_over_ms: 6}]"));
  EXPECT_EQ(hash("[empty_body, {empty_at: /a}]"), hash("[{empty_at: /a}, empty_body]"));
}

}  // namespace
}  // namespace turnpike::registry
