#include "hosts/web/page_turn.h"

#include <algorithm>

#include "hosts/accept.h"
#include "hosts/origins.h"
#include "oauth/redirect_uri.h"
#include "site/markdown.h"

namespace turnpike::hosts::web {

using base::Error;
using base::ErrorCode;
using identity::Standing;

Frame frame_of(const WebRooms& rooms, std::string_view title) {
  return {.title = std::string(title),
          .menu = rooms.pages.site()->menu({}),
          .scripts = {"passkeys.js"}};
}

Frame frame_of(const WebRooms& rooms, std::string_view title, const identity::Person& person,
               const Caller& caller) {
  Frame frame = frame_of(rooms, title);
  frame.person_name = person.name;
  frame.page_token = rooms.people.parts().sessions.page_token(caller->session_id);
  return frame;
}

void go_to(Turn& turn, std::string_view path, std::string_view cookie) {
  ReplyFields more;
  if (!cookie.empty()) more.add("Set-Cookie", cookie);
  turn.redirect(Location::read(path).value(), more);
}

void send_elsewhere(Turn& turn, std::string_view url, std::string_view cookie) {
  ReplyFields fields;
  fields.add("Location", url);
  fields.add("Cache-Control", "no-store");
  if (!cookie.empty()) fields.add("Set-Cookie", cookie);
  turn.send(303, fields, {});
}

std::vector<ProviderChoice> providers_of(const WebRooms& rooms) {
  std::vector<ProviderChoice> choices;
  for (const auto& provider : rooms.people.parts().external_sign_in.providers()) {
    choices.push_back({provider->settings().key, provider->settings().name});
  }
  return choices;
}

StepUpWays ways_of(const WebRooms& rooms, const Caller& caller) {
  if (caller == nullptr || caller->standing != Standing::signed_in) return {};
  StepUpWays ways{rooms.people.step_up_methods(caller->id), providers_of(rooms)};
  if (ways.providers.empty()) return ways;
  const auto own =
      rooms.people.ask([&] { return rooms.people.parts().external_identities.list(caller->id); });
  std::erase_if(ways.providers, [&](const ProviderChoice& choice) {
    return !own.ok() || std::none_of(own->begin(), own->end(), [&](const auto& identity) {
      return identity.provider == choice.key;
    });
  });
  return ways;
}

Result<identity::Person, Error> person_of(const WebRooms& rooms, const Caller& caller) {
  auto person =
      rooms.people.ask([&] { return rooms.people.parts().person_store.find(caller->id); });
  if (!person.ok()) return std::move(person).error();
  if (person->has_value()) return **std::move(person);
  return Error{ErrorCode::auth_session_ended, "The session has ended: sign in again."};
}

void refuse(const WebRooms& rooms, Turn& turn, const Caller& caller, const Error& error,
            const std::string& back) {
  Frame frame = frame_of(rooms, "This did not work");
  if (caller != nullptr) {
    const auto person = person_of(rooms, caller);
    if (person.ok()) frame = frame_of(rooms, frame.title, *person, caller);
  }
  const bool needs_step_up = error.code == ErrorCode::auth_step_up_required;
  const StepUpWays ways = needs_step_up ? ways_of(rooms, caller) : StepUpWays();
  send_refusal(turn, error,
               html_of(rooms, frame, RefusalView{error, turn.request_id(), back, ways}));
}

void send_refusal(Turn& turn, const Error& error, const std::string& html) {
  const RefusalHead head = head_of(error);
  ReplyFields fields;
  add_refusal_fields(head, page_type, fields);
  turn.record.error = error.code;
  turn.send(head.status, fields, html);
}

LoginView login_view(const WebRooms& rooms, const std::string& return_to) {
  const account::PooledPeople::Parts& parts = rooms.people.parts();
  return {.return_to = return_to,
          .providers = providers_of(rooms),
          .takes_passwords = parts.passwords.are_enabled(),
          .offers_sign_up = parts.by_mail.takes_sign_ups()};
}

std::string known_path(std::string_view text) {
  const bool is_known = text == own_path || text == "/dashboard" ||
                        text.starts_with("/dashboard/") || text.starts_with("/accounts/") ||
                        text.starts_with("/invitation") ||
                        text.starts_with(std::string(consent_path) + "?request=");
  if (is_known && Location::read(text)) return std::string(text);
  return std::string(own_path);
}

bool was_sent_home(const WebRooms& rooms, Turn& turn) {
  const std::string_view home = authority_of(rooms.origin);
  const Headers headers = turn.request.headers();
  const auto host = std::find_if(headers.begin(), headers.end(), [](const HeaderField& field) {
    return same_header_name(field.name, "Host");
  });
  if (host == headers.end() || host->value == home) return false;
  std::string to = rooms.origin + std::string(turn.request.path());
  if (!turn.request.query().empty()) to.append("?").append(turn.request.query());
  ReplyFields fields;
  fields.add("Location", to);
  fields.add("Cache-Control", "no-store");
  turn.send(307, fields, {});
  return true;
}

Caller caller_of_page(const WebRooms& rooms, Turn& turn, std::string_view account_id) {
  if (was_sent_home(rooms, turn)) return nullptr;
  auto caller = find_caller(
      rooms,
      {.headers = turn.request.headers(), .account_id = account_id, .changes_something = false});
  if (caller.ok()) {
    turn.keep_principal(*caller);
    return *std::move(caller);
  }
  const ErrorCode code = caller.error().code;
  if (code != ErrorCode::auth_session_required && code != ErrorCode::auth_session_ended) {
    refuse(rooms, turn, nullptr, caller.error(), std::string(own_path));
    return nullptr;
  }
  std::string asked_for(turn.request.path());
  if (!turn.request.query().empty()) asked_for.append("?").append(turn.request.query());
  const bool has_ended = code == ErrorCode::auth_session_ended;
  go_to(turn, oauth::RedirectAnswer(login_path).add("return_to", known_path(asked_for)).text(),
        has_ended ? rooms.cookies.session_cleared : std::string_view());
  return nullptr;
}

bool stands_for(Standing needed, const WebRooms& rooms, Turn& turn, const Asked& asked,
                const std::string& back) {
  if (asked.caller->standing >= needed) return true;
  const bool is_enrolling = asked.caller->standing == Standing::enrolling;
  refuse(rooms, turn, asked.caller,
         {ErrorCode::auth_step_up_required,
          is_enrolling ? "You signed in with a link or a code: add a passkey or a password first, "
                         "then do this again."
                       : "This needs a fresh proof of who you are: sign out, and in again."},
         back);
  return false;
}

namespace {

// Refuses in Markdown, for programs that people send to a link.
std::string refusal_markdown(std::string_view title, const Error& error,
                             std::string_view request_id) {
  return "# " + std::string(title) + "\n\n" + site::escaped_markdown(error.message) +
         "\n\nRequest `" + std::string(request_id) + "`. [The first page](/)\n";
}

}  // namespace

RefusalBody SiteRefusals::page(const Error& error, const RefusalAsked& asked) const {
  const bool is_nothing = error.code == ErrorCode::request_not_found;
  const std::string title = is_nothing ? "There is nothing here" : "This did not work";
  const std::string_view vary = "Accept";
  if (page_form(asked.headers) == PageForm::markdown) {
    return {"text/markdown; charset=utf-8", refusal_markdown(title, error, asked.request_id), vary};
  }
  const auto site = pages_.site();
  const Frame frame{.title = title, .menu = site->menu({})};
  if (is_nothing) {
    return {page_type, pages_.page(frame, "not_found.html", [&](site::Slots slots) {
              slots.set("TITLE", title);
              slots.set("MESSAGE", error.message);
              slots.set("REQUEST_ID", asked.request_id);
            }), vary};
  }
  const bool is_out =
      error.code == ErrorCode::auth_session_required || error.code == ErrorCode::auth_session_ended;
  const std::string back(is_out ? login_path : own_path);
  const RefusalView view{error, asked.request_id, back};
  return {page_type, pages_.page(frame, RefusalView::layout,
                                 [&](site::Slots slots) { view.fill(slots); }),
          vary};
}

Result<Caller, Error> find_caller(const WebRooms& rooms, const Presented& presented) {
  const auto token = rooms.cookies.session.read(presented.headers);
  if (!token.ok()) return token.error();
  if (!*token) {
    return Error{ErrorCode::auth_session_required, "This needs a person who is signed in."};
  }
  return rooms.people.authenticate(**token, identity::SessionTransport::cookie, presented);
}

}  // namespace turnpike::hosts::web
