#include "hosts/web/password_routes.h"

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_json.h"

namespace turnpike::hosts::web {

namespace {

using account::kept_by_nobody;
using base::Error;
using base::StrictObject;
using identity::PasswordSession;
using identity::Standing;

constexpr std::uint64_t password_body_bytes_max = 4'096;
// A loose bound: the rules for passwords report what is wrong with one.
constexpr StrictObject::Characters password_characters{0, 4'096};

void send_session(const WebRooms& rooms, Turn& turn,
                  const Result<PasswordSession, Error>& session) {
  if (!session.ok()) return (void)turn.refuse(session.error());
  ReplyFields more;
  const std::string device = device_cookie(rooms, session->device);
  more.add("Set-Cookie", device);
  send_me(rooms, turn, session->signed_in, more);
}

void sign_in_with_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"login", "password"});
  const std::string login = body.text("login", {1, 100});
  const std::string password = body.text("password", password_characters);
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const std::string device = device_of(rooms, turn);
  const identity::Actor actor = rooms.people.actor_of(turn, nullptr);
  send_session(rooms, turn, rooms.people.ask_hashing([&] {
    return rooms.people.parts().passwords.sign_in(login, password, device, actor);
  }));
}

void step_up_with_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"password"});
  const std::string password = body.text("password", password_characters);
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const std::string device = device_of(rooms, turn);
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  send_session(rooms, turn, rooms.people.ask_hashing([&] {
    return rooms.people.parts().passwords.step_up(password, device, actor);
  }));
}

void set_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (!may_enrol(rooms, turn, asked)) return;
  StrictObject body(asked.body, {"currentPassword", "newPassword"});
  identity::PasswordWish wish;
  if (body.has("currentPassword")) {
    wish.current = body.text("currentPassword", password_characters);
  }
  wish.wanted = body.text("newPassword", password_characters);
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const std::string device = device_of(rooms, turn);
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto session = rooms.people.ask_hashing([&] {
    return rooms.people.parts().passwords.set(wish, asked.caller->standing, device, actor);
  });
  if (!session.ok()) return (void)turn.refuse(session.error());
  ReplyFields more;
  const std::string known = device_cookie(rooms, session->device);
  const std::string cookie = session_cookie(rooms, session->signed_in.token);
  more.add("Set-Cookie", known);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 204}, more);
}

void remove_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto token = rooms.people.ask([&] {
    return rooms.people.parts().passwords.remove(rooms.people.actor_of(turn, asked.caller));
  });
  if (!token.ok()) return (void)turn.refuse(token.error());
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, *token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 204}, more);
}

void create_codes(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const StrictObject body(asked.body, {});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto created = rooms.people.ask([&] {
    return rooms.people.parts().recovery_codes.create(rooms.people.actor_of(turn, asked.caller));
  });
  if (!created.ok()) return (void)turn.refuse(created.error());
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, created->token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 201, .body = account::Json{{"codes", created->codes}}.dump()}, more);
}

void sign_in_with_code(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"login", "code"});
  const std::string login = body.text("login", {1, 100});
  const std::string code = body.text("code", {1, 100});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  const auto signed_in = rooms.people.ask([&] {
    return rooms.people.parts().recovery_codes.sign_in(login, code,
                                                       rooms.people.actor_of(turn, nullptr));
  });
  if (!signed_in.ok()) return (void)turn.refuse(signed_in.error());
  ReplyFields more;
  send_me(rooms, turn, *signed_in, more);
}

constexpr RouteFacts json_row(std::string_view method, std::string_view path,
                              std::string_view endpoint, Callers callers) {
  return {.method = method,
          .path = path,
          .endpoint = endpoint,
          .callers = callers,
          .body = BodyForm::json,
          .body_bytes_max = password_body_bytes_max,
          .cache_control = kept_by_nobody};
}

constexpr Route<WebRooms> password_rows[] = {
    {.facts = json_row("POST", "/v1/sign-in/password", "sign_in", Callers::anyone()),
     .answer = sign_in_with_password},
    {.facts = json_row("POST", "/v1/sign-in/recovery-code", "sign_in", Callers::anyone()),
     .answer = sign_in_with_code},
    {.facts = json_row("POST", "/v1/step-up/password", "step_up", Callers::person()),
     .answer = step_up_with_password},
    {.facts = json_row("PUT", "/v1/me/password", "my_password",
                       Callers::person(Standing::enrolling)),
     .answer = set_password},
    {.facts = {.method = "DELETE",
               .path = "/v1/me/password",
               .endpoint = "my_password",
               .callers = Callers::person(Standing::stepped_up),
               .cache_control = kept_by_nobody},
     .answer = remove_password},
    {.facts = json_row("POST", "/v1/me/recovery-codes", "my_recovery_codes",
                       Callers::person(Standing::stepped_up)),
     .answer = create_codes},
};

}  // namespace

std::span<const Route<WebRooms>> password_routes() noexcept { return password_rows; }

// A repeated cookie is ignored: the browser then counts as unknown.
std::string device_of(const WebRooms& rooms, const Turn& turn) {
  const auto device = rooms.cookies.device.read(turn.request.headers());
  return device.ok() ? std::string(device->value_or("")) : std::string();
}

std::string device_cookie(const WebRooms& rooms, std::string_view device) {
  return rooms.cookies.device.set(device, identity::Passwords::device_ms / 1'000);
}

}  // namespace turnpike::hosts::web
