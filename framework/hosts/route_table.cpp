#include "hosts/route_table.h"

#include <stdexcept>
#include <utility>

#include "hosts/account_reads.h"
#include "hosts/form.h"
#include "hosts/query.h"
#include "identity/members.h"
#include "registry/program.h"
#include "text/http_field.h"

namespace turnpike::hosts {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view of_nothing = "GET, HEAD, OPTIONS";
constexpr std::string_view whole_rest = "...}";
constexpr std::string_view of_programs = "/v1/";
constexpr std::string_view account_segment = "{billing_account_id}";  // the first one of its path

Error key_refusal() {
  return {ErrorCode::request_malformed,
          "This request needs an Idempotency-Key.",
          0,
          {{"header.idempotency-key", "it is missing, comes twice or is not in its form",
            "Send it once, with 1 to 255 visible ASCII characters."}}};
}

Error media_type_refusal(BodyForm form) {
  const std::string_view shape = form == BodyForm::form ? "a form" : "JSON";
  return {ErrorCode::request_media_type_rejected,
          "The body of this request is " + std::string(shape) + ".",
          0,
          {{"header.content-type", "it is missing, comes twice or is another one",
            "Send Content-Type: " + std::string(media_type_of(form)) + "."}}};
}

bool is_safe(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD" || method == "OPTIONS";
}

Error coding_refusal() {
  return {ErrorCode::request_content_coding_rejected,
          "The body of this request is sent as it is.",
          0,
          {{"header.content-encoding", "the body is compressed or otherwise coded",
            "Send it without Content-Encoding."}}};
}

// The refusal of a valid credential whose kind of caller is not wanted.
Error kind_refusal(Callers::Kinds wanted) {
  if (wanted.has(PrincipalKind::person)) {
    return {ErrorCode::auth_human_required, "This needs the session of a person."};
  }
  return {ErrorCode::auth_credential_invalid, "This route does not take credentials of this kind."};
}

Error authority_refusal(identity::Authority needed) {
  return {
      ErrorCode::auth_authority_missing,
      "This operator credential does not have the authority " + std::string(name_of(needed)) + "."};
}

bool names_account(const RouteFacts& facts) noexcept {
  return facts.path.find(account_segment) != facts.path.npos;
}

std::optional<Error> key_problem(const RouteFacts& facts, const Asked& asked) {
  if (!facts.callers.need_active_account()) return std::nullopt;
  if (names_account(facts) && asked.parameters[0] != asked.caller->account_id) {
    return Error{ErrorCode::account_forbidden, "An API key reads its own billing account alone."};
  }
  return AccountReads::account_problem(asked.caller->account_status);
}

std::optional<Error> person_problem(const Callers& callers, const identity::Principal& person,
                                    const HostRules& rules) {
  using identity::Standing;
  if (person.standing == Standing::enrolling && callers.standing() != Standing::enrolling) {
    return Error{ErrorCode::auth_step_up_required,
                 "You signed in with a link or a code: enrol a passkey or another credential "
                 "first, which is all that such a session can do."};
  }
  if (person.standing < callers.standing()) {
    const std::string advice =
        rules.step_up_advice ? rules.step_up_advice(person) : "prove it on the web host";
    return Error{ErrorCode::auth_step_up_required,
                 "This needs a fresh proof of who you are: " + advice +
                     ", then repeat the request, or make a new session for programs."};
  }
  return callers.role() ? identity::role_refusal(person.role, *callers.role()) : std::nullopt;
}

void check_row(const RouteFacts& facts, const HostRules& rules) {
  const auto fail = [&facts](std::string_view why) {
    throw std::logic_error(std::string(facts.method) + " " + std::string(facts.path) + ": " +
                           std::string(why));
  };
  const Callers& callers = facts.callers;
  if (!callers.are_anyone() && !rules.authenticates.has_any(callers.kinds())) {
    fail("nobody authenticates its callers");
  }
  if (callers.role() && !names_account(facts)) fail("a role is one in the account of the path");
  if (facts.body != BodyForm::none && facts.body_bytes_max == 0) fail("its body has no bound");
  if (facts.takes_any_origin && callers.kinds().has(PrincipalKind::person)) {
    fail("a page of any origin could act for a person");
  }
}

// Returns the value of a header field that occurs exactly once; otherwise empty.
std::string_view only_value(Headers headers, std::string_view name) noexcept {
  std::string_view value;
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, name)) continue;
    if (!value.empty()) return {};
    value = field.value;
  }
  return value;
}

std::optional<Error> decode(std::span<const std::string_view> segments, Asked& asked) {
  for (std::size_t at = 0; at < segments.size(); ++at) {
    std::string& decoded = asked.parameters[at];
    decoded.resize(segments[at].size());
    const auto length = registry::decode_segment(segments[at], decoded.data());
    if (!length) {
      return Error{ErrorCode::request_path_malformed, "The path holds an escape that is none."};
    }
    decoded.resize(*length);
  }
  return std::nullopt;
}

}  // namespace

std::string_view media_type_of(BodyForm form) noexcept {
  switch (form) {
    case BodyForm::json:
      return json_type;
    case BodyForm::form:
      return form_type;
    case BodyForm::none:
    case BodyForm::raw:
      break;
  }
  return "*/*";
}

bool matches_path(std::string_view route_path, std::string_view path,
                  std::array<std::string_view, path_parameters_max>& segments) noexcept {
  segments.fill({});
  std::size_t count = 0;
  for (std::size_t open = route_path.find('{'); open != route_path.npos;
       open = route_path.find('{')) {
    if (!path.starts_with(route_path.substr(0, open))) return false;
    path.remove_prefix(open);
    const std::size_t close = route_path.find('}', open);
    if (route_path.substr(0, close + 1).ends_with(whole_rest)) {
      segments[count] = path;
      return true;
    }
    // Text of the route between the parameter and the end of the segment, such as ".svg", is not
    // part of the parameter.
    std::string_view behind = route_path.substr(close + 1);
    behind = behind.substr(0, behind.find('/'));
    std::string_view segment = path.substr(0, path.find('/'));
    if (!segment.ends_with(behind)) return false;
    segment.remove_suffix(behind.size());
    if (segment.empty()) return false;
    segments[count] = segment;
    path.remove_prefix(segments[count++].size());
    route_path.remove_prefix(close + 1);
  }
  return route_path == path;
}

std::optional<Error> header_refusal(const Turn& turn) {
  if (turn.header_problem().empty()) return std::nullopt;
  return Error{ErrorCode::request_malformed,
               "A header field is not in its form, or comes twice.",
               0,
               {{"header." + turn.header_problem(), "it is not valid, or comes twice",
                 "Send it once; an Idempotency-Key has 1 to 255 visible characters."}}};
}

RouteTable::RouteTable(std::vector<const RouteFacts*> rows, HostRules rules, AccessLog& access_log)
    : rules_(std::move(rules)),
      nothing_{.method = "",
               .path = "",
               .endpoint = "",
               .page_policy = rules_.nothing_page_policy,
               .refusal_form = rules_.nothing_form} {
  for (const RouteFacts* const facts : rows) {
    check_row(*facts, rules_);
    if (paths_.empty() || paths_.back().text != facts->path) {
      paths_.push_back({facts->path, rows_.size(), rows_.size(), {}});
    }
    Path& path = paths_.back();
    ++path.end;
    path.allow.append(facts->method).append(facts->answers_head ? ", HEAD, " : ", ");
    Row& row = rows_.emplace_back(Row{facts, &access_log.endpoint(facts->endpoint), {}});
    for (const Parameter& parameter : facts->query) row.query_names.push_back(parameter.name);
  }
  for (Path& path : paths_) path.allow += "OPTIONS";
}

RouteTable::Place RouteTable::find(std::string_view path) const noexcept {
  Place place;
  for (const Path& one : paths_) {
    if (!matches_path(one.text, path, place.segments_)) continue;
    place.path_ = &one;
    return place;
  }
  return place;
}

const Cors& RouteTable::cors_of(const Place& place) const noexcept {
  const bool is_public =
      place.path_ == nullptr || rows_[place.path_->begin].facts->is_for_every_page;
  return is_public ? rules_.cors_of_public : rules_.cors;
}

std::optional<std::size_t> RouteTable::row_for(Turn& turn, const Place& place) const {
  if (place.path_ != nullptr) follow(turn, rows_[place.path_->begin]);
  const std::string_view method = turn.request.method();
  const auto index = place.path_ == nullptr ? std::nullopt : find_row(*place.path_, method);
  if (method == "OPTIONS") {
    preflight(turn, place);
    return std::nullopt;
  }
  if (place.path_ == nullptr) {
    if (!turn.request.path().starts_with(of_programs)) turn.follow(nothing_);
    turn.refuse({ErrorCode::request_not_found, std::string(rules_.nothing_here)});
    return std::nullopt;
  }
  if (!index) {
    turn.refuse({ErrorCode::request_method_not_allowed, std::string(rules_.other_methods)},
                place.path_->allow);
    return std::nullopt;
  }
  follow(turn, rows_[*index]);
  if (is_of_other_page(*rows_[*index].facts, turn)) {
    turn.refuse({ErrorCode::auth_origin_rejected,
                 "This is done from a page of this site alone, and the request is not from one."});
    return std::nullopt;
  }
  return index;
}

// Only browsers send cookies without their user's intent, and browsers name the origin.
bool RouteTable::is_of_other_page(const RouteFacts& facts, const Turn& turn) const noexcept {
  if (rules_.own_origin.empty() || facts.takes_any_origin) return false;
  return !is_safe(turn.request.method()) &&
         !is_from_own_page(turn.request.headers(), rules_.own_origin);
}

bool RouteTable::read(Turn& turn, const Place& place, std::size_t index, Asked& asked) const {
  const Row& row = rows_[index];
  const auto refused = problem(row, turn, place, asked);
  if (!refused) return true;
  ReplyFields more;
  if (rules_.add_refusal_fields) rules_.add_refusal_fields(*refused, more);
  turn.refuse(*refused, more);
  return false;
}

void RouteTable::follow(Turn& turn, const Row& row) noexcept {
  turn.follow(*row.facts);
  turn.record.endpoint = row.endpoint;
}

void RouteTable::preflight(Turn& turn, const Place& place) const {
  const std::string_view methods =
      place.path_ == nullptr ? of_nothing : std::string_view(place.path_->allow);
  ReplyFields fields;
  fields.add("Allow", methods);
  fields.add(cache_control_field, "no-store");
  fields.add("X-Request-Id", turn.request_id());
  cors_of(place).add_preflight_fields(turn.origin(), methods, fields);
  turn.record.status = 204;
  turn.responder.send(204, fields.view(), {});
}

std::optional<std::size_t> RouteTable::find_row(const Path& path,
                                                std::string_view method) const noexcept {
  for (std::size_t at = path.begin; at < path.end; ++at) {
    const RouteFacts& facts = *rows_[at].facts;
    const bool is_head = facts.answers_head && method == "HEAD";
    if (facts.takes_any_method || facts.method == method || is_head) return at;
  }
  return std::nullopt;
}

std::optional<Error> RouteTable::problem(const Row& row, Turn& turn, const Place& place,
                                         Asked& asked) const {
  const RouteFacts& facts = *row.facts;
  if (auto refused = header_refusal(turn)) return refused;
  if (facts.body == BodyForm::none && turn.request.has_body()) {
    return Error{ErrorCode::request_body_not_allowed, "This route takes no request body."};
  }
  if (auto refused = decode(place.segments_, asked)) return refused;
  if (auto refused = find_caller(facts, turn, asked)) return refused;
  if (facts.needs_idempotency_key && turn.idempotency_key().empty()) return key_refusal();
  if (auto refused = read_query_of(row, turn, asked)) return refused;
  if (auto refused = read_body(facts, turn, asked)) return refused;
  return judge_page_token(facts, turn, asked);
}

std::optional<Error> RouteTable::find_caller(const RouteFacts& facts, Turn& turn,
                                             Asked& asked) const {
  if (facts.callers.are_anyone()) return std::nullopt;
  std::string_view account_id;
  if (names_account(facts)) account_id = asked.parameters[0];
  auto caller = rules_.authenticate({.headers = turn.request.headers(),
                                     .account_id = account_id,
                                     .changes_something = !is_safe(facts.method)});
  if (!caller.ok()) return std::move(caller).error();
  asked.caller = *std::move(caller);
  turn.keep_principal(asked.caller);
  if (!facts.callers.kinds().has(asked.caller->kind)) return kind_refusal(facts.callers.kinds());
  const auto needed = facts.callers.authority();
  if (needed && !asked.caller->authorities.has(*needed)) return authority_refusal(*needed);
  return asked.caller->kind == PrincipalKind::person
             ? person_problem(facts.callers, *asked.caller, rules_)
             : key_problem(facts, asked);
}

std::optional<Error> RouteTable::judge_page_token(const RouteFacts& facts, const Turn& turn,
                                                  const Asked& asked) const {
  const bool is_of_person = asked.caller != nullptr && asked.caller->kind == PrincipalKind::person;
  if (!is_of_person || !rules_.is_page_token || is_safe(facts.method)) return std::nullopt;
  const std::string token =
      facts.body == BodyForm::form
          ? asked.form.find(page_token_field).value_or("")
          : std::string(only_value(turn.request.headers(), page_token_header));
  if (rules_.is_page_token(*asked.caller, token)) return std::nullopt;
  return Error{ErrorCode::auth_origin_rejected,
               "The request lacks the token that the session gives to pages of this site: load the "
               "page again, or send `csrfToken` of /v1/me as Turnpike-CSRF."};
}

std::optional<Error> RouteTable::read_query_of(const Row& row, const Turn& turn,
                                               Asked& asked) const {
  if (row.facts->takes_any_query) return std::nullopt;
  auto query = read_query(turn.request.query(), row.query_names);
  if (!query.ok()) return std::move(query).error();
  asked.query = *std::move(query);
  return std::nullopt;
}

std::optional<Error> RouteTable::read_body(const RouteFacts& facts, Turn& turn,
                                           Asked& asked) const {
  if (facts.body == BodyForm::none) return std::nullopt;
  if (facts.body != BodyForm::raw) {
    const std::string_view sent = text::media_type_of(turn.content_type());
    if (!same_header_name(sent, media_type_of(facts.body))) return media_type_refusal(facts.body);
    if (!turn.content_coding().empty()) return coding_refusal();
  }
  const auto bytes = turn.request.read_body(facts.body_bytes_max);
  if (!bytes.ok()) return bytes.error();
  turn.record.request_bytes = bytes->size();
  asked.body = *bytes;
  if (facts.body != BodyForm::form) return std::nullopt;
  auto form = read_form(*bytes, facts.form_fields_max);
  if (!form.ok()) return std::move(form).error();
  asked.form = *std::move(form);
  return std::nullopt;
}

}  // namespace turnpike::hosts
