#include "hosts/dashboard/playground.h"

#include <algorithm>
#include <map>
#include <variant>

#include "base/limits.h"
#include "catalog/readiness.h"
#include "hosts/form.h"
#include "registry/policy.h"
#include "site/live_parts.h"
#include "site/markdown.h"
#include "text/uri.h"
#include "text/words.h"

namespace turnpike::hosts::dashboard {

namespace {

using registry::Operation;
using registry::Program;

constexpr std::string_view playground_page = "/playground";
constexpr std::size_t form_names_max = 128;
// Further operations are on the pages of their providers.
constexpr std::size_t operations_shown_max = 500;

// A form field for one parameter.
struct FormField {
  std::string name;
  std::string_view in;  // "path", "query"
  std::string value = {};
  bool is_required = false;
  std::string hint = {};
  std::vector<std::string> choices = {};  // empty: any text
};

std::string form_key(const FormField& field) { return std::string(field.in) + "." + field.name; }

std::string bound_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

void describe_values(const registry::Constraint& constraint, FormField& field) {
  if (const auto* text = std::get_if<registry::StringConstraint>(&constraint)) {
    field.choices = text->allowed_values;
    if (text->max_bytes > 0) field.hint = "at most " + std::to_string(text->max_bytes) + " bytes";
  } else if (const auto* integer = std::get_if<registry::IntegerConstraint>(&constraint)) {
    for (const std::int64_t value : integer->allowed_values) {
      field.choices.push_back(std::to_string(value));
    }
    field.hint = std::to_string(integer->minimum) + " to " + std::to_string(integer->maximum);
  } else if (const auto* number = std::get_if<registry::NumberConstraint>(&constraint)) {
    field.hint = bound_text(number->minimum) + " to " + bound_text(number->maximum);
  } else if (const auto* list = std::get_if<registry::CommaListConstraint>(&constraint)) {
    for (const std::string& value : list->allowed_values) {
      field.hint += (field.hint.empty() ? "with commas between them: " : ", ") + value;
    }
  } else {
    field.choices = {"true", "false"};
  }
}

// Returns the values of the operation's sample, by the keys of their form fields.
std::map<std::string, std::string> sample_of(const Operation& operation) {
  std::map<std::string, std::string> values;
  const registry::Sample& sample = operation.monitoring->sample;
  for (const auto& [name, value] : sample.parameters) values["path." + name] = value;
  const auto query = read_form(sample.query, form_names_max);
  if (!query.ok()) return values;
  for (const auto& [name, value] : *query) values["query." + name] = value;
  return values;
}

// Returns the fields with the values that were sent, or with those of the sample when the form is
// first shown.
std::vector<FormField> fields_of(const Program& program, const Operation& operation,
                             const NamedValues& sent) {
  std::vector<FormField> fields;
  for (const registry::Segment& segment : program.routes()[operation.route].matcher.segments) {
    if (!segment.is_parameter) continue;
    FormField field{.name = segment.text, .in = "path", .is_required = true};
    if (segment.constraint != nullptr) describe_values(*segment.constraint, field);
    fields.push_back(std::move(field));
  }
  for (const registry::QueryParameter& parameter : operation.query->parameters) {
    FormField field{.name = parameter.name, .in = "query", .is_required = parameter.required};
    describe_values(parameter.constraint, field);
    fields.push_back(std::move(field));
  }
  const bool is_shown = sent.find("show").has_value();
  const auto sample = is_shown ? std::map<std::string, std::string>() : sample_of(operation);
  for (FormField& field : fields) {
    const auto found = sample.find(form_key(field));
    field.value = is_shown ? sent.find(form_key(field)).value_or("")
                           : (found == sample.end() ? "" : found->second);
  }
  return fields;
}

// The call that the filled-in fields describe.
struct FilledCall {
  std::string path;
  std::string query;
  std::vector<std::string> problems;  // sentences
};

FilledCall filled_call(const Program& program, const Operation& operation,
                       const std::vector<FormField>& fields, bool is_free) {
  FilledCall call;
  const registry::Route& route = program.routes()[operation.route];
  std::size_t next = 0;
  for (const registry::Segment& segment : route.matcher.segments) {
    call.path += '/';
    if (!segment.is_parameter) {
      text::append_percent_encoded(call.path, segment.text);
      continue;
    }
    const FormField& field = fields[next++];
    if (field.value.empty()) {
      call.problems.push_back(field.name + " is part of the path: give it a value.");
      call.path += "{" + field.name + "}";
    } else {
      text::append_percent_encoded(call.path, field.value);
      if (const auto problem = registry::check_segment(segment, field.value)) {
        call.problems.push_back(field.name + ": " + problem->problem + " " + problem->fix);
      }
    }
  }
  if (is_free) call.path += ":free";
  for (const FormField& field : fields) {
    if (field.in != "query" || field.value.empty()) continue;
    call.query += call.query.empty() ? "" : "&";
    text::append_percent_encoded(call.query, field.name);
    call.query += '=';
    text::append_percent_encoded(call.query, field.value);
  }
  if (operation.query->deny && call.query.empty()) return call;
  for (const auto& problem : registry::check_query(*operation.query, call.query)) {
    call.problems.push_back(problem.location + ": " + problem.problem + " " + problem.fix);
  }
  return call;
}

std::string title_of_operation(const Program& program, const Operation& operation) {
  const registry::Route& route = program.routes()[operation.route];
  const std::string& summary = operation.summary.empty() ? route.summary : operation.summary;
  const std::string name = std::string(name_of(operation.method)) + " " + route.matcher.pattern;
  return summary.empty() ? name : summary + " (" + name + ")";
}

std::string operation_value(const Program& program, const Operation& operation) {
  return program.routes()[operation.route].id + ":" + std::string(name_of(operation.method));
}

// Returns the offered operations, at most operations_shown_max.
std::vector<const Operation*> callable_operations(const catalog::View& view) {
  std::vector<const Operation*> found;
  for (const Operation& operation : view.program().operations()) {
    if (!catalog::is_offered(view.program(), operation)) continue;
    found.push_back(&operation);
    if (found.size() == operations_shown_max) break;
  }
  return found;
}

const Operation* find_operation(const Program& program, std::string_view value) {
  const std::size_t colon = value.find(':');
  if (colon == value.npos) return nullptr;
  const registry::Route* const route = program.find_route(value.substr(0, colon));
  if (route == nullptr) return nullptr;
  const std::string_view method = value.substr(colon + 1);
  for (const std::uint32_t at : route->operations) {
    const Operation& operation = program.operations()[at];
    if (name_of(operation.method) == method) return &operation;
  }
  return nullptr;
}

std::string cost_sentence(const Program& program, const Operation& operation, bool is_free) {
  if (is_free) return "This call costs nothing; it counts in your free windows.";
  if (!operation.price) return "This operation has no price yet, so it cannot be called.";
  const std::uint32_t cost = program.prices()[*operation.price].credit_cost;
  return "This call costs " + text::credits_text(cost) +
         " when the provider answers it with success, and nothing otherwise.";
}

void fill_fields(site::Slots slots, const std::vector<FormField>& fields) {
  for (const FormField& field : fields) {
    site::Slots row = slots.add("FIELD");
    row.set("KEY", form_key(field));
    row.set("NAME", field.name);
    row.set("IN", field.in);
    row.set("VALUE", field.value);
    row.set_if("HINT", field.hint);
    row.show_if(field.is_required, "IS_REQUIRED");
    row.show_if(field.choices.empty(), "IS_TEXT");
    if (field.choices.empty()) continue;
    site::Slots select = row.add("IS_CHOICE");
    select.show_if(!field.is_required, "MAY_BE_EMPTY");
    for (const std::string& choice : field.choices) {
      site::Slots option = select.add("CHOICE");
      option.set("CHOICE_VALUE", choice);
      option.show_if(choice == field.value, "IS_CHOSEN");
    }
  }
}

void fill_operations(site::Slots slots, const catalog::View& view, const Operation* chosen) {
  for (const Operation* const operation : callable_operations(view)) {
    site::Slots row = slots.add("OPERATION");
    row.set("VALUE", operation_value(view.program(), *operation));
    row.set("LABEL", title_of_operation(view.program(), *operation));
    row.show_if(operation == chosen, "IS_CHOSEN");
  }
}

// The facts of one operation that the page shows.
struct ShownOperation {
  const site::Site& site;
  const site::Facts& facts;
  const Operation& operation;
  const NamedValues& sent;
  const std::string& account_id;
};

// Null: the call has no body.
const registry::BodyPolicy* body_of(const ShownOperation& shown) {
  const registry::Route& route = shown.facts.view->program().routes()[shown.operation.route];
  const bool has_body = shown.operation.method == Method::post && !route.body->forbidden;
  return has_body ? route.body.get() : nullptr;
}

std::string body_text(const ShownOperation& shown) {
  if (body_of(shown) == nullptr) return {};
  const bool is_shown = shown.sent.find("show").has_value();
  return is_shown ? shown.sent.find("body").value_or("") : shown.operation.monitoring->sample.body;
}

std::string body_type(const ShownOperation& shown) {
  const registry::BodyPolicy* const body = body_of(shown);
  if (body == nullptr) return {};
  const std::string& own = shown.operation.monitoring->sample.content_type;
  if (!own.empty()) return own;
  return body->media_types.empty() ? "application/json" : body->media_types[0];
}

void fill_snippets(site::Slots slots, const ShownOperation& shown, const site::SnippetCall& call) {
  constexpr std::pair<std::string_view, std::string_view> languages[] = {
      {"curl", "curl"},
      {"javascript", "JavaScript"},
      {"python", "Python"},
      {"mcp", "MCP"},
      {"x402", "Without an account (x402)"}};
  const site::LiveSettings settings;
  for (const auto& [in, name] : languages) {
    site::Slots row = slots.add("SNIPPET");
    row.set("LANGUAGE", name);
    row.set("LISTING_HTML", site::html_of(site::snippet(in, call, shown.operation,
                                                        {shown.site, shown.facts, settings})));
  }
}

void fill_call(site::Slots slots, const ShownOperation& shown) {
  const Program& program = shown.facts.view->program();
  const registry::Route& route = program.routes()[shown.operation.route];
  const bool has_free = route.free_policy.has_value();
  const bool is_free = has_free && shown.sent.find("free").has_value();
  const std::vector<FormField> fields = fields_of(program, shown.operation, shown.sent);
  const FilledCall call = filled_call(program, shown.operation, fields, is_free);
  const std::string& summary =
      shown.operation.summary.empty() ? route.summary : shown.operation.summary;
  slots.set("TITLE_OF_CALL", summary.empty() ? route.matcher.pattern : summary);
  slots.set("OPERATION_VALUE", operation_value(program, shown.operation));
  slots.set("API", shown.facts.urls.api);
  slots.set("PATH", route.matcher.pattern);
  slots.set("METHOD", name_of(shown.operation.method));
  slots.set("CALLS", path_of(shown.account_id, "/calls"));
  slots.set("COST", cost_sentence(program, shown.operation, is_free));
  slots.show_if(has_free, "HAS_FREE");
  slots.show_if(is_free, "IS_FREE");
  fill_fields(slots, fields);
  if (body_of(shown) != nullptr) slots.add("BODY").set("TEXT", body_text(shown));
  slots.set("CONTENT_TYPE", body_type(shown));
  fill_snippets(slots, shown, {std::string(name_of(shown.operation.method)), call.path, call.query,
                               body_text(shown), body_type(shown)});
  for (const std::string& problem : call.problems) slots.add("PROBLEM").set("TEXT", problem);
  slots.show_if(!call.problems.empty(), "HAS_PROBLEMS");
}

// The page's own script calls the API host.
std::string policy_with(std::string_view api_url) {
  std::string policy(page_policy);
  constexpr std::string_view own = "connect-src 'self'";
  const std::size_t at = policy.find(own);
  return policy.insert(at + own.size(), " " + std::string(api_url));
}

}  // namespace

void show_playground(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const auto sent = read_form(turn.request.query(), form_names_max);
  if (!sent.ok()) return refuse_on(rooms, turn, *page, sent.error(), playground_page);
  const auto site = rooms.pages.site();
  const site::Facts facts = rooms.pages.facts();
  const Operation* const operation =
      facts.view == nullptr
          ? nullptr
          : find_operation(facts.view->program(), sent->find("operation").value_or(""));
  site::Frame frame = frame_of_account(rooms, *page, "Playground", playground_page);
  frame.scripts = {"playground.js"};
  const std::string html =
      rooms.pages.page(frame, "dashboard/playground.html", [&](site::Slots slots) {
        slots.set("HERE", path_of(page->account_id(), playground_page));
        slots.show_if(facts.view == nullptr, "HAS_NO_PROGRAM");
        if (facts.view == nullptr) return;
        fill_operations(slots, *facts.view, operation);
        if (operation == nullptr) return slots.show("CHOOSES");
        fill_call(slots.add("CALL"), {*site, facts, *operation, *sent, page->account_id()});
      });
  const std::string policy = policy_with(facts.urls.api);
  ReplyFields more;
  more.add(policy_field, policy);
  turn.reply({.content_type = page_type, .body = html}, more);
}

}  // namespace turnpike::hosts::dashboard
