// Arguments of tools as requests, and every possible mistake in them. The last tests are properties
// with random policies and arguments: accepted arguments satisfy the policy and the schema.
#include "hosts/mcp/tool_call.h"

#include <algorithm>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "catalog/tool_schema.h"
#include "hosts/mcp/tool_fixture.h"
#include "registry/policy.h"
#include "text/uri.h"

namespace turnpike::hosts::mcp {
namespace {

using nlohmann::json;
using tests::tool_program;

const std::string search = R"(
  - path: /daos/{dao_id}/files/{file}
    allow_slash: [file]
    query:
      max_encoded_bytes: 200
      parameters:
        limit: {type: integer, range: -5..9007199254740991}
        title: {type: string, bytes: 3..128}
        brief: {type: boolean}
        kinds: {type: list, values: [topic, pro posal, "a&b"], items: 1..2, unique: true}
        from: {type: integer, range: 0..9}
        to: {type: integer, range: 0..9}
      rules:
        - at_least_one: [title, kinds]
        - less_than: [from, to]
  - path: /daos/{dao_id}/files/latest
  - path: /notes
    methods: [POST]
    body: {max_bytes: 20, media_types: [application/json, text/plain]}
    query: {parameters: {ü: {type: boolean}}}
)";
const std::string search_operation = "GET /v1/gateway/t/daos/{dao_id}/files/{file}";

// The text of the body as a caller may have written it.
std::string body_text(const json& arguments) {
  return arguments.is_object() && arguments.contains("body") ? arguments["body"].dump() : "";
}

// Tests compare "accepted: PATH?QUERY", or the problems, one per line.
class ToolCallTest : public ::testing::Test {
 protected:
  void bind(const std::string& operation, const std::string& more = {}) {
    program = tool_program(search, operation, more);
  }
  ReadToolCall read(const json& arguments) {
    return read_tool_call(*program, program->tools()[0], arguments, body_text(arguments));
  }
  std::string problems(const json& arguments) {
    const auto call = read(arguments);
    if (call.ok()) return "accepted: " + call->path + "?" + call->query;
    std::ostringstream out;
    for (const auto& problem : call.error()) {
      out << problem.location << " " << problem.problem << "; " << problem.fix << "\n";
    }
    return out.str();
  }
  // The problems of a valid call with `change` applied.
  std::string problems_with(const json& change) {
    json arguments = {{"dao_id", "ens"}, {"file", "a"}, {"title", "abc"}};
    arguments.update(change);
    return problems(arguments);
  }
  std::shared_ptr<const registry::Program> program;
};

TEST_F(ToolCallTest, BecomesARawPathAndAQueryInDeclaredOrder) {
  bind(search_operation);
  const auto call = read({{"dao_id", "a b:free%2F?ü"},
                          {"file", "x/y\\z"},
                          {"title", "a+b&c=d é"},
                          {"limit", 9'007'199'254'740'991},
                          {"kinds", {"topic", "a&b"}},
                          {"brief", false},
                          {"from", 0},
                          {"to", 9.0},
                          {"idempotency_key", "k-1"}});
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->path, "/v1/gateway/t/daos/a%20b%3Afree%252F%3F%C3%BC/files/x%2Fy%5Cz");
  EXPECT_EQ(call->query,
            "brief=false&from=0&kinds=topic,a%26b&limit=9007199254740991&"
            "title=a%2Bb%26c%3Dd%20%C3%A9&to=9");
  EXPECT_EQ(call->idempotency_key, "k-1");
  EXPECT_EQ(call->body, std::nullopt);
  EXPECT_EQ(call->content_type, "");
}

TEST_F(ToolCallTest, TypedPathParametersAndNumbersAreTakenAsTheyAre) {
  program = tool_program(
      "  - path: /pets/{petId}/{open}\n    path_parameters:\n"
      "      petId: {type: integer, range: 1..9}\n      open: {type: boolean}\n"
      "    query: {parameters: {share: {type: number, range: -1..1e22}}}\n",
      "GET /v1/gateway/t/pets/{petId}/{open}");
  const auto accepted = [&](const json& share) {
    return problems({{"petId", 7}, {"open", true}, {"share", share}});
  };
  EXPECT_EQ(accepted(0.1), "accepted: /v1/gateway/t/pets/7/true?share=0.1");
  EXPECT_EQ(accepted(-1), "accepted: /v1/gateway/t/pets/7/true?share=-1");
  EXPECT_EQ(accepted(1e22), "accepted: /v1/gateway/t/pets/7/true?share=1e%2B22");
  EXPECT_EQ(problems({{"petId", 10}, {"open", "yes"}, {"share", "x"}}),
            "/petId is out of range; give an integer from 1 to 9\n"
            "/open has the type string; give true or false, without quotes\n"
            "/share has the type string; give a number, without quotes\n");
}

TEST_F(ToolCallTest, TheFreeVariantHasItsSuffix) {
  bind(search_operation, "    variant: free\n");
  const auto call = read({{"dao_id", "ens"}, {"file", "a:free"}, {"title", "abc"}});
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->path, "/v1/gateway/t/daos/ens/files/a%3Afree:free");
}

TEST_F(ToolCallTest, FixedValuesAreSentAndCannotBeGiven) {
  bind(search_operation, "    fixed: {limit: 7, kinds: \"topic,a&b\", brief: true}\n");
  const auto call = read({{"dao_id", "ens"}, {"file", "a"}});
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->query, "brief=true&kinds=topic,a%26b&limit=7") << "and keep at_least_one";
  EXPECT_EQ(
      problems({{"dao_id", "ens"}, {"file", "a"}, {"limit", 7}}),
      "/limit is no argument of this tool; leave it out; the arguments are dao_id, file, from, "
      "title, to, idempotency_key\n");
}

TEST_F(ToolCallTest, NullIsAsIfLeftOut) {
  bind(search_operation);
  EXPECT_EQ(problems_with({{"limit", nullptr}, {"idempotency_key", nullptr}}),
            "accepted: /v1/gateway/t/daos/ens/files/a?title=abc");
  EXPECT_EQ(problems_with({{"dao_id", nullptr}}), "/dao_id is missing; it is required\n");
}

TEST_F(ToolCallTest, ValuesOfThePathStayOneSegmentOfTheOwnRoute) {
  bind(search_operation);
  const std::pair<json, std::string> cases[] = {
      {"", "/dao_id is empty; give at least one character\n"},
      {".", "/dao_id is a dot segment; give the name of something\n"},
      {"..", "/dao_id is a dot segment; give the name of something\n"},
      {"a/b", "/dao_id holds a slash; give one segment of a path\n"},
      {"a\\b", "/dao_id holds a slash; give one segment of a path\n"},
      {std::string("a\0b", 3), "/dao_id holds a NUL; leave it out\n"},
      {7, "/dao_id has the type number; give a string\n"},
      {json::array({"a"}), "/dao_id has the type array; give a string\n"},
      {"...", "accepted: /v1/gateway/t/daos/.../files/a?title=abc"},
      {"%2e", "accepted: /v1/gateway/t/daos/%252e/files/a?title=abc"}};
  for (const auto& [value, expected] : cases) {
    EXPECT_EQ(problems_with({{"dao_id", value}}), expected) << value;
  }
  EXPECT_EQ(problems_with({{"file", ".."}}),
            "/file is a dot segment; give the name of something\n");
}

// A literal segment takes precedence over a parameter: this would be another operation with another
// price.
TEST_F(ToolCallTest, AValueThatNamesAnotherRouteIsRefused) {
  bind(search_operation);
  EXPECT_EQ(problems_with({{"file", "latest"}}),
            "/file is the path of another route, /v1/gateway/t/daos/{dao_id}/files/latest; give "
            "another value, or run that route\n");
}

TEST_F(ToolCallTest, ThePathIsBounded) {
  bind(search_operation);
  const std::string around = "/v1/gateway/t/daos/ens/files/";
  const std::size_t room = base::limits::request_path_bytes_max - around.size();
  EXPECT_TRUE(problems_with({{"file", std::string(room, 'x')}}).starts_with("accepted"));
  EXPECT_EQ(problems_with({{"file", std::string(room + 1, 'x')}}),
            " make a path of 8193 bytes; give shorter values: the path may have 8192\n");
}

TEST_F(ToolCallTest, TypesAndBoundsAreToldWithTheirFix) {
  bind(search_operation);
  const std::pair<json, std::string> cases[] = {
      {{{"limit", "seven"}}, "/limit has the type string; give an integer, without quotes\n"},
      {{{"limit", "7.0"}}, "/limit has the type string; give an integer, without quotes\n"},
      {{{"limit", "-6"}}, "/limit is out of range; give an integer from -5 to 9007199254740991\n"},
      {{{"limit", 1.5}}, "/limit is no integer; give an integer\n"},
      {{{"limit", 1e300}}, "/limit is no integer; give an integer\n"},
      {{{"limit", -6}}, "/limit is out of range; give an integer from -5 to 9007199254740991\n"},
      {{{"limit", 9'007'199'254'740'992}},
       "/limit is out of range; give an integer from -5 to 9007199254740991\n"},
      {{{"limit", 18'446'744'073'709'551'615u}},
       "/limit is no integer; give an integer from -5 to 9007199254740991\n"},
      {{{"brief", "yes"}}, "/brief has the type string; give true or false, without quotes\n"},
      {{{"title", "ab"}}, "/title has 2 bytes; give 3 to 128 bytes\n"},
      {{{"title", 3}}, "/title has the type number; give a string\n"},
      {{{"kinds", "topic"}}, "/kinds has the type string; give a list of 1 to 2 strings\n"},
      {{{"kinds", json::array()}}, "/kinds is empty; give a list of 1 to 2 strings\n"},
      {{{"kinds", {1}}}, "/kinds holds what is no string; give a list of 1 to 2 strings\n"},
      {{{"kinds", {"topic,topic"}}},
       "/kinds holds an item with a comma; give a list of 1 to 2 strings\n"},
      {{{"kinds", {"topic", "topic"}}}, "/kinds holds \"topic\" twice; give each item once\n"},
      {{{"kinds", {"gossip"}}},
       "/kinds holds an item that is not allowed; give items out of a&b, pro posal, topic\n"},
      {{{"from", 5}, {"to", 5}}, "/from is not less than to; give a from below to\n"},
      {{{"title", nullptr}}, " has none of kinds, title; give at least one of them\n"},
      {{{"title", nullptr}, {"kinds", 1}},
       "/kinds has the type number; give a list of 1 to 2 strings\n"},
      {{{"colour/~", 1}},
       "/colour~1~0 is no argument of this tool; leave it out; the arguments are dao_id, file, "
       "brief, from, kinds, limit, title, to, idempotency_key\n"},
      {{{"idempotency_key", ""}},
       "/idempotency_key is not in its form; give 1 to 255 visible ASCII characters\n"},
      {{{"idempotency_key", "a b"}},
       "/idempotency_key is not in its form; give 1 to 255 visible ASCII characters\n"},
      {{{"idempotency_key", std::string(256, 'k')}},
       "/idempotency_key is not in its form; give 1 to 255 visible ASCII characters\n"},
      {{{"idempotency_key", 1}}, "/idempotency_key has the type number; give a string\n"},
      {{{"body", "x"}},
       "/body is no argument of this tool; leave it out; the arguments are dao_id, file, brief, "
       "from, kinds, limit, title, to, idempotency_key\n"}};
  for (const auto& [change, expected] : cases) EXPECT_EQ(problems_with(change), expected) << change;
}

// Models write numbers and booleans as text.
TEST_F(ToolCallTest, NumbersAndTruthValuesMayComeAsText) {
  bind(search_operation);
  EXPECT_EQ(problems_with({{"limit", "7"}, {"brief", "true"}, {"from", "-0"}}),
            "/from has the type string; give an integer, without quotes\n");
  EXPECT_EQ(problems_with({{"limit", "-5"}, {"brief", "false"}}),
            "accepted: /v1/gateway/t/daos/ens/files/a?brief=false&limit=-5&title=abc");
}

TEST_F(ToolCallTest, TheQueryAsAWholeIsBounded) {
  bind(search_operation);
  const std::string title(64, ' ');  // three bytes each
  EXPECT_TRUE(problems_with({{"title", title}}).starts_with("accepted"));
  EXPECT_EQ(problems_with({{"title", title + "  "}}), " has 204 bytes; give at most 200 bytes\n");
}

TEST_F(ToolCallTest, EverythingIsToldAtOnceAndNotWithoutEnd) {
  bind(search_operation);
  EXPECT_EQ(problems({{"limit", "x"}, {"brief", 1}, {"title", "abc"}}),
            "/dao_id is missing; it is required\n"
            "/file is missing; it is required\n"
            "/brief has the type number; give true or false, without quotes\n"
            "/limit has the type string; give an integer, without quotes\n");
  json many = json::object();
  for (int at = 0; at < 1'000; ++at) many["x" + std::to_string(at)] = at;
  EXPECT_EQ(read(many).error().size(), tool_problems_max);
  for (const json& no_object : {json(), json(1), json::array(), json("{}")}) {
    EXPECT_EQ(problems(no_object), " is no object; give the arguments as an object\n");
  }
}

TEST_F(ToolCallTest, ABodyIsJsonOrTextByItsType) {
  bind("POST /v1/gateway/t/notes", "    fixed: {ü: true}\n");
  const auto body = [&](const json& value, const char* type = nullptr) {
    json arguments = {{"body", value}};
    if (type != nullptr) arguments["content_type"] = type;
    const auto call = read(arguments);
    if (!call.ok()) return problems(arguments);
    EXPECT_EQ(call->query, "%C3%BC=true");
    return call->body ? call->content_type + ": " + *call->body : "none";
  };
  EXPECT_EQ(body({{"a", {1, "ü"}}}), "application/json: {\"a\":[1,\"ü\"]}");
  EXPECT_EQ(body(json::array()), "application/json: []");
  EXPECT_EQ(body(false), "application/json: false");
  EXPECT_EQ(body("{ \"n\": 1.10 }"), "application/json: { \"n\": 1.10 }") << "byte for byte";
  EXPECT_EQ(body("18446744073709551617"), "application/json: 18446744073709551617");
  EXPECT_EQ(body("hello"), "/body is a string that holds no JSON; give a JSON value\n");
  EXPECT_EQ(body(nullptr), "none");
  EXPECT_EQ(body(""), "none");
  EXPECT_EQ(body("hello", "text/plain"), "text/plain: hello");
  EXPECT_EQ(body("hello", "application/json"),
            "/body is a string that holds no JSON; give a JSON value\n");
  EXPECT_EQ(body({{"a", 1}}, "text/plain"),
            "/body has the type object; give the text of the body as a string\n");
  EXPECT_EQ(body("hello", "text/html"),
            "/content_type is not allowed here; give one of application/json, text/plain\n");
  EXPECT_EQ(problems({{"content_type", 1}}), "/content_type has the type number; give a string\n");
  EXPECT_EQ(body(std::string(20, 'x'), "text/plain"), "text/plain: " + std::string(20, 'x'));
  EXPECT_EQ(body(std::string(21, 'x'), "text/plain"),
            "/body has 21 bytes; give at most 20 bytes\n");
}

// Numbers that a double cannot hold, and the way numbers are written, must be preserved.
TEST_F(ToolCallTest, AJsonBodyIsTheBytesThatTheCallerWrote) {
  bind("POST /v1/gateway/t/notes", "    fixed: {ü: true}\n");
  for (const std::string text : {"123456789012345678", "[1e2,-0]", "{ \"a\" :1.0}"}) {
    const json arguments = {{"body", json::parse(text)}, {"content_type", "application/json"}};
    const auto call = read_tool_call(*program, program->tools()[0], arguments, text);
    ASSERT_TRUE(call.ok()) << text;
    EXPECT_EQ(call->body, text);
  }
}

TEST_F(ToolCallTest, ABodyCanBeRequired) {
  program = tool_program(R"(
  - path: /orders
    methods: [GET, POST]
    body: {media_types: [application/json], required: true}
)",
                         "POST /v1/gateway/t/orders");
  const auto schema = catalog::tool_input_schema(*program, program->tools()[0]);
  EXPECT_EQ(schema["required"], nlohmann::ordered_json::array({"body"}));
  EXPECT_EQ(problems(json::object()), "/body is missing; it is required\n");
  EXPECT_EQ(problems({{"body", nullptr}}), "/body is missing; it is required\n");
  EXPECT_EQ(problems({{"body", ""}}), "/body is empty; give one\n");
  EXPECT_EQ(problems({{"body", json::object()}}), "accepted: /v1/gateway/t/orders?");
}

// ---- at random ----------------------------------------------------------------------------------

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool coin() { return below(2) == 0; }
  const std::string& word() {
    static const std::vector<std::string> words = {"a",  "b c",  "d&e=f", "%41", "+",   "ü",
                                                   "\"", "#",    "?",     ";x",  "e/f", "=",
                                                   "1",  "true", "ﷺ",     "😀"};
    return words[below(words.size())];
  }
  std::string text() {
    std::string out;
    for (std::size_t left = below(4); left > 0; --left) out += word();
    return out;
  }
  std::int64_t number() { return static_cast<std::int64_t>(below(41)) - 20; }

 private:
  std::mt19937 engine_;
};

std::string quoted(const std::string& text) { return json(text).dump(); }  // also valid YAML

std::vector<std::string> distinct_words(Chance& chance) {
  std::vector<std::string> words;
  for (std::size_t left = 1 + chance.below(4); left > 0; --left) words.push_back(chance.word());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::string word_list(Chance& chance) {
  std::string out;
  for (const std::string& word : distinct_words(chance)) {
    out += (out.empty() ? "[" : ", ") + quoted(word);
  }
  return out + "]";
}

std::string random_parameter(Chance& chance, bool is_integer) {
  const std::string ending = chance.below(4) == 0 ? ", required: true}" : "}";
  if (is_integer || chance.below(4) == 0) {
    const auto low = chance.number();
    return "{type: integer, range: " + std::to_string(low) + ".." +
           std::to_string(low + static_cast<std::int64_t>(chance.below(20))) + ending;
  }
  switch (chance.below(4)) {
    case 0:
      return "{type: boolean" + ending;
    case 1:
      return "{type: list, values: " + word_list(chance) + ", items: 1.." +
             std::to_string(1 + chance.below(3)) + (chance.coin() ? ", unique: true" : "") + ending;
    case 2:
      return "{type: string, values: " + word_list(chance) + ending;
    default:
      return "{type: string, bytes: " + std::to_string(chance.below(3)) + ".." +
             std::to_string(3 + chance.below(12)) + ending;
  }
}

std::shared_ptr<const registry::Program> random_program(Chance& chance) {
  std::string route = "  - path: /{p}/x/{q}\n";
  if (chance.coin()) route += "    allow_slash: [p]\n";
  route += "    query:\n      max_encoded_bytes: " + std::to_string(20 + chance.below(400)) +
           "\n      parameters:\n";
  for (const char* name : {"a", "b-1", "c.2", "left", "right"}) {
    const bool is_integer = std::string_view(name).size() > 3;
    route += std::string("        ") + name + ": " + random_parameter(chance, is_integer) + "\n";
  }
  route += "      rules:\n        - less_than: [left, right]\n        - at_least_one: [a, c.2]\n";
  return tool_program(route, "GET /v1/gateway/t/{p}/x/{q}",
                      chance.coin() ? "    variant: free\n" : "");
}

json random_value(Chance& chance) {
  switch (chance.below(8)) {
    case 0:
      return chance.coin();
    case 1:
      return static_cast<double>(chance.number()) / 2;
    case 2:
      return nullptr;
    case 3: {
      json list = json::array();
      for (std::size_t left = chance.below(4); left > 0; --left) list.push_back(chance.word());
      return list;
    }
    case 4:
    case 5:
      return chance.number();
    default:
      return chance.text();
  }
}

// A value that satisfies the constraint.
struct GoodValue {
  Chance& chance;
  json operator()(const registry::StringConstraint& constraint) const {
    if (!constraint.allowed_values.empty()) {
      return constraint.allowed_values[chance.below(constraint.allowed_values.size())];
    }
    std::string text(constraint.min_bytes, '&');
    while (chance.coin() && text.size() + 2 <= constraint.max_bytes) text += "ü";
    return text;
  }
  json operator()(const registry::IntegerConstraint& constraint) const {
    const auto span = static_cast<std::size_t>(constraint.maximum - constraint.minimum + 1);
    return constraint.minimum + static_cast<std::int64_t>(chance.below(span));
  }
  json operator()(const registry::NumberConstraint& constraint) const {
    return constraint.minimum + (constraint.maximum - constraint.minimum) / 2;
  }
  json operator()(const registry::BooleanConstraint&) const { return chance.coin(); }
  json operator()(const registry::CommaListConstraint& constraint) const {
    json list = json::array();
    const std::size_t most =
        std::min<std::size_t>(constraint.max_items, constraint.allowed_values.size());
    for (std::size_t left = 1 + chance.below(most); left > 0; --left) {
      list.push_back(constraint.allowed_values[left - 1]);
    }
    return list;
  }
};

bool keeps_rules(const json& arguments) {
  const bool has_one = arguments.contains("a") || arguments.contains("c.2");
  const bool compares = arguments.contains("left") && arguments.contains("right");
  return has_one && (!compares || arguments["left"] < arguments["right"]);
}

void expect_keeps_the_policy(const registry::Program& program, const ToolCall& call) {
  const registry::Tool& tool = program.tools()[0];
  const registry::Route& route = program.routes()[program.operations()[tool.operation].route];
  EXPECT_TRUE(
      registry::check_query(*program.operations()[tool.operation].query, call.query).empty())
      << call.query;
  EXPECT_EQ(text::query_fault(call.query), std::string::npos) << call.query;
  std::string_view path = call.path;
  if (tool.is_free) {
    ASSERT_TRUE(path.ends_with(":free"));
    path.remove_suffix(5);
  }
  EXPECT_FALSE(path.ends_with(":free"));
  EXPECT_EQ(program.match(path).route, &route) << path;
}

// Undoes the tolerated deviations from the schema: null for an omitted argument, numbers and
// booleans as text.
void take_liberties_back(const nlohmann::ordered_json& schema, json& arguments) {
  for (auto at = arguments.begin(); at != arguments.end();) {
    const auto& type = schema["properties"][at.key()]["type"];
    const bool is_as_text = at->is_string() && (type == "integer" || type == "boolean");
    if (is_as_text) *at = json::parse(at->get<std::string>());
    at = at->is_null() ? arguments.erase(at) : std::next(at);
  }
}

TEST(ToolCallProperty, WhatIsAcceptedKeepsPolicyAndSchemaAndWhatIsNotSaysWhy) {
  std::size_t accepted = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    Chance chance(seed);
    const auto program = random_program(chance);
    const registry::Tool& tool = program->tools()[0];
    const registry::QueryPolicy& query = *program->operations()[tool.operation].query;
    const auto schema = catalog::tool_input_schema(*program, tool);
    for (int round = 0; round < 100; ++round) {
      json arguments = {{"p", chance.text()}, {"q", chance.text()}};
      for (const auto& parameter : query.parameters) {
        if (chance.below(3) == 0) continue;
        arguments[parameter.name] = chance.below(3) == 0
                                        ? random_value(chance)
                                        : std::visit(GoodValue{chance}, parameter.constraint);
      }
      if (chance.below(20) == 0) arguments["z"] = random_value(chance);
      const auto call = read_tool_call(*program, tool, arguments, {});
      if (!call.ok()) {
        ASSERT_FALSE(call.error().empty());
        for (const auto& problem : call.error()) {
          EXPECT_TRUE(problem.location.empty() || problem.location.starts_with('/'));
          EXPECT_FALSE(problem.problem.empty() || problem.fix.empty());
        }
        continue;
      }
      ++accepted;
      expect_keeps_the_policy(*program, *call);
      take_liberties_back(schema, arguments);
      EXPECT_TRUE(tests::keeps(schema, arguments)) << arguments << "\n" << schema.dump(1);
    }
  }
  EXPECT_GT(accepted, 100u);
}

TEST(ToolCallProperty, ArgumentsThatKeepEveryDeclarationAreAccepted) {
  std::size_t accepted = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    Chance chance(seed);
    const auto program = random_program(chance);
    const registry::Tool& tool = program->tools()[0];
    const registry::QueryPolicy& query = *program->operations()[tool.operation].query;
    const auto schema = catalog::tool_input_schema(*program, tool);
    for (int round = 0; round < 30; ++round) {
      json arguments = {{"p", "p&ü:free"}, {"q", "..."}};
      for (const auto& parameter : query.parameters) {
        if (!parameter.required && chance.coin()) continue;
        arguments[parameter.name] = std::visit(GoodValue{chance}, parameter.constraint);
      }
      EXPECT_TRUE(tests::keeps(schema, arguments)) << arguments;
      const auto call = read_tool_call(*program, tool, arguments, {});
      if (call.ok()) {
        ++accepted;
        expect_keeps_the_policy(*program, *call);
        continue;
      }
      // Refused only for what the schema cannot express: rules, and the length of the whole query.
      const bool is_too_long = call.error()[0].problem.ends_with(" bytes");
      EXPECT_TRUE(is_too_long || !keeps_rules(arguments)) << arguments << call.error()[0].problem;
      EXPECT_EQ(call.error()[0].location.empty() || call.error()[0].location == "/left", true);
    }
  }
  EXPECT_GT(accepted, 1'000u);
}

}  // namespace
}  // namespace turnpike::hosts::mcp
