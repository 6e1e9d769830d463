#include "hosts/web/sign_in_routes.h"

#include <array>

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_json.h"
#include "hosts/account/people_routes.h"
#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::hosts::web {

namespace {

using account::Json;
using account::kept_by_nobody;
using base::Error;
using base::ErrorCode;
using base::StrictObject;
using identity::Actor;
using identity::Standing;

constexpr std::uint64_t small_body_bytes_max = 4'096;
constexpr std::uint64_t credential_body_bytes_max = 24'576;
constexpr std::int64_t browser_seconds = 600;

bool has_no_members(Turn& turn, const Asked& asked) {
  const StrictObject body(asked.body, {});
  if (body.problems().empty()) return true;
  turn.refuse(body.refusal());
  return false;
}

void send_ceremony(Turn& turn, const identity::BegunCeremony& ceremony, ReplyFields& more) {
  const std::string body =
      Json{{"ceremonyId", ceremony.id}, {"publicKey", text::parse_json(ceremony.options)}}.dump();
  turn.reply({.body = body}, more);
}

struct Answer {
  std::string ceremony_id;
  std::string credential;  // JSON
  std::string name;
};

Result<Answer, Error> read_answer(std::string_view json, bool has_name) {
  StrictObject body(
      json, has_name ? std::initializer_list<std::string_view>{"ceremonyId", "credential", "name"}
                     : std::initializer_list<std::string_view>{"ceremonyId", "credential"});
  Answer answer;
  answer.ceremony_id = body.text("ceremonyId", {1, 200});
  answer.credential = body.object("credential");
  if (has_name) answer.name = body.text("name", {1, 200});
  if (!body.problems().empty()) return body.refusal();
  return answer;
}

void begin_passkey(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (!has_no_members(turn, asked)) return;
  std::array<std::uint8_t, 16> bytes{};
  rooms.random.fill(bytes);
  const std::string browser = text::hex(bytes);
  const std::string cookie = rooms.cookies.browser.set(browser, browser_seconds);
  ReplyFields more;
  more.add("Set-Cookie", cookie);
  send_ceremony(turn, rooms.people.parts().sign_in.begin_passkey(browser), more);
}

void sign_in_with_passkey(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto answer = read_answer(asked.body, false);
  if (!answer.ok()) return (void)turn.refuse(answer.error());
  const auto browser = rooms.cookies.browser.read(turn.request.headers());
  if (!browser.ok()) return (void)turn.refuse(browser.error());
  const std::string_view holder = browser->value_or("");
  send_signed_in(rooms, turn, rooms.people.ask([&] {
    return rooms.people.parts().sign_in.with_passkey(answer->ceremony_id, answer->credential,
                                                     holder, rooms.people.actor_of(turn, nullptr));
  }));
}

void sign_in_with_link(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"token"});
  const std::string token = body.text("token", {1, 200});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  send_signed_in(rooms, turn, rooms.people.ask([&] {
    return rooms.people.parts().sign_in.with_link(token, rooms.people.actor_of(turn, nullptr));
  }));
}

void join(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"token", "name", "login"});
  const std::string token = body.text("token", {1, 200});
  const std::string name = body.text("name", {1, 200});
  const std::string login = body.text("login", {1, 100});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  send_signed_in(rooms, turn, rooms.people.ask([&] {
    return rooms.people.parts().sign_in.join(token, name, login,
                                             rooms.people.actor_of(turn, nullptr));
  }));
}

void begin_step_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (!has_no_members(turn, asked)) return;
  const auto begun = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.begin_step_up(rooms.people.actor_of(turn, asked.caller));
  });
  if (!begun.ok()) return (void)turn.refuse(begun.error());
  ReplyFields more;
  send_ceremony(turn, *begun, more);
}

void step_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto answer = read_answer(asked.body, false);
  if (!answer.ok()) return (void)turn.refuse(answer.error());
  send_signed_in(rooms, turn, rooms.people.ask([&] {
    return rooms.people.parts().sign_in.step_up(answer->ceremony_id, answer->credential,
                                                rooms.people.actor_of(turn, asked.caller));
  }));
}

void leave(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto out = sign_out(rooms, turn, asked.caller);
  if (!out.ok()) return (void)turn.refuse(out.error());
  ReplyFields more;
  out->add_to(more);
  turn.reply({.status = 204}, more);
}

void begin_enrol(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (!may_enrol(rooms, turn, asked) || !has_no_members(turn, asked)) return;
  const auto begun = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.begin_enrol(rooms.people.actor_of(turn, asked.caller));
  });
  if (!begun.ok()) return (void)turn.refuse(begun.error());
  ReplyFields more;
  send_ceremony(turn, *begun, more);
}

void enrol(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (!may_enrol(rooms, turn, asked)) return;
  const auto answer = read_answer(asked.body, true);
  if (!answer.ok()) return (void)turn.refuse(answer.error());
  const auto enrolled = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.enrol(answer->ceremony_id, answer->credential, answer->name,
                                              rooms.people.actor_of(turn, asked.caller));
  });
  if (!enrolled.ok()) return (void)turn.refuse(enrolled.error());
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, enrolled->token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 201, .body = account::passkey_json(enrolled->passkey).dump()}, more);
}

void list_passkeys(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto passkeys = rooms.people.ask(
      [&] { return rooms.people.parts().person_store.passkeys(asked.caller->id); });
  if (!passkeys.ok()) return (void)turn.refuse(passkeys.error());
  turn.reply({.body = account::list_body(*passkeys, account::passkey_json)});
}

Error no_passkey() { return {ErrorCode::request_not_found, "You have no passkey with this id."}; }

void rename_passkey(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"name"});
  const std::string name = body.text("name", {1, 200});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto renamed = rooms.people.ask([&] {
    return rooms.people.parts().person_store.rename_passkey(
        asked.caller->id, asked.parameters[0], name, rooms.people.actor_of(turn, asked.caller));
  });
  if (!renamed.ok()) return (void)turn.refuse(renamed.error());
  if (!renamed->has_value()) return (void)turn.refuse(no_passkey());
  turn.reply({.body = account::passkey_json(**renamed).dump()});
}

void remove_passkey(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto token = rooms.people.ask([&] {
    return rooms.people.parts().sign_in.remove_passkey(asked.parameters[0],
                                                       rooms.people.actor_of(turn, asked.caller));
  });
  if (!token.ok()) return (void)turn.refuse(token.error());
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, *token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 204}, more);
}

constexpr Route<WebRooms> sign_in_rows[] = {
    {.facts = {.method = "POST",
               .path = "/v1/sign-in/passkey/options",
               .endpoint = "sign_in",
               .body = BodyForm::json,
               .body_bytes_max = small_body_bytes_max},
     .answer = begin_passkey},
    {.facts = {.method = "POST",
               .path = "/v1/sign-in/passkey",
               .endpoint = "sign_in",
               .body = BodyForm::json,
               .body_bytes_max = credential_body_bytes_max},
     .answer = sign_in_with_passkey},
    {.facts = {.method = "POST",
               .path = "/v1/sign-in/link",
               .endpoint = "sign_in",
               .body = BodyForm::json,
               .body_bytes_max = small_body_bytes_max},
     .answer = sign_in_with_link},
    {.facts = {.method = "POST",
               .path = "/v1/invitations/join",
               .endpoint = "accept_invitation",
               .body = BodyForm::json,
               .body_bytes_max = small_body_bytes_max},
     .answer = join},
    {.facts = {.method = "POST",
               .path = "/v1/step-up/passkey/options",
               .endpoint = "step_up",
               .callers = Callers::person(),
               .body = BodyForm::json,
               .body_bytes_max = small_body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = begin_step_up},
    {.facts = {.method = "POST",
               .path = "/v1/step-up/passkey",
               .endpoint = "step_up",
               .callers = Callers::person(),
               .body = BodyForm::json,
               .body_bytes_max = credential_body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = step_up},
    {.facts = {.method = "POST",
               .path = "/v1/sign-out",
               .endpoint = "sign_out",
               .callers = Callers::person(Standing::enrolling),
               .cache_control = kept_by_nobody},
     .answer = leave},
    {.facts = {.method = "POST",
               .path = "/v1/me/passkeys/options",
               .endpoint = "my_passkeys",
               .callers = Callers::person(Standing::enrolling),
               .body = BodyForm::json,
               .body_bytes_max = small_body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = begin_enrol},
    {.facts = {.method = "GET",
               .path = "/v1/me/passkeys",
               .endpoint = "my_passkeys",
               .callers = Callers::person(Standing::enrolling),
               .cache_control = kept_by_nobody},
     .answer = list_passkeys},
    {.facts = {.method = "POST",
               .path = "/v1/me/passkeys",
               .endpoint = "my_passkeys",
               .callers = Callers::person(Standing::enrolling),
               .body = BodyForm::json,
               .body_bytes_max = credential_body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = enrol},
    {.facts = {.method = "PATCH",
               .path = "/v1/me/passkeys/{passkey_id}",
               .endpoint = "my_passkey",
               .callers = Callers::person(),
               .body = BodyForm::json,
               .body_bytes_max = small_body_bytes_max,
               .cache_control = kept_by_nobody},
     .answer = rename_passkey},
    {.facts = {.method = "DELETE",
               .path = "/v1/me/passkeys/{passkey_id}",
               .endpoint = "my_passkey",
               .callers = Callers::person(Standing::stepped_up),
               .cache_control = kept_by_nobody},
     .answer = remove_passkey},
};

}  // namespace

std::span<const Route<WebRooms>> sign_in_routes() noexcept { return sign_in_rows; }

void send_signed_in(const WebRooms& rooms, Turn& turn,
                    const Result<identity::SignedIn, Error>& signed_in) {
  if (!signed_in.ok()) return (void)turn.refuse(signed_in.error());
  ReplyFields more;
  send_me(rooms, turn, *signed_in, more);
}

std::string session_cookie(const WebRooms& rooms, std::string_view token) {
  return rooms.cookies.session.set(token,
                                   rooms.people.parts().sessions.limits().absolute_ms / 1'000);
}

void send_me(const WebRooms& rooms, Turn& turn, const identity::SignedIn& signed_in,
             ReplyFields& more) {
  const auto body = account::me_body(rooms.people, signed_in.person_id, signed_in.session_id);
  if (!body.ok()) return (void)turn.refuse(body.error());
  const std::string cookie = session_cookie(rooms, signed_in.token);
  more.add("Set-Cookie", cookie);
  turn.reply({.body = *body}, more);
}

bool may_enrol(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (asked.caller->standing != Standing::signed_in) return true;
  turn.refuse({ErrorCode::auth_step_up_required,
               "To change what you sign in with takes a fresh proof of who you are: " +
                   rooms.people.step_up_advice(asked.caller->id) + ", then repeat the request."});
  return false;
}

Result<SignedOut, Error> sign_out(const WebRooms& rooms, Turn& turn, const Caller& caller) {
  const auto ended = rooms.people.ask([&] {
    return rooms.people.parts().sessions.end(caller->id, caller->session_id,
                                             rooms.people.actor_of(turn, caller));
  });
  if (!ended.ok()) return ended.error();
  return SignedOut{rooms.cookies.session_cleared};
}

}  // namespace turnpike::hosts::web
