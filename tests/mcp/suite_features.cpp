#include "mcp/suite_features.h"

#include <functional>
#include <utility>

#include "mcp/suite_questions.h"

namespace turnpike::tests {
namespace {

using namespace hosts::mcp;

// One red pixel; one sample of silence.
constexpr const char* png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
constexpr const char* wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

Json text_block(std::string_view text) { return {{"type", "text"}, {"text", text}}; }
Json image_block() { return {{"type", "image"}, {"data", png}, {"mimeType", "image/png"}}; }
Json resource_block(std::string_view uri, std::string_view type, std::string_view text) {
  return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"text", text}}}};
}

// `object` as the members of a result.
RpcResult members_of(const Json& object) {
  const std::string text = text_of(object);
  RpcResult result;
  result.members = text.substr(1, text.size() - 2);
  return result;
}

RpcResult content(const std::vector<Json>& blocks) { return members_of({{"content", blocks}}); }

class SuiteTool final : public Tool {
 public:
  using Call = std::function<Answer(const RpcRequest&, const Json& arguments)>;

  SuiteTool(std::string name, std::string description, Call call,
            Json schema = {{"type", "object"}}, std::vector<MirroredArgument> mirrored = {})
      : name_(std::move(name)),
        card_({{"name", name_},
               {"description", std::move(description)},
               {"inputSchema", std::move(schema)}}),
        call_(std::move(call)),
        mirrored_(std::move(mirrored)) {}

  std::string_view name() const noexcept override { return name_; }
  bool is_at(Door door) const noexcept override { return door == Door::account; }
  nlohmann::ordered_json card(Door) const override { return card_; }
  std::span<const MirroredArgument> mirrored() const noexcept override { return mirrored_; }
  Answer call(const RpcRequest& request, const Json& arguments) const override {
    return call_(request, arguments);
  }

 private:
  const std::string name_;
  const nlohmann::ordered_json card_;
  const Call call_;
  const std::vector<MirroredArgument> mirrored_;
};

using Tools = std::vector<std::shared_ptr<const Tool>>;

template <typename... Arguments>
void add(Tools& tools, Arguments&&... arguments) {
  tools.push_back(std::make_shared<SuiteTool>(std::forward<Arguments>(arguments)...));
}

void add_content_tools(Tools& tools) {
  const auto gives = [](const std::vector<Json>& blocks) {
    return [result = content(blocks)](const RpcRequest&, const Json&) { return result; };
  };
  add(tools, "test_simple_text", "Gives one text.",
      gives({text_block("This is a simple text response for testing.")}));
  add(tools, "test_image_content", "Gives an image.", gives({image_block()}));
  add(tools, "test_audio_content", "Gives a sound.",
      gives({Json{{"type", "audio"}, {"data", wav}, {"mimeType", "audio/wav"}}}));
  add(tools, "test_embedded_resource", "Gives a resource.",
      gives({resource_block("test://embedded-resource", "text/plain",
                            "This is an embedded resource content.")}));
  add(tools, "test_multiple_content_types", "Gives a text, an image and a resource.",
      gives({text_block("Multiple content types test:"), image_block(),
             resource_block("test://mixed-content-resource", "application/json",
                            R"({"test":"data","value":123})")}));
  add(tools, "test_logging_tool", "Logs nothing to whoever asked for no log.",
      gives({text_block("Nothing was logged.")}));
  add(tools, "test_error_handling", "Always fails.", [](const RpcRequest&, const Json&) {
    return text_result("This tool intentionally returns an error for testing", true);
  });
}

// The schema that the suite looks for, word for word (its json-schema-2020-12).
Json schema_with_everything() {
  return Json::parse(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
      "street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
      "contactMethod": {"type": "string", "enum": ["phone", "email"]},
      "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]},
    "additionalProperties": false})");
}

void add_schema_tools(Tools& tools) {
  const auto echo = [](const RpcRequest&, const Json& arguments) {
    return content({text_block(text_of(arguments))});
  };
  add(tools, "json_schema_2020_12_tool", "Has a schema of many keywords.", echo,
      schema_with_everything());
  Json region = {{"type", "string"}, {"x-mcp-header", "Region"}};
  Json copies = {{"type", "integer"}, {"x-mcp-header", "Copies"}};
  add(tools, "test_x_mcp_header", "Has arguments that headers repeat.", echo,
      Json{{"type", "object"},
           {"properties", {{"region", std::move(region)}, {"copies", std::move(copies)}}}},
      std::vector<MirroredArgument>{{"Region", {"region"}}, {"Copies", {"copies"}}});
}

Question ask_name(const char* key, const char* message) {
  return ask_user(key, message, "name", "string");
}

// Asks all of it, and is done when all is answered.
SuiteTool::Call asks(std::vector<Question> questions) {
  return [questions = std::move(questions)](const RpcRequest& request, const Json&) -> Answer {
    auto responses = responses_to(request, questions);
    if (!responses.ok()) return std::move(responses).error();
    if (!responses->is_object()) return input_required(request, questions);
    return content({text_block("You answered: " + text_of(*responses))});
  };
}

// The same with a state, without which answers count for nothing.
SuiteTool::Call asks_once(const RequestState& state, std::vector<Question> questions) {
  return
      [&state, questions = std::move(questions)](const RpcRequest& request, const Json&) -> Answer {
        const auto memory = state.read(request);
        if (!memory.ok()) return memory.error();
        auto responses = responses_to(request, questions);
        if (!responses.ok()) return std::move(responses).error();
        if (!*memory || !responses->is_object()) {
          return input_required(request, questions, state.make(request, "asked"));
        }
        return content({text_block("state-ok, you answered: " + text_of(*responses))});
      };
}

Answer ask_in_two_rounds(const RequestState& state, const RpcRequest& request) {
  const std::vector<Question> first = {ask_name("step1", "Step 1: What is your name?")};
  const std::vector<Question> second = {
      ask_user("step2", "Step 2: What is your favorite color?", "color", "string")};
  const auto memory = state.read(request);
  if (!memory.ok()) return memory.error();
  const bool is_second = *memory && (*memory)->starts_with("step2 ");
  auto responses = responses_to(request, is_second ? second : first);
  if (!responses.ok()) return std::move(responses).error();
  if (!*memory || (!is_second && !responses->is_object())) {
    return input_required(request, first, state.make(request, "step1"));
  }
  if (is_second && responses->is_object()) {
    return content({text_block((*memory)->substr(6) + text_of(*responses))});
  }
  // What was answered first is kept by nobody but the caller.
  return input_required(request, second,
                        state.make(request, is_second ? **memory : "step2 " + text_of(*responses)));
}

void add_asking_tools(Tools& tools, const RequestState& state) {
  const Question name = ask_name("user_name", "What is your name?");
  const Question confirm = ask_user("confirm", "Please confirm", "ok", "boolean");
  const Question roots = ask_roots("client_roots");
  const std::string prefix = "test_input_required_result_";
  add(tools, prefix + "elicitation", "Asks for a name.", asks({name}));
  add(tools, prefix + "sampling", "Asks the client's model.",
      asks({ask_model("capital_question", "What is the capital of France?")}));
  add(tools, prefix + "list_roots", "Asks for the client's roots.", asks({roots}));
  add(tools, prefix + "request_state", "Asks for a word, and remembers it.",
      asks_once(state, {confirm}));
  add(tools, prefix + "tampered_state", "Refuses a memory that is not its own.",
      asks_once(state, {confirm}));
  add(tools, prefix + "multiple_inputs", "Asks for three things at once.",
      asks_once(state, {name, ask_model("greeting", "Generate a greeting"), roots}));
  add(tools, prefix + "multi_round", "Asks twice.",
      [&state](const RpcRequest& request, const Json&) {
        return ask_in_two_rounds(state, request);
      });
  add(tools, prefix + "capabilities", "Asks what the client can answer.",
      [questions = std::vector{name, ask_model("capital_question", "What is the capital?")}](
          const RpcRequest& request, const Json&) {
        return input_required(request, answerable(request, questions));
      });
  add(tools, "test_streaming_elicitation", "Asks in its answer, not in a stream.", asks({name}));
  add(tools, "test_missing_capability", "Needs a client with a model.",
      asks({ask_model("word", "Say a word")}));
}

class OneToolset final : public Toolsets {
 public:
  explicit OneToolset(const RequestState& state) {
    Tools tools;
    add_content_tools(tools);
    add_schema_tools(tools);
    add_asking_tools(tools, state);
    toolset_ = std::make_shared<Toolset>(std::move(tools), "gen_suite", std::string(32, 'k'));
  }
  std::shared_ptr<const Toolset> toolset() override { return toolset_; }

 private:
  std::shared_ptr<const Toolset> toolset_;
};

RpcError unknown_cursor() { return {RpcCode::invalid_params, "There is one page only."}; }

RpcResult listed(const char* member, const std::vector<Json>& entries) {
  RpcResult result = members_of({{member, entries}});
  result.ttl_ms = 60'000;
  return result;
}

class SuiteResources final : public Resources {
 public:
  Answer list(const RpcRequest&, const std::string* cursor) const override {
    if (cursor != nullptr) return unknown_cursor();
    return listed("resources", {entry("uri", "test://static-text", "text/plain"),
                                entry("uri", "test://static-binary", "image/png"),
                                entry("uri", "test://watched-resource", "text/plain")});
  }
  Answer templates(const RpcRequest&, const std::string* cursor) const override {
    if (cursor != nullptr) return unknown_cursor();
    return listed("resourceTemplates",
                  {entry("uriTemplate", "test://template/{id}/data", "application/json")});
  }
  Answer read(const RpcRequest&, const std::string& uri) const override {
    if (uri == "test://static-binary") return contents(uri, "image/png", "blob", png);
    if (uri == "test://static-text" || uri == "test://watched-resource") {
      return contents(uri, "text/plain", "text",
                      "This is the content of the static text resource.");
    }
    constexpr std::string_view begin = "test://template/";
    constexpr std::string_view end = "/data";
    if (uri.starts_with(begin) && uri.ends_with(end) && uri.size() > begin.size() + end.size()) {
      const std::string id = uri.substr(begin.size(), uri.size() - begin.size() - end.size());
      return contents(uri, "application/json", "text",
                      text_of({{"id", id}, {"templateTest", true}, {"data", "Data for " + id}}));
    }
    return RpcError{RpcCode::invalid_params, "There is no such resource.", 200, {{"uri", uri}}};
  }

 private:
  static Json entry(const char* key, const char* uri, const char* type) {
    return {{key, uri}, {"name", uri}, {"description", "Of the suite."}, {"mimeType", type}};
  }
  static RpcResult contents(const std::string& uri, const char* type, const char* kind,
                            std::string_view data) {
    return listed("contents", {Json{{"uri", uri}, {"mimeType", type}, {kind, data}}});
  }
};

class SuitePrompts final : public Prompts {
 public:
  Answer list(const RpcRequest&, const std::string* cursor) const override {
    if (cursor != nullptr) return unknown_cursor();
    return listed(
        "prompts",
        {entry("test_simple_prompt", {}), entry("test_prompt_with_arguments", {"arg1", "arg2"}),
         entry("test_prompt_with_embedded_resource", {"resourceUri"}),
         entry("test_prompt_with_image", {}), entry("test_input_required_result_prompt", {})});
  }
  Answer get(const RpcRequest& request, const std::string& name,
             const Json& arguments) const override {
    const auto argument = [&](const char* key) {
      const std::string* const value = find_text(arguments, key);
      return value == nullptr ? std::string() : *value;
    };
    if (name == "test_simple_prompt") {
      return messages({text_block("This is a simple prompt for testing.")});
    }
    if (name == "test_prompt_with_arguments") {
      return messages({text_block("Prompt with arguments: arg1='" + argument("arg1") + "', arg2='" +
                                  argument("arg2") + "'")});
    }
    if (name == "test_prompt_with_embedded_resource") {
      return messages({resource_block(argument("resourceUri"), "text/plain",
                                      "Embedded resource content for testing."),
                       text_block("Please process the embedded resource above.")});
    }
    if (name == "test_prompt_with_image") {
      return messages({image_block(), text_block("Please analyze the image above.")});
    }
    if (name == "test_input_required_result_prompt") return get_asking(request);
    return RpcError{RpcCode::invalid_params, "There is no prompt " + name + "."};
  }

 private:
  static Json entry(const char* name, const std::vector<const char*>& arguments) {
    Json listed_arguments = Json::array();
    for (const char* const each : arguments) {
      listed_arguments.push_back({{"name", each}, {"required", true}});
    }
    return {{"name", name},
            {"description", "Of the suite."},
            {"arguments", std::move(listed_arguments)}};
  }
  static RpcResult messages(const std::vector<Json>& blocks) {
    Json all = Json::array();
    for (const Json& block : blocks) all.push_back({{"role", "user"}, {"content", block}});
    return members_of({{"messages", std::move(all)}});
  }
  static Answer get_asking(const RpcRequest& request) {
    const std::vector<Question> questions = {
        ask_user("user_context", "What context should the prompt use?", "context", "string")};
    auto responses = responses_to(request, questions);
    if (!responses.ok()) return std::move(responses).error();
    if (!responses->is_object()) return input_required(request, questions);
    return messages({text_block("Use this context: " + text_of(*responses))});
  }
};

// Methods of the suite that this build answers without doing anything.
std::vector<ExtraMethod> extra_methods() {
  const auto nothing = [](const RpcRequest&) -> Answer { return RpcResult{}; };
  const auto no_completion = [](const RpcRequest&) -> Answer {
    return members_of({{"completion", {{"values", Json::array()}, {"hasMore", false}}}});
  };
  return {{"logging/setLevel", true, nothing},
          {"resources/subscribe", true, nothing},
          {"resources/unsubscribe", true, nothing},
          {"completion/complete", false, no_completion}};
}

}  // namespace

struct SuiteFeatures::Parts {
  explicit Parts(const RequestState& state) : toolsets(state) {}
  OneToolset toolsets;
  SuiteResources resources;
  SuitePrompts prompts;
};

SuiteFeatures::SuiteFeatures(const RequestState& state)
    : parts_(std::make_unique<Parts>(state)),
      features_(std::make_unique<Features>(Features{
          parts_->toolsets, &parts_->resources, &parts_->prompts, extra_methods(),
          R"({"tools":{},"resources":{},"prompts":{},"completions":{}})",
          R"({"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}})"})) {
}

SuiteFeatures::~SuiteFeatures() = default;

}  // namespace turnpike::tests
