#include "hosts/mcp/service_prompts.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/limits.h"
#include "hosts/mcp/docs.h"
#include "text/canonical_json.h"

namespace turnpike::hosts::mcp {

namespace {

constexpr std::uint32_t prompts_ttl_ms = 3'600'000;  // a release may change them

struct PromptArgument {
  const char* name;
  std::string_view description;
  bool is_required;
};

struct Prompt {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::span<const PromptArgument> arguments;
  std::string_view (*steps)() noexcept;
  std::string_view without;  // the steps without arguments; empty: an argument is required
};

constexpr PromptArgument find_route_arguments[] = {
    {"question", "What somebody wants to know, in their words.", true}};

constexpr PromptArgument estimate_cost_arguments[] = {
    {"plan", "The calls that are planned: what of, how often, for how long.", true}};

constexpr PromptArgument diagnose_arguments[] = {
    {"request_id", "request_id of the call's result, or X-Request-Id of its reply.", false},
    {"error", "The error as it came: its JSON, or its text.", false}};

constexpr std::array<Prompt, 3> prompts = {{
    {"find_route", "Find a route for a question",
     "Which routes answer a question, how they are called and what they cost.",
     find_route_arguments, find_route_prompt, ""},
    {"estimate_cost", "Estimate the cost of a plan",
     "What a plan of calls costs on each way to pay, before any of them is run.",
     estimate_cost_arguments, estimate_cost_prompt, ""},
    {"diagnose_failed_call", "Diagnose a failed call",
     "Why a call failed, whether it was charged and whether it may be repeated. Takes a request "
     "id, "
     "the error, or both.",
     diagnose_arguments, diagnose_failed_call_prompt,
     "I have neither its request_id nor its error at hand: ask me for them first."},
}};

std::string render_list() {
  using Ordered = nlohmann::ordered_json;
  Ordered list = Ordered::array();
  for (const Prompt& prompt : prompts) {
    Ordered arguments = Ordered::array();
    for (const PromptArgument& argument : prompt.arguments) {
      arguments.push_back({{"name", argument.name},
                           {"description", argument.description},
                           {"required", argument.is_required}});
    }
    list.push_back({{"name", prompt.name},
                    {"title", prompt.title},
                    {"description", prompt.description},
                    {"arguments", std::move(arguments)}});
  }
  return "\"prompts\":" + list.dump();
}

// Returns the problem of the arguments; empty: none.
std::string problem_of(const Prompt& prompt, const Json& arguments) {
  for (const auto& [name, value] : arguments.items()) {
    const bool is_known = std::any_of(prompt.arguments.begin(), prompt.arguments.end(),
                                      [&name = name](const auto& one) { return name == one.name; });
    if (!is_known) return "The prompt has no argument " + name + ".";
    if (value.is_null()) continue;  // treated as absent
    const auto* text = value.get_ptr<const std::string*>();
    if (text == nullptr) return "The argument " + name + " must be a string.";
    if (text->size() > base::limits::mcp_prompt_argument_bytes_max) {
      return "The argument " + name + " is longer than " +
             std::to_string(base::limits::mcp_prompt_argument_bytes_max) + " bytes.";
    }
  }
  for (const PromptArgument& argument : prompt.arguments) {
    const std::string* const text = find_text(arguments, argument.name);
    if (argument.is_required && (text == nullptr || text->empty())) {
      return std::string("The argument ") + argument.name + " is missing.";
    }
  }
  return {};
}

std::string render(const Prompt& prompt, const Json& arguments, ToolNames names) {
  std::string text = with_listed_names(std::string(prompt.steps()), names);
  bool has_any = false;
  for (const PromptArgument& argument : prompt.arguments) {
    const std::string* const value = find_text(arguments, argument.name);
    if (value == nullptr || value->empty()) continue;
    text.append("\n").append(argument.name).append(":\n").append(*value).append("\n");
    has_any = true;
  }
  if (!has_any) text.append("\n").append(prompt.without);
  std::string members = "\"description\":";
  text::append_canonical_string(members, prompt.description);
  members += R"(,"messages":[{"role":"user","content":{"type":"text","text":)";
  text::append_canonical_string(members, text);
  return members += "}}]";
}

}  // namespace

ServicePrompts::ServicePrompts(ToolNames names)
    : names_(names), list_(std::make_shared<const std::string>(render_list())) {}

Answer ServicePrompts::list(const RpcRequest&, const std::string* cursor) const {
  if (cursor != nullptr) {
    return invalid_params("The cursor is of another list; leave it out to begin.");
  }
  RpcResult result;
  result.kept = list_;
  result.ttl_ms = prompts_ttl_ms;
  return result;
}

Answer ServicePrompts::get(const RpcRequest&, const std::string& name,
                           const Json& arguments) const {
  const auto prompt = std::find_if(prompts.begin(), prompts.end(),
                                   [&](const Prompt& one) { return one.name == name; });
  if (prompt == prompts.end()) {
    return invalid_params("There is no such prompt; prompts/list names them.");
  }
  if (std::string problem = problem_of(*prompt, arguments); !problem.empty()) {
    return invalid_params(std::move(problem));
  }
  RpcResult result;
  result.members = render(*prompt, arguments, names_);
  return result;
}

}  // namespace turnpike::hosts::mcp
