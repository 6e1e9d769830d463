// The rows of the console. Each handler checks that the visitor is signed in. A form does the work
// of a route below /internal/v1, by that route's function and under its authority.
#include <utility>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "hosts/operator/console.h"

namespace turnpike::hosts::operators {
namespace {

using identity::Authority;
using nlohmann::json;
using FormAnswer = Result<std::string, base::Error>;

constexpr std::string_view kept_by_nobody = "no-store";

#define TEXT_QUERY(query_name, text) \
  { .name = query_name, .description = text, .schema = R"({"type": "string"})" }
constexpr Parameter login_query[] = {TEXT_QUERY("return_to", "Where the sign-in leads back.")};
constexpr Parameter ledger_query[] = {
    TEXT_QUERY("before", "The time of the last correction of the page before."),
    TEXT_QUERY("before_id", "And its id."), TEXT_QUERY("account", "Of the form: the account."),
    TEXT_QUERY("message", "Of the form: the call.")};
constexpr Parameter difference_query[] = {TEXT_QUERY("before", "A generation."),
                                          TEXT_QUERY("after", "Another one.")};
constexpr Parameter accounts_query[] = {
    TEXT_QUERY("q", "A part of the name, an id, an owner, or the prefix of a key."),
    TEXT_QUERY("status", "Of the accounts."),
    TEXT_QUERY("before", "When the last account of the page before was made."),
    TEXT_QUERY("before_id", "And its id.")};
#undef TEXT_QUERY

constexpr RouteFacts page(std::string_view path, std::string_view endpoint,
                          std::span<const Parameter> query = {}) {
  return {.method = "GET",
          .path = path,
          .endpoint = endpoint,
          .query = query,
          .answers_head = true,
          .cache_control = kept_by_nobody,
          .page_policy = page_policy,
          .refusal_form = as_page};
}

constexpr RouteFacts form(std::string_view path, std::string_view endpoint) {
  return {.method = "POST",
          .path = path,
          .endpoint = endpoint,
          .body = BodyForm::form,
          .body_bytes_max = base::limits::operator_body_bytes_max,
          .cache_control = kept_by_nobody,
          .page_policy = page_policy,
          .refusal_form = as_page};
}

constexpr ConsolePage overview_page{"Overview", "/console", "console/overview.html",
                                    fill_overview};
constexpr ConsolePage providers_page{"Providers", "/console/providers", "console/providers.html",
                                     fill_providers};
constexpr ConsolePage revenue_page{"Revenue", "/console/revenue", "console/revenue.html",
                                   fill_revenue};
constexpr ConsolePage errors_page{"Errors", "/console/errors", "console/errors.html", fill_errors};
constexpr ConsolePage ledger_page{"Ledger", "/console/ledger", "console/ledger.html", fill_ledger};
constexpr ConsolePage generations_page{"Generations", "/console/generations",
                                       "console/generations.html", fill_generations};
constexpr ConsolePage difference_page{"Difference of two generations", "/console/generations",
                                      "console/difference.html", fill_difference};
constexpr ConsolePage sweeps_page{"Sweeps", "/console/sweeps", "console/sweeps.html", fill_sweeps};
constexpr ConsolePage accounts_page{"Accounts", "/console/accounts", "console/accounts.html",
                                    fill_accounts};
constexpr ConsolePage account_page{"Account", "/console/accounts", "console/account.html",
                                   fill_account};

template <const ConsolePage& shown>
void show(const Console& console, Turn& turn, const Asked& asked) {
  console.show(shown, turn, asked);
}

std::string field(const Asked& asked, std::string_view name) {
  return asked.form.find(name).value_or("");
}

// Converts "2027-01-31T18:00", as browsers send it, into a time in UTC, which the form names as its
// time zone.
std::string time_of(const std::string& text) {
  constexpr std::size_t to_the_minute = 16;
  return text.size() == to_the_minute ? text + ":00Z" : text;
}

// Returns the request as the API route would receive it.
Asked with_body(const Asked& asked, std::string id, const std::string& body) {
  Asked said = asked;
  if (!id.empty()) said.parameters[0] = std::move(id);
  said.body = body;
  return said;
}

using Word = StatusRoute::Document (StatusRoute::*)(Turn&, const Asked&) const;
template <Word word>
FormAnswer say(const Console& console, Turn& turn, const Asked& asked, const json& body) {
  const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return (console.shared().status_route.*word)(turn, with_body(asked, "", text));
}

FormAnswer open_incident(const Console& console, Turn& turn, const Asked& asked) {
  return say<&StatusRoute::open_incident>(console, turn, asked,
                                          {{"scope", field(asked, "scope")},
                                           {"severity", field(asked, "severity")},
                                           {"note", field(asked, "note")}});
}
FormAnswer add_note(const Console& console, Turn& turn, const Asked& asked) {
  return say<&StatusRoute::add_note>(console, turn, asked, {{"note", field(asked, "note")}});
}
FormAnswer resolve_incident(const Console& console, Turn& turn, const Asked& asked) {
  return say<&StatusRoute::resolve_incident>(console, turn, asked,
                                             {{"note", field(asked, "note")}});
}
FormAnswer announce(const Console& console, Turn& turn, const Asked& asked) {
  return say<&StatusRoute::announce>(console, turn, asked,
                                     {{"scope", field(asked, "scope")},
                                      {"starts_at", time_of(field(asked, "starts_at"))},
                                      {"ends_at", time_of(field(asked, "ends_at"))},
                                      {"note", field(asked, "note")}});
}
FormAnswer cancel_maintenance(const Console& console, Turn& turn, const Asked& asked) {
  return say<&StatusRoute::cancel_maintenance>(console, turn, asked, json::object());
}

FormAnswer correct(const Console& console, Turn&, const Asked& asked) {
  const std::string key = field(asked, "form_key");
  if (!is_idempotency_key(key)) {
    return base::Error{base::ErrorCode::request_malformed,
                       "The form lacks its key: load the page again."};
  }
  json body = {{"reason", field(asked, "reason")},
               {"kind", field(asked, "kind")},
               {"credits", field(asked, "credits")}};
  if (const std::string reference = field(asked, "reference"); !reference.empty()) {
    body["reference"] = reference;
  }
  const std::string text = body.dump(-1, ' ', false, json::error_handler_t::replace);
  Asked said = with_body(asked, field(asked, "account"), text);
  said.parameters[1] = field(asked, "message");
  return console.shared().correction_route.answer(said, "console-" + key);
}

template <Authority authority, Console::Act act, const ConsolePage& back>
void take(const Console& console, Turn& turn, const Asked& asked) {
  console.take_form(authority, act, back.place, turn, asked);
}
template <Console::Act act>
constexpr auto annotate = take<Authority::status_annotate, act, providers_page>;

constexpr Route<Console> rows[] = {
    {.facts = page("/", "console_home"),
     .answer =
         [](const Console&, Turn& turn, const Asked&) {
           ReplyFields none;
           turn.redirect(Location::read(console_path).value(), none);
         }},
    {.facts = page("/console/login", "console_login", login_query),
     .answer = [](const Console& console, Turn& turn,
                  const Asked& asked) { console.show_login(turn, asked); }},
    {.facts = form("/console/login", "console_sign_in"),
     .answer = [](const Console& console, Turn& turn,
                  const Asked& asked) { console.sign_in(turn, asked); }},
    {.facts = form("/console/sign-out", "console_sign_out"),
     .answer = [](const Console& console, Turn& turn,
                  const Asked& asked) { console.sign_out(turn, asked); }},
    {.facts = page("/console", "console_overview"), .answer = show<overview_page>},
    {.facts = page("/console/providers", "console_providers"), .answer = show<providers_page>},
    {.facts = page("/console/revenue", "console_revenue"), .answer = show<revenue_page>},
    {.facts = page("/console/errors", "console_errors"), .answer = show<errors_page>},
    {.facts = page("/console/ledger", "console_ledger", ledger_query), .answer = show<ledger_page>},
    {.facts = page("/console/generations", "console_generations"),
     .answer = show<generations_page>},
    {.facts = page("/console/generations/difference", "console_difference", difference_query),
     .answer = show<difference_page>},
    {.facts = page("/console/sweeps", "console_sweeps"), .answer = show<sweeps_page>},
    {.facts = page("/console/accounts", "console_accounts", accounts_query),
     .answer = show<accounts_page>},
    {.facts = page("/console/accounts/{account_id}", "console_account"),
     .answer = show<account_page>},
    {.facts = form("/console/incidents", "console_incident_open"),
     .answer = annotate<open_incident>},
    {.facts = form("/console/incidents/{incident_id}/notes", "console_incident_note"),
     .answer = annotate<add_note>},
    {.facts = form("/console/incidents/{incident_id}/resolve", "console_incident_resolve"),
     .answer = annotate<resolve_incident>},
    {.facts = form("/console/maintenance", "console_maintenance"), .answer = annotate<announce>},
    {.facts = form("/console/maintenance/{maintenance_id}/cancel", "console_maintenance_cancel"),
     .answer = annotate<cancel_maintenance>},
    {.facts = form("/console/corrections", "console_correction"),
     .answer = take<Authority::usage_correct, correct, ledger_page>},
    {.facts = page("/console/{rest...}", "console_nothing"),
     .answer =
         [](const Console&, Turn& turn, const Asked&) {
           turn.refuse({base::ErrorCode::request_not_found, "The console has no such page."});
         }},
};

}  // namespace

std::span<const Route<Console>> console_routes() noexcept { return rows; }

}  // namespace turnpike::hosts::operators
