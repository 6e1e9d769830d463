#include "site/live_parts.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "site/markdown.h"
#include "site/terms_text.h"
#include "text/json_text.h"

namespace turnpike::site {

namespace {

using Made = Result<std::string, WritersMistake>;
using nlohmann::json;

constexpr std::string_view nothing_installed = "No operation is installed yet.";

const registry::Program* program_of(const LiveContext& context) noexcept {
  return context.facts.view == nullptr ? nullptr : &context.facts.view->program();
}

Result<LiveOptions, WritersMistake> options_of(std::string_view word, std::string_view text,
                                            std::initializer_list<std::string_view> known) {
  LiveOptions options;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    if (equals == one.npos || equals + 1 == one.size()) {
      return WritersMistake{"`" + std::string(one) + "` is no option: they are written name=value"};
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string names;
      for (const std::string_view each : known) {
        names += (names.empty() ? "" : ", ") + std::string(each);
      }
      return WritersMistake{"the part `" + std::string(word) + "` has no option `" +
                            std::string(name) + "`; " +
                            (names.empty() ? "it has none" : "it has " + names)};
    }
    options[std::string(name)] = std::string(one.substr(equals + 1));
  }
  return options;
}

// ---- which operations

struct Choice {
  const registry::Provider* provider = nullptr;  // null: all
  std::string problem = {};                      // shown instead of the part
};

Result<Choice, WritersMistake> choice_of(const LiveOptions& options, const LiveContext& context) {
  Choice choice;
  const auto asked = options.find("provider");
  if (asked == options.end()) return choice;
  const registry::Program* const program = program_of(context);
  if (asked->second == "this") {
    if (!context.is_of_provider) {
      return WritersMistake{"`provider=this` is for pages/products/_provider.md alone"};
    }
    choice.provider = context.provider;
    return choice;
  }
  if (program == nullptr) return choice;
  for (const registry::Provider& provider : program->providers()) {
    if (provider.key == asked->second) choice.provider = &provider;
  }
  if (choice.provider == nullptr) {
    choice.problem = "There is no provider " + code_text(asked->second) + " here.";
  }
  return choice;
}

// Ordered by the paths of their routes.
std::vector<const registry::Operation*> operations_of(const registry::Program& program,
                                                      const Choice& choice) {
  std::vector<const registry::Operation*> operations;
  for (const registry::Operation& operation : program.operations()) {
    const registry::Route& route = program.routes()[operation.route];
    if (choice.provider != nullptr &&
        &program.providers()[route.provider] != choice.provider) {
      continue;
    }
    operations.push_back(&operation);
  }
  std::stable_sort(operations.begin(), operations.end(), [&](const auto* left, const auto* right) {
    return program.routes()[left->route].matcher.pattern <
           program.routes()[right->route].matcher.pattern;
  });
  return operations;
}

std::string name_of_operation(const registry::Program& program,
                              const registry::Operation& operation) {
  return code_text(std::string(name_of(operation.method)) + " " +
                 program.routes()[operation.route].matcher.pattern);
}

std::string free_variant_text(const registry::Program& program, const registry::Route& route,
                              const LiveContext& context) {
  if (!route.free_policy || !context.facts.view->features().free_lane) return "no";
  return free_text(program.free_policies()[*route.free_policy]);
}

// ---- the parts

Made prices(std::string_view text, const LiveContext& context) {
  const auto options = options_of("prices", text, {"provider", "operation"});
  if (!options.ok()) return options.error();
  const auto choice = choice_of(*options, context);
  if (!choice.ok()) return choice.error();
  const registry::Program* const program = program_of(context);
  if (!choice->problem.empty()) return choice->problem;
  if (program == nullptr) return std::string(nothing_installed);
  const auto asked = options->find("operation");
  const bool has_per_call = context.facts.view->features().per_call;
  std::string table = "| Operation | What it does | Credits |";
  table += has_per_call ? " Without an account |" : "";
  table += " Free variant |\n|---|---|---:|";
  table += has_per_call ? "---:|---|\n" : "---|\n";
  bool is_empty = true;
  for (const registry::Operation* const operation : operations_of(*program, *choice)) {
    const registry::Route& route = program->routes()[operation->route];
    if (asked != options->end() && route.id != asked->second) continue;
    is_empty = false;
    const std::string credits =
        operation->price ? grouped(program->prices()[*operation->price].credit_cost)
                         : "no price";
    table += "| " + name_of_operation(*program, *operation) + " | " +
             escaped_markdown(operation->summary) + " | " + credits + " | ";
    if (has_per_call) {
      const std::string per_call = per_call_text(*operation, context);
      table += (per_call.empty() ? "no" : per_call) + " | ";
    }
    table += free_variant_text(*program, route, context) + " |\n";
  }
  if (is_empty) return std::string("There is no such operation here.");
  return table;
}

Made routes(std::string_view text, const LiveContext& context) {
  const auto options = options_of("routes", text, {"provider"});
  if (!options.ok()) return options.error();
  const auto choice = choice_of(*options, context);
  if (!choice.ok()) return choice.error();
  const registry::Program* const program = program_of(context);
  if (!choice->problem.empty()) return choice->problem;
  if (program == nullptr) return std::string(nothing_installed);
  std::string table = "| Route | What it does | Capability |\n|---|---|---|\n";
  for (const registry::Operation* const operation : operations_of(*program, *choice)) {
    table += "| " + name_of_operation(*program, *operation) + " | " +
             escaped_markdown(operation->summary) + " | " +
             code_text(program->routes()[operation->route].id) + " |\n";
  }
  return table;
}

Made request_limits(const LiveSettings& settings) {
  using namespace base::limits;
  const auto row = [](std::string_view what, const std::string& bound) {
    return "| " + std::string(what) + " | " + bound + " |\n";
  };
  return "| What | Bound |\n|---|---|\n" +
         row("Path of a request", bytes_text(request_path_bytes_max)) +
         row("Query of a request", bytes_text(request_query_bytes_max) + ", a route may say less") +
         row("Header fields of a request", std::to_string(request_header_fields_max) + " of " +
                                               bytes_text(request_header_bytes_max) + " in all") +
         row("Body of a request", bytes_text(request_body_bytes_max) +
                                      ", a route may say less, or up to " +
                                      bytes_text(long_body_bytes_max)) +
         row("JSON-RPC message", bytes_text(mcp_message_bytes_max) + ", with a credential up to " +
                                     bytes_text(long_body_bytes_max)) +
         row("Reply", bytes_text(response_bytes_max) + ", a route may say less") +
         row("Reply within an MCP result", bytes_text(settings.mcp_reply_bytes_max)) +
         row("What the provider may take",
             duration_text(upstream_deadline_ms / 1000) + ", a route may say otherwise") +
         row("Calls of one account at a time", grouped(settings.calls_per_account_max)) +
         row("Idempotency key", std::to_string(idempotency_key_bytes_max) + " characters") +
         row("How long a reply is kept under its key", duration_text(replay_kept_ms / 1000));
}

Made free_limits(const LiveContext& context) {
  const registry::Program* const program = program_of(context);
  if (program == nullptr) return std::string(nothing_installed);
  if (!context.facts.view->features().free_lane || program->free_policies().empty()) {
    return std::string("No operation has a free variant.");
  }
  std::string table = "| Policy | Limits of each account |\n|---|---|\n";
  for (const registry::FreePolicy& policy : program->free_policies()) {
    table += "| " + code_text(policy.policy_key) + " | " + free_text(policy) + " |\n";
  }
  return table;
}

Made limits(std::string_view text, const LiveContext& context) {
  const auto options = options_of("limits", text, {"of"});
  if (!options.ok()) return options.error();
  const auto of = options->find("of");
  if (of == options->end()) {
    const Made free = free_limits(context);
    return *request_limits(context.settings) + "\n" + *free;
  }
  if (of->second == "requests") return request_limits(context.settings);
  if (of->second == "free") return free_limits(context);
  return WritersMistake{"`of=" + of->second + "` is neither of=requests nor of=free"};
}

std::string_view fault_text(Fault fault) noexcept {
  switch (fault) {
    case Fault::caller:
      return "the caller's";
    case Fault::provider:
      return "the provider's";
    case Fault::gateway:
      break;
  }
  return "the gateway's";
}

std::string_view advice_text(Advice advice) noexcept {
  switch (advice) {
    case Advice::never:
      return "do not repeat it";
    case Advice::after_delay:
      return "repeat it after a while, as Retry-After says";
    case Advice::same_request:
      return "repeat it as it is";
    case Advice::after_top_up:
      return "get Credits, then repeat it";
    case Advice::new_payment:
      return "repeat it with a new payment";
    case Advice::restart_paging:
      return "begin the list anew";
    case Advice::after_change:
      break;
  }
  return "change what the message names, then repeat it";
}

Made errors(std::string_view text, const LiveContext& context) {
  const auto options = options_of("errors", text, {"area"});
  if (!options.ok()) return options.error();
  const auto area = options->find("area");
  std::string table = "| Code | HTTP | Whose fault | What to do |\n|---|---:|---|---|\n";
  bool is_empty = true;
  for (const base::ErrorInfo& info : base::all_errors()) {
    const std::string_view of = info.name.substr(0, info.name.find('.'));
    if (area != options->end() && of != area->second) continue;
    is_empty = false;
    table += "| " + code_text(info.name) + " | " +
             std::to_string(context.settings.http_status(info.code)) + " | " +
             std::string(fault_text(info.fault)) + " | " + std::string(advice_text(info.advice)) +
             " |\n";
  }
  // A lane brings codes of its own, which are unknown in a check without its plugin.
  if (is_empty) return "No error code begins with " + code_text(area->second) + ".";
  return table;
}

Made payments(std::string_view text, const LiveContext& context) {
  const auto options = options_of("payments", text, {});
  if (!options.ok()) return options.error();
  std::string list = "- **Credits**: an API key of a billing account, as "
                     "`Authorization: Bearer`. Each call that succeeds takes its price.\n";
  if (context.facts.view == nullptr) return list;
  const catalog::Features& features = context.facts.view->features();
  if (features.free_lane) {
    list += "- **Free variants**: the same key, and `:free` behind the path, within the limits of "
            "the operation.\n";
  }
  if (features.per_call) {
    const registry::LaneTerms* const lane = program_of(context)->lane_terms();
    list += "- **" + escaped_markdown(lane->traits.name) +
            "**: no account; each call is paid for by itself. A call without a credential is "
            "answered with what it costs.\n";
  }
  return list;
}

Made products(std::string_view text, const LiveContext& context) {
  const auto options = options_of("products", text, {});
  if (!options.ok()) return options.error();
  const registry::Program* const program = program_of(context);
  if (program == nullptr) return std::string(nothing_installed);
  std::string list;
  for (const registry::Provider& provider : program->providers()) {
    const std::size_t count = operations_of(*program, {.provider = &provider}).size();
    list += "- [" + escaped_markdown(provider.name) + "](/products/" + provider.key + "): " +
            text::counted(static_cast<std::int64_t>(count), "operation") + "\n";
  }
  return list.empty() ? std::string(nothing_installed) : list;
}

Made blog(std::string_view text, const LiveContext& context) {
  const auto options = options_of("blog", text, {"count"});
  if (!options.ok()) return options.error();
  std::size_t count = context.site.authored().posts().size();
  if (const auto asked = options->find("count"); asked != options->end()) {
    const std::string& number = asked->second;
    std::size_t most = 0;
    const auto [end, problem] =
        std::from_chars(number.data(), number.data() + number.size(), most);
    if (problem != std::errc() || end != number.data() + number.size() || most == 0) {
      return WritersMistake{"`count=" + number + "` is no number above 0"};
    }
    count = std::min(count, most);
  }
  std::string list;
  for (std::size_t at = 0; at < count; ++at) {
    const AuthoredPage& post = *context.site.authored().posts()[at];
    list += "- " + post.updated + ": [" + escaped_markdown(post.title) + "](" + post.path + "). " +
            escaped_markdown(post.description) + "\n";
  }
  return list.empty() ? std::string("There are no posts yet.") : list;
}

Made brand(std::string_view text, const LiveContext& context) {
  const auto options = options_of("brand", text, {});
  if (!options.ok()) return options.error();
  const Brand& brand = context.site.brand();
  const auto row = [](std::string_view what, const std::string& value) {
    return "| " + std::string(what) + " | " +
           (value.empty() ? "not said yet" : escaped_markdown(value)) + " |\n";
  };
  return "| What | Who |\n|---|---|\n" + row("Name of the service", brand.name) +
         row("Who runs it", brand.legal_name) + row("How to reach them", brand.contact);
}

Made snippets(std::string_view text, const LiveContext& context);
Made status(std::string_view text, const LiveContext& context);

struct Part {
  std::string_view word;
  Made (*make)(std::string_view options, const LiveContext& context);
};
constexpr Part parts[] = {
    {"prices", prices},     {"routes", routes},     {"status", status}, {"snippet", snippets},
    {"limits", limits},     {"errors", errors},     {"payments", payments},
    {"products", products}, {"blog", blog},         {"brand", brand},
};

// ---- snippets

// Returns the operation in the options, or else the first that is ready, or else the first.
const registry::Operation* chosen_operation(const LiveOptions& options,
                                            const LiveContext& context) {
  const registry::Program& program = *program_of(context);
  const catalog::ReadinessSource& readiness = context.facts.view->readiness();
  if (const auto id = options.find("operation"); id != options.end()) {
    const registry::Route* const route = program.find_route(id->second);
    if (route != nullptr) return &program.operations()[route->operations.front()];
  }
  const Choice choice{.provider = context.provider};
  const auto operations = operations_of(program, choice);
  for (const registry::Operation* const operation : operations) {
    const registry::Route& route = program.routes()[operation->route];
    if (catalog::operation_readiness(route, operation->index, readiness).ready) return operation;
  }
  return operations.empty() ? nullptr : operations.front();
}

Made snippets(std::string_view text, const LiveContext& context) {
  const auto options = options_of("snippet", text, {"in", "operation"});
  if (!options.ok()) return options.error();
  constexpr std::pair<std::string_view, std::string_view> languages[] = {
      {"curl", "curl"},
      {"javascript", "JavaScript"},
      {"python", "Python"},
      {"mcp", "MCP"},
      {"x402", "x402, without an account"}};
  const auto in = options->find("in");
  const bool is_known =
      in == options->end() || std::any_of(std::begin(languages), std::end(languages),
                                          [&](const auto& one) { return one.first == in->second; });
  if (!is_known) {
    return WritersMistake{"`in=" + in->second +
                          "` is none of curl, javascript, python, mcp, x402"};
  }
  if (program_of(context) == nullptr) return std::string(nothing_installed);
  const registry::Operation* const operation = chosen_operation(*options, context);
  if (operation == nullptr) return std::string(nothing_installed);
  if (in != options->end()) return snippet(in->second, *operation, context);
  std::string all;
  for (const auto& [word, heading] : languages) {
    all += "### " + std::string(heading) + "\n\n" + snippet(word, *operation, context) + "\n";
  }
  return all;
}

// ---- status

std::string member_text(const json& object, const char* name) {
  return text::text_member(object, name).value_or("");
}

// "major_outage" becomes "major outage".
std::string level_text(std::string level) {
  std::replace(level.begin(), level.end(), '_', ' ');
  return level.empty() ? "unknown" : level;
}

std::string day_of(const json& object, const char* name) {
  const std::string time = member_text(object, name);
  return time.empty() ? "never" : time.substr(0, 10);
}

std::string minute_of(const json& object, const char* name) {
  const std::string time = member_text(object, name);
  if (time.size() < 16) return "never";
  return time.substr(0, 10) + " " + time.substr(11, 5);
}

std::string history_text(const json& document) {
  const json history = document.value("health_history", json::object());
  const json days = history.value("segments", json::array());
  if (days.empty()) return "No day has been observed yet.\n";
  std::string table =
      "| Day (UTC) | State | Looks | Good | Bad | Unknown |\n|---|---|---:|---:|---:|---:|\n";
  for (auto day = days.rbegin(); day != days.rend(); ++day) {
    const auto figure = [&](const char* name) {
      return grouped(day->value(name, std::int64_t{0}));
    };
    table += "| " + day_of(*day, "started_at") + " | " + level_text(member_text(*day, "status")) +
             " | " + figure("active_expected_targets") + " | " + figure("active_passed_targets") +
             " | " + figure("active_failed_targets") + " | " + figure("active_unknown_targets") +
             " |\n";
  }
  return table;
}

std::string incidents_text(const json& document) {
  const json incidents = document.value("incidents", json::array());
  if (incidents.empty()) return "No incident is open, and none ended in the last 24 hours.\n";
  std::string table = "| Incident | Of | State | Began (UTC) |\n|---|---|---|---|\n";
  for (const json& incident : incidents) {
    table += "| " + code_text(member_text(incident, "incident_id")) + " | " +
             code_text(member_text(incident, "scope")) + " | " +
             level_text(member_text(incident, "state")) + " | " +
             minute_of(incident, "started_at") + " |\n";
  }
  return table;
}

Made status(std::string_view text, const LiveContext& context) {
  const auto options = options_of("status", text, {"provider"});
  if (!options.ok()) return options.error();
  const auto choice = choice_of(*options, context);
  if (!choice.ok()) return choice.error();
  if (!choice->problem.empty()) return choice->problem;
  const status::Board* const board = context.facts.board.get();
  const bool is_of_one = choice->provider != nullptr;
  const status::BoardDocument* document =
      board == nullptr ? nullptr
                       : is_of_one ? board->provider(choice->provider->key) : &board->gateway();
  if (document == nullptr) return std::string("Nothing has been observed yet.");
  const json facts = text::parse_json(document->at(context.facts.now_ms));
  const std::string whose =
      is_of_one ? escaped_markdown(choice->provider->name) : std::string("The gateway");
  std::string out = whose + " is **" + level_text(member_text(facts, "status")) +
                    "**, last seen " + minute_of(facts, "observed_at") + " UTC.\n";
  if (!is_of_one) {
    out += "\n| Provider | State | Evidence | Last seen (UTC) |\n|---|---|---|---|\n";
    for (const json& one : facts.value("providers", json::array())) {
      out += "| " + escaped_markdown(member_text(one, "provider_name")) + " | " +
             level_text(member_text(one, "status")) + " | " +
             level_text(member_text(one, "evidence_status")) + " | " +
             minute_of(one, "observed_at") + " |\n";
    }
  }
  return out + "\n" + incidents_text(facts) + "\n" + history_text(facts);
}

}  // namespace

Result<std::string, WritersMistake> live_part(std::string_view word, std::string_view options,
                                           const LiveContext& context) {
  for (const Part& part : parts) {
    if (part.word == word) return part.make(options, context);
  }
  std::string words;
  for (const Part& part : parts) words += (words.empty() ? "" : ", ") + std::string(part.word);
  return WritersMistake{"there is no live part `" + std::string(word) + "`; there are " + words};
}

std::string listing_of(std::string_view language, std::string_view text) {
  std::size_t run = 0;
  std::size_t longest = 2;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + std::string(language) + "\n" + std::string(text) + "\n" + fence + "\n";
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024;
  if (bytes >= kib * kib && bytes % (kib * kib) == 0) {
    return std::to_string(bytes / (kib * kib)) + " MiB";
  }
  if (bytes >= kib && bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
  return std::to_string(bytes) + " bytes";
}

std::string per_call_text(const registry::Operation& operation, const LiveContext& context) {
  const registry::Program& program = *program_of(context);
  if (!context.facts.view->features().per_call || !program.is_sold_per_call(operation)) return {};
  const registry::Price& price = program.prices()[*operation.price];
  const json described = text::parse_json(price.terms->openapi);
  const json info = described.value("x-payment-info", json::object());
  const json amount = info.value("price", json::object());
  if (member_text(amount, "currency") == "USD") {
    return escaped_markdown("$" + member_text(amount, "amount"));
  }
  const json terms = text::parse_json(price.terms->billing).value("terms", json::array());
  if (terms.empty()) return "yes";
  const json& first = terms.front();
  return escaped_markdown(member_text(first, "atomic_amount")) + " of " +
         code_text(member_text(first, "asset")) + " on " + code_text(member_text(first, "network"));
}

}  // namespace turnpike::site
