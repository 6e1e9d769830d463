#include "hosts/operator/console.h"

#include <algorithm>
#include <array>
#include <exception>
#include <type_traits>
#include <utility>

#include "hosts/location.h"
#include "hosts/origins.h"
#include "hosts/route_table.h"
#include "text/encoding.h"
#include "text/uri.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using base::ErrorCode;
using identity::Authority;

constexpr std::uint32_t console_threads_max = 2;
constexpr std::uint32_t console_queued_max = 16;
// Credentials cannot be guessed; attempts are throttled and counted all the same.
constexpr identity::TryBound console_tries{"console", 60'000, 10};
constexpr std::string_view credential_method = "operator_credential";

constexpr std::pair<std::string_view, std::string_view> places[] = {
    {"Overview", "/console"},
    {"Providers", "/console/providers"},
    {"Revenue", "/console/revenue"},
    {"Errors", "/console/errors"},
    {"Ledger", "/console/ledger"},
    {"Generations", "/console/generations"},
    {"Sweeps", "/console/sweeps"},
    {"Accounts", "/console/accounts"},
};

identity::Actor actor_of(Turn& turn, std::string_view operator_id) {
  identity::Actor actor;
  if (!operator_id.empty()) actor.principal = "operator:" + std::string(operator_id);
  actor.address = split_authority(turn.request.peer_address()).host;
  actor.request_id = turn.request_id();
  return actor;
}

std::string_view header_of(const Turn& turn, std::string_view name) {
  for (const HeaderField& field : turn.request.headers()) {
    if (same_header_name(field.name, name)) return field.value;
  }
  return {};
}

// Whether the request came from a page of this listener. The listener has no configured URL:
// operators reach it by its address, a tunnel's port, or a DNS name. Its pages therefore have the
// origin under which the browser requested them. Another site whose name resolves to this listener
// is no danger: the browser sends it no cookie of ours.
bool is_from_this_listener(const Turn& turn) {
  const bool is_https = header_of(turn, "Origin").starts_with("https://");
  const std::string own =
      (is_https ? "https://" : "http://") + std::string(header_of(turn, "Host"));
  return is_from_own_page(turn.request.headers(), origin_of(own));
}

Error authority_missing(Authority needed) {
  return {ErrorCode::auth_authority_missing,
          "This operator credential does not have the authority " +
              std::string(identity::name_of(needed)) + "."};
}

// Returns the page to open after a sign-in: only pages of the console are accepted.
std::string return_path(std::string_view text) {
  const bool is_page = text == console_path || text.starts_with("/console/");
  const bool is_known = is_page && !text.starts_with(console_login_path) && Location::read(text);
  return std::string(is_known ? text : console_path);
}

void go_to(Turn& turn, const std::string& path, std::string_view cookie = {}) {
  ReplyFields more;
  if (!cookie.empty()) more.add("Set-Cookie", cookie);
  turn.redirect(Location::read(path).value(), more);
}

}  // namespace

RefusalBody ConsoleRefusals::page(const Error& error, const RefusalAsked& asked) const {
  site::Frame frame;
  frame.title = "This did not work";
  return {page_type, pages_.page(frame, "console/refused.html", [&](site::Slots slots) {
            slots.set("MESSAGE", error.message);
            slots.set("CODE", base::info_of(error.code).name);
            slots.set("REQUEST_ID", asked.request_id);
            for (const base::FieldProblem& field : error.fields) {
              site::Slots row = slots.add("FIELD");
              row.set("LOCATION", field.location.starts_with('/') ? field.location.substr(1)
                                                                  : field.location);
              row.set("PROBLEM", field.problem);
              row.set("FIX", field.fix);
            }
          })};
}

Console::Console(const ConsoleParts& parts, const Shared& shared)
    : parts_(parts),
      shared_(shared),
      user_(shared.pool.add_user("console", console_threads_max, console_queued_max)),
      // Browsers reject a Secure cookie from a listener without TLS, so this cookie is not Secure
      // and has no prefix that promises it.
      cookie_({.name = "turnpike_console",
               .is_secure = false,
               .same_site = SameSite::strict,
               .path = std::string(console_path)}),
      tries_(parts.audit, console_tries),
      sessions_(shared.clock, shared.random),
      pace_(shared.metrics, shared.clock.monotonic_ns()) {}

// Runs `work`, which returns a Result, to completion.
template <class F>
auto Console::ask(F&& work) const -> std::invoke_result_t<F> {
  using Answer = std::invoke_result_t<F>;
  std::optional<Answer> answer;
  const bool is_run = shared_.pool.run_to_end(user_, [&]() noexcept {
    try {
      answer.emplace(work());
    } catch (const std::exception&) {  // memory exhaustion, or a defective layout
      answer.emplace(Error{ErrorCode::gateway_internal, "The page could not be made."});
    }
  });
  if (is_run) return *std::move(answer);
  return Error{ErrorCode::auth_overloaded, "Too many pages are being made: try again.", 1};
}

std::string Console::random_text() const {
  std::array<std::uint8_t, 24> bytes{};
  shared_.random.fill(bytes);
  return text::base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> Console::token_of(const Turn& turn) const {
  const auto token = cookie_.read(turn.request.headers());
  if (!token.ok() || !*token) return std::nullopt;
  return std::string(**token);
}

void Console::refuse(Turn& turn, const Error& error) const { turn.refuse(error); }

void Console::send_to_login(Turn& turn, bool had_session) const {
  std::string path(console_login_path);
  std::string asked_for(turn.request.path());
  if (turn.request.method() == "GET" && asked_for != console_path) {
    if (!turn.request.query().empty()) asked_for.append("?").append(turn.request.query());
    path += "?return_to=";
    text::append_percent_encoded(path, asked_for);
  }
  go_to(turn, path, had_session ? std::string_view(cookie_.clear()) : std::string_view());
}

std::optional<Visitor> Console::visitor_of(Turn& turn) const {
  const auto token = token_of(turn);
  const auto session = token ? sessions_.find(*token) : std::nullopt;
  if (!session) {
    send_to_login(turn, token.has_value());
    return std::nullopt;
  }
  auto found = ask([&] { return shared_.operators.find(session->credential); });
  if (!found.ok()) {
    const bool is_over = found.error().code == ErrorCode::auth_credential_invalid;
    if (is_over) {
      sessions_.end(*token);
      send_to_login(turn, true);
    } else {
      refuse(turn, found.error());
    }
    return std::nullopt;
  }
  Visitor visitor{*std::move(found), nullptr, session->page_token};
  visitor.principal = identity::make_principal({.kind = PrincipalKind::operator_credential,
                                                .authorities = visitor.who.authorities,
                                                .id = visitor.who.id});
  turn.keep_principal(visitor.principal);
  if (!visitor.may(Authority::console_read)) {
    refuse(turn, authority_missing(Authority::console_read));
    return std::nullopt;
  }
  return visitor;
}

site::Frame Console::frame_of(std::string_view title, std::string_view place,
                              const Visitor& visitor) const {
  site::Frame frame;
  frame.title = title;
  frame.side_title = "Console";
  for (const auto& [label, path] : places) {
    frame.side.push_back({std::string(label), std::string(path), path == place});
  }
  frame.person_name = visitor.who.name;
  frame.person_path = console_path;
  frame.page_token = visitor.page_token;
  frame.sign_out = "/console/sign-out";
  return frame;
}

void Console::show(const ConsolePage& page, Turn& turn, const Asked& asked) const {
  const auto visitor = visitor_of(turn);
  if (!visitor) return;
  // Facts of the program and the board belong to the loop, so they are read before work moves to
  // the pool.
  ConsoleLook look{parts_,
                   shared_.metrics,
                   shared_.corrections,
                   shared_.status,
                   *visitor,
                   asked,
                   parts_.pages.facts(),
                   parts_.backend.health(),
                   pace_.look(shared_.clock.monotonic_ns()),
                   random_text()};
  site::Frame frame = frame_of(page.title, page.place, *visitor);
  frame.foot = site::foot_of(look.facts);
  const auto site = parts_.pages.site();
  const auto html = ask([&]() -> Result<std::string, Error> {
    std::optional<Error> problem;
    std::string text = site->page(frame, page.layout, [&](site::Slots slots) {
      slots.set("PAGE_TOKEN", visitor->page_token);
      slots.show_if(visitor->may(Authority::status_annotate), "MAY_ANNOTATE");
      slots.show_if(visitor->may(Authority::usage_correct), "MAY_CORRECT");
      problem = page.fill(look, slots);
    });
    if (problem) return *std::move(problem);
    return text;
  });
  if (!html.ok()) return refuse(turn, html.error());
  turn.reply({.content_type = page_type, .body = *html});
}

bool Console::is_own_form(Turn& turn, const Asked& asked, const Visitor& visitor) const {
  const std::string token = asked.form.find(page_token_field).value_or("");
  if (is_from_this_listener(turn) &&
      crypto::equal_in_constant_time(visitor.page_token, token)) {
    return true;
  }
  refuse(turn, {ErrorCode::auth_origin_rejected,
                "This is done from a page of the console alone: load the page again."});
  return false;
}

void Console::take_form(Authority authority, Act act, std::string_view back, Turn& turn,
                        const Asked& asked) const {
  const auto visitor = visitor_of(turn);
  if (!visitor || !is_own_form(turn, asked, *visitor)) return;
  if (!visitor->may(authority)) return refuse(turn, authority_missing(authority));
  Asked said = asked;
  said.caller = visitor->principal;
  const auto done = act(*this, turn, said);
  if (!done.ok()) return refuse(turn, done.error());
  go_to(turn, return_path(asked.form.find("back").value_or(std::string(back))));
}

void Console::show_login(Turn& turn, const Asked& asked) const {
  const auto token = token_of(turn);
  if (token && sessions_.find(*token)) return go_to(turn, std::string(console_path));
  site::Frame frame;
  frame.title = "Operator console";
  const std::string back = return_path(asked.query.find("return_to").value_or(""));
  turn.reply({.content_type = page_type,
              .body = parts_.pages.page(frame, "console/login.html", [&](site::Slots slots) {
                slots.set("RETURN_TO", back);
              })});
}

void Console::sign_in(Turn& turn, const Asked& asked) const {
  if (!is_from_this_listener(turn)) {
    return refuse(turn, {ErrorCode::auth_origin_rejected,
                         "Operators sign in on the page of this listener alone."});
  }
  const std::string credential = asked.form.find("credential").value_or("");
  const auto digest = crypto::sha256(credential);
  const auto known = ask([&]() -> Result<Caller, Error> {
    const identity::Actor nobody = actor_of(turn, "");
    if (const auto judged = tries_.judge(nobody); !judged.ok()) return judged.error();
    auto caller = shared_.operators.authenticate(credential);
    if (!caller.ok()) return tries_.failed(caller.error(), credential_method, nobody);
    if (!(*caller)->authorities.has(Authority::console_read)) {
      return tries_.failed(authority_missing(Authority::console_read), credential_method,
                           actor_of(turn, (*caller)->id));
    }
    const auto recorded = parts_.audit.record({.actor = actor_of(turn, (*caller)->id),
                                               .action = "session.begin",
                                               .target = std::string((*caller)->id),
                                               .method = std::string(credential_method),
                                               .detail = "console"});
    if (!recorded.ok()) return recorded.error();
    return caller;
  });
  if (!known.ok()) return refuse(turn, known.error());
  turn.keep_principal(*known);
  if (const auto before = token_of(turn)) sessions_.end(*before);
  const std::string cookie = cookie_.set(sessions_.begin(digest));
  go_to(turn, return_path(asked.form.find("return_to").value_or("")), cookie);
}

void Console::sign_out(Turn& turn, const Asked& asked) const {
  const auto visitor = visitor_of(turn);
  if (!visitor || !is_own_form(turn, asked, *visitor)) return;
  sessions_.end(*token_of(turn));
  const auto recorded = ask([&] {
    return parts_.audit.record({.actor = actor_of(turn, visitor->who.id),
                                .action = "session.end",
                                .target = visitor->who.id,
                                .method = std::string(credential_method),
                                .detail = "console"});
  });
  if (!recorded.ok()) return refuse(turn, recorded.error());
  go_to(turn, std::string(console_login_path), cookie_.clear());
}

}  // namespace turnpike::hosts::operators
