// The schema of a tool's arguments: how it shows each kind of declaration, and what it must not
// contain, since clients reject tools because of it (docs/protocols.md, "Tools").
#include "catalog/tool_schema.h"

#include <gtest/gtest.h>

#include "hosts/mcp/tool_fixture.h"

namespace turnpike::hosts::mcp {
namespace {

using OrderedJson = nlohmann::ordered_json;
using tests::tool_program;

const std::string listing = R"(
  - path: /daos/{dao_id}/files/{file}
    allow_slash: [file]
    query:
      parameters:
        limit: {type: integer, range: 1..200}
        level: {type: integer, values: [1, 5, 10]}
        title: {type: string, bytes: 3..512}
        any: {type: string, bytes: 0..9, required: true}
        order: {type: string, values: [newest, oldest]}
        brief: {type: boolean}
        kinds: {type: list, values: [topic, proposal], items: 1..2, unique: true}
        from: {type: integer, range: 0..9}
        to: {type: integer, range: 0..9}
      rules:
        - at_least_one: [title, order]
        - less_than: [from, to]
)";
const std::string listing_operation = "GET /v1/gateway/t/daos/{dao_id}/files/{file}";

OrderedJson schema_of(const std::string& route, const std::string& operation,
                      const std::string& more = {}) {
  const auto program = tool_program(route, operation, more);
  return catalog::tool_input_schema(*program, program->tools()[0]);
}

TEST(ToolSchema, ShowsEveryDeclaredParameterWithItsConstraint) {
  const OrderedJson schema =
      schema_of(listing, listing_operation, "    arguments: {dao_id: Of the DAO, title: In it.}\n");
  const OrderedJson expected = {
      {"type", "object"},
      {"properties",
       {{"dao_id",
         {{"type", "string"},
          {"minLength", 1},
          {"description", "Of the DAO"},
          {"pattern", R"(^[^/\\]+$)"}}},
        {"file", {{"type", "string"}, {"minLength", 1}}},
        {"any",
         {{"type", "string"},
          {"minLength", 0},
          {"maxLength", 9},
          {"description", "0 to 9 bytes of UTF-8."}}},
        {"brief", {{"type", "boolean"}}},
        {"from", {{"type", "integer"}, {"minimum", 0}, {"maximum", 9}}},
        {"kinds",
         {{"type", "array"},
          {"items", {{"type", "string"}, {"enum", {"proposal", "topic"}}}},
          {"minItems", 1},
          {"maxItems", 2},
          {"uniqueItems", true}}},
        {"level", {{"type", "integer"}, {"minimum", 1}, {"maximum", 10}, {"enum", {1, 5, 10}}}},
        {"limit", {{"type", "integer"}, {"minimum", 1}, {"maximum", 200}}},
        {"order", {{"type", "string"}, {"enum", {"newest", "oldest"}}}},
        {"title",
         {{"type", "string"},
          {"minLength", 1},
          {"maxLength", 512},
          {"description", "In it. 3 to 512 bytes of UTF-8."}}},
        {"to", {{"type", "integer"}, {"minimum", 0}, {"maximum", 9}}},
        {"idempotency_key", catalog::idempotency_key_schema()}}},
      {"required", {"dao_id", "file", "any"}},
      {"additionalProperties", false}};
  EXPECT_EQ(schema.dump(1), expected.dump(1));
}

TEST(ToolSchema, HasNoQueryMembersWhereNoQueryIsDeclared) {
  const OrderedJson schema = schema_of("  - path: /daos\n", "GET /v1/gateway/t/daos");
  EXPECT_EQ(schema, (OrderedJson{{"type", "object"},
                                 {"properties",
                                  {{"idempotency_key", catalog::idempotency_key_schema()}}},
                                 {"additionalProperties", false}}));
}

TEST(ToolSchema, HidesWhatHasAFixedValue) {
  const std::string more = "    fixed: {limit: 10, order: newest, any: \"\"}\n";
  const OrderedJson schema = schema_of(listing, listing_operation, more);
  for (const char* name : {"limit", "order", "any"}) {
    EXPECT_FALSE(schema["properties"].contains(name)) << name;
  }
  EXPECT_EQ(schema["required"], (OrderedJson{"dao_id", "file"}));
  const auto program = tool_program(listing, listing_operation, more);
  EXPECT_EQ(catalog::tool_description(*program, program->tools()[0]),
            "Does it. `from` is less than `to`. A success costs 1 Credit.")
      << "the rule that a fixed value keeps is of no interest";
}

TEST(ToolSchema, FollowsTypesOfThePathAndTheOwnQueryOfItsMethod) {
  const std::string route =
      "  - path: /pets/{petId}/{kind}\n    path_parameters:\n"
      "      petId: {type: integer, range: 1..9}\n"
      "      kind: {type: string, bytes: 1..20}\n    methods:\n"
      "      GET: {query: {parameters: {share: {type: number, range: -0.5..1}}}}\n"
      "      POST: {body: forbidden}\n";
  const OrderedJson get = schema_of(route, "GET /v1/gateway/t/pets/{petId}/{kind}")["properties"];
  EXPECT_EQ(get["petId"], (OrderedJson{{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}));
  EXPECT_EQ(get["kind"]["maxLength"], 20);
  EXPECT_EQ(get["kind"]["pattern"], R"(^[^/\\]+$)");
  EXPECT_EQ(get["share"], (OrderedJson{{"type", "number"}, {"minimum", -0.5}, {"maximum", 1.0}}));
  const OrderedJson post = schema_of(route, "POST /v1/gateway/t/pets/{petId}/{kind}")["properties"];
  EXPECT_FALSE(post.contains("share"));
}

TEST(ToolSchema, SaysRulesOverSeveralArgumentsInTheDescription) {
  const auto program = tool_program(listing, listing_operation);
  EXPECT_EQ(
      catalog::tool_description(*program, program->tools()[0]),
      "Does it. At least one of `order`, `title` is given. `from` is less than `to`. A success "
      "costs 1 Credit.");
}

OrderedJson body_schema(const std::string& types, const std::string& more = {}) {
  return schema_of(
      "  - path: /notes\n    methods: [GET, POST]\n    body: {max_bytes: 100, "
      "media_types: [" +
          types + "]}\n",
      "POST /v1/gateway/t/notes", more)["properties"];
}

TEST(ToolSchema, TakesABodyByItsMediaTypes) {
  OrderedJson properties = body_schema("application/json", "    arguments: {body: The note.}\n");
  EXPECT_EQ(
      properties["body"],
      (OrderedJson{{"description",
                    "The note. The request body: a JSON value, sent as application/json; at most "
                    "100 bytes."}}));
  EXPECT_FALSE(properties.contains("content_type"));

  properties = body_schema("text/csv");
  EXPECT_EQ(properties["body"],
            (OrderedJson{
                {"type", "string"},
                {"description", "The request body: text, sent as text/csv; at most 100 bytes."}}));

  properties = body_schema("text/csv, application/ld+json");
  EXPECT_EQ(
      properties["body"],
      (OrderedJson{{"description",
                    "The request body: a JSON value, or text of another content_type; at most 100 "
                    "bytes."}}));
  EXPECT_EQ(properties["content_type"], (OrderedJson{{"type", "string"},
                                                     {"enum", {"application/ld+json", "text/csv"}},
                                                     {"default", "application/ld+json"},
                                                     {"description", "Of the body."}}));
  properties = body_schema("text/csv, text/html");
  EXPECT_EQ(properties["body"]["type"], "string");
  EXPECT_EQ(properties["content_type"]["default"], "text/csv");
}

TEST(ToolSchema, HasNoBodyWhereNoneIsTaken) {
  const std::string route =
      "  - path: /notes\n    methods: [GET, POST]\n    body: {media_types: [text/csv]}\n"
      "  - path: /pings\n    methods: [POST]\n    body: forbidden\n";
  EXPECT_FALSE(schema_of(route, "GET /v1/gateway/t/notes")["properties"].contains("body"));
  EXPECT_FALSE(schema_of(route, "POST /v1/gateway/t/pings")["properties"].contains("body"));
  EXPECT_TRUE(schema_of(route, "POST /v1/gateway/t/notes")["properties"].contains("body"));
}

}  // namespace
}  // namespace turnpike::hosts::mcp
