#include "hosts/web/password_pages.h"

#include "hosts/web/page_turn.h"
#include "hosts/web/password_routes.h"

namespace turnpike::hosts::web {

namespace {

using base::Error;
using identity::PasswordSession;
using identity::Standing;

constexpr std::string_view recovery_path = "/login/recovery";

// Redirects to a page and sets the cookies of the session and the device.
void go_on(const WebRooms& rooms, Turn& turn, const PasswordSession& session,
           std::string_view path) {
  ReplyFields more;
  const std::string device = device_cookie(rooms, session.device);
  const std::string cookie = session_cookie(rooms, session.signed_in.token);
  more.add("Set-Cookie", device);
  more.add("Set-Cookie", cookie);
  turn.redirect(Location::read(path).value(), more);
}

void use_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string login = asked.form.find("login").value_or("");
  const std::string password = asked.form.find("password").value_or("");
  const std::string next = known_path(asked.form.find("return_to").value_or(""));
  const std::string device = device_of(rooms, turn);
  const identity::Actor actor = rooms.people.actor_of(turn, nullptr);
  const auto session = rooms.people.ask_hashing([&] {
    return rooms.people.parts().passwords.sign_in(login, password, device, actor);
  });
  if (session.ok()) return go_on(rooms, turn, *session, next);
  LoginView view = login_view(rooms, next);
  view.login = login;
  refuse_with(rooms, turn, session.error(), frame_of(rooms, login_title), view);
}

void use_step_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string next = known_path(asked.form.find("next").value_or(""));
  if (!stands_for(Standing::signed_in, rooms, turn, asked, next)) return;
  const std::string password = asked.form.find("password").value_or("");
  const std::string device = device_of(rooms, turn);
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto session = rooms.people.ask_hashing(
      [&] { return rooms.people.parts().passwords.step_up(password, device, actor); });
  if (!session.ok()) return refuse(rooms, turn, asked.caller, session.error(), next);
  go_on(rooms, turn, *session, next);
}

// An enrolling session sets its first password; any other session needs a fresh proof.
bool may_change(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const bool is_enrolling = asked.caller->standing == Standing::enrolling;
  return is_enrolling ||
         stands_for(Standing::stepped_up, rooms, turn, asked, std::string(own_path));
}

void use_set_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  if (!may_change(rooms, turn, asked)) return;
  const identity::PasswordWish wish{
      .current = asked.form.find("current"),
      .wanted = asked.form.find("password").value_or(""),
      .ends_other_sessions = asked.form.find("end_others").has_value()};
  const std::string device = device_of(rooms, turn);
  const identity::Actor actor = rooms.people.actor_of(turn, asked.caller);
  const auto session = rooms.people.ask_hashing([&] {
    return rooms.people.parts().passwords.set(wish, asked.caller->standing, device, actor);
  });
  if (!session.ok()) {
    return refuse(rooms, turn, asked.caller, session.error(), std::string(own_path));
  }
  go_on(rooms, turn, *session, own_path);
}

void use_remove_password(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto token = rooms.people.ask([&] {
    return rooms.people.parts().passwords.remove(rooms.people.actor_of(turn, asked.caller));
  });
  if (!token.ok()) return refuse(rooms, turn, asked.caller, token.error(), back);
  go_to(turn, back, session_cookie(rooms, *token));
}

void use_create_codes(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto created = rooms.people.ask([&] {
    return rooms.people.parts().recovery_codes.create(rooms.people.actor_of(turn, asked.caller));
  });
  if (!created.ok()) return refuse(rooms, turn, asked.caller, created.error(), back);
  constexpr std::string_view title = "Your recovery codes";
  const auto person = person_of(rooms, asked.caller);
  const Frame frame =
      person.ok() ? frame_of(rooms, title, *person, asked.caller) : frame_of(rooms, title);
  const std::string page = html_of(rooms, frame, CodesView{created->codes, back});
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, created->token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 201, .content_type = page_type, .body = page}, more);
}

constexpr std::string_view recovery_title = "Sign in with a recovery code";

RecoveryView recovery_view(const WebRooms& rooms) {
  const account::PooledPeople::Parts& parts = rooms.people.parts();
  return {.takes_passwords = parts.passwords.are_enabled(),
          .offers_mail = parts.by_mail.sends_mail()};
}

void show_recovery(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  send_page(rooms, turn, frame_of(rooms, recovery_title), recovery_view(rooms));
}

void use_recovery(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string login = asked.form.find("login").value_or("");
  const std::string code = asked.form.find("code").value_or("");
  const auto signed_in = rooms.people.ask([&] {
    return rooms.people.parts().recovery_codes.sign_in(login, code,
                                                       rooms.people.actor_of(turn, nullptr));
  });
  if (!signed_in.ok()) {
    RecoveryView view = recovery_view(rooms);
    view.login = login;
    return refuse_with(rooms, turn, signed_in.error(), frame_of(rooms, recovery_title), view);
  }
  go_to(turn, own_path, session_cookie(rooms, signed_in->token));
}

constexpr Route<WebRooms> password_page_rows[] = {
    {.facts = form("/login/password", "sign_in", Callers::anyone()), .answer = use_password},
    {.facts = page(recovery_path, "login_page"), .answer = show_recovery},
    {.facts = form(recovery_path, "sign_in", Callers::anyone()), .answer = use_recovery},
    {.facts = form("/account/step-up", "step_up", any_session), .answer = use_step_up},
    {.facts = form("/account/password", "my_password", any_session), .answer = use_set_password},
    {.facts = form("/account/password/remove", "my_password", any_session),
     .answer = use_remove_password},
    {.facts = form("/account/recovery-codes", "my_recovery_codes", any_session),
     .answer = use_create_codes},
};

}  // namespace

std::span<const Route<WebRooms>> password_pages() noexcept { return password_page_rows; }

}  // namespace turnpike::hosts::web
