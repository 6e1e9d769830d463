#include "hosts/web/mail_routes.h"

#include <charconv>

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/people_json.h"
#include "hosts/account/people_routes.h"
#include "hosts/web/page_turn.h"
#include "text/time_text.h"

namespace turnpike::hosts::web {

namespace {

using account::Json;
using base::Error;
using base::ErrorCode;
using base::StrictObject;
using identity::Standing;

constexpr std::uint64_t mail_body_bytes_max = 4'096;
constexpr std::size_t email_characters_max = 254;

identity::ByMail& by_mail_of(const WebRooms& rooms) { return rooms.people.parts().by_mail; }

void send_accepted(Turn& turn, const Result<Unit, Error>& asked_for) {
  if (!asked_for.ok()) return (void)turn.refuse(asked_for.error());
  turn.reply({.status = 202, .content_type = {}});
}

// ---- JSON

void ask_recovery(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"login"});
  const std::string login = body.text("login", {1, 100});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  send_accepted(turn, rooms.people.ask([&] {
    return by_mail_of(rooms).ask_recovery(login, rooms.people.actor_of(turn, nullptr));
  }));
}

void ask_sign_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"login", "name"});
  const std::string login = body.text("login", {1, 100});
  const std::string name = body.text("name", {1, 200});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  send_accepted(turn, rooms.people.ask([&] {
    return by_mail_of(rooms).ask_sign_up(login, name, rooms.people.actor_of(turn, nullptr));
  }));
}

std::optional<std::string> read_token(Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"token"});
  std::string token = body.text("token", {1, 200});
  if (body.problems().empty()) return token;
  turn.refuse(body.refusal());
  return std::nullopt;
}

void confirm_sign_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto token = read_token(turn, asked);
  if (!token) return;
  send_signed_in(rooms, turn, rooms.people.ask([&] {
    return by_mail_of(rooms).sign_up(*token, rooms.people.actor_of(turn, nullptr));
  }));
}

void ask_verification(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  StrictObject body(asked.body, {"email"});
  const std::string email = body.text("email", {1, email_characters_max});
  if (!body.problems().empty()) return (void)turn.refuse(body.refusal());
  send_accepted(turn, rooms.people.ask([&] {
    return by_mail_of(rooms).ask_verification(email, rooms.people.actor_of(turn, asked.caller));
  }));
}

void verify_email(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto token = read_token(turn, asked);
  if (!token) return;
  send_signed_in(rooms, turn, rooms.people.ask([&] {
    return by_mail_of(rooms).verify_email(*token, rooms.people.actor_of(turn, asked.caller));
  }));
}

void remove_email(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto removed = rooms.people.ask(
      [&] { return by_mail_of(rooms).remove_email(rooms.people.actor_of(turn, asked.caller)); });
  if (!removed.ok()) return (void)turn.refuse(removed.error());
  ReplyFields more;
  const std::string cookie = session_cookie(rooms, removed->token);
  more.add("Set-Cookie", cookie);
  turn.reply({.status = 204, .content_type = {}}, more);
}

void list_notices(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto notices =
      rooms.people.ask([&] { return by_mail_of(rooms).store().notices(asked.caller->id); });
  if (!notices.ok()) return (void)turn.refuse(notices.error());
  turn.reply({.body = account::list_body(*notices, [](const identity::UnseenNotice& one) -> Json {
                return {{"id", one.id},
                        {"notice", name_of(one.notice)},
                        {"detail", one.detail},
                        {"address", one.address},
                        {"at", text::rfc3339(one.at_ms)}};
              })});
}

Result<Unit, Error> see_notices(const WebRooms& rooms, const Asked& asked, std::int64_t until_ms) {
  return rooms.people.ask(
      [&] { return by_mail_of(rooms).store().see_notices(asked.caller->id, until_ms); });
}

void end_notices(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto seen = see_notices(rooms, asked, rooms.people.parts().clock.now_ms());
  if (!seen.ok()) return (void)turn.refuse(seen.error());
  turn.reply({.status = 204, .content_type = {}});
}

// ---- pages without a session

constexpr std::string_view mailed_recovery_path = "/login/recovery/mail";
constexpr std::string_view sign_up_path = "/sign-up";
constexpr std::string_view look_into_mail =
    "If this can be done, a mail is on its way, with a link that works once. It may take some "
    "minutes. Nothing came? Look among what your mail program takes for unwanted, and at what you "
    "typed.";

constexpr std::string_view mailed_recovery_title = "Lost your passkey?";
const AskView mailed_recovery_view{
    .action = mailed_recovery_path,
    .explanation =
        "Have a link sent to the e-mail address that you confirmed. It lets you in once, so that "
        "you can add a passkey. Without such an address, ask whoever runs this gateway for a link.",
    .login_label = "Your login",
    .button = "Send me a link"};

constexpr std::string_view sign_up_title = "Sign up";
const AskView sign_up_view{
    .action = sign_up_path,
    .explanation =
        "A link goes to your e-mail address, which will be your login. Behind it you get a billing "
        "account of your own.",
    .login_label = "Your e-mail address",
    .button = "Send me a link",
    .asks_name = true};

void show_look_into_mail(const WebRooms& rooms, Turn& turn) {
  send_page(rooms, turn, frame_of(rooms, "Look into your mail"),
            MessageView{look_into_mail, login_path});
}

void show_mailed_recovery(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  send_page(rooms, turn, frame_of(rooms, mailed_recovery_title), mailed_recovery_view);
}

void use_mailed_recovery(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string login = asked.form.find("login").value_or("");
  const auto done = rooms.people.ask([&] {
    return by_mail_of(rooms).ask_recovery(login, rooms.people.actor_of(turn, nullptr));
  });
  if (!done.ok()) {
    AskView view = mailed_recovery_view;
    view.login = login;
    return refuse_with(rooms, turn, done.error(), frame_of(rooms, mailed_recovery_title), view);
  }
  show_look_into_mail(rooms, turn);
}

void show_sign_up(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  if (!by_mail_of(rooms).takes_sign_ups()) {
    return refuse(rooms, turn, nullptr, identity::registration_closed(), std::string(login_path));
  }
  send_page(rooms, turn, frame_of(rooms, sign_up_title), sign_up_view);
}

void use_sign_up(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto field = [&](std::string_view name) { return asked.form.find(name).value_or(""); };
  const auto done = rooms.people.ask([&] {
    return by_mail_of(rooms).ask_sign_up(field("login"), field("name"),
                                         rooms.people.actor_of(turn, nullptr));
  });
  if (!done.ok()) {
    AskView view = sign_up_view;
    view.login = field("login");
    view.name = field("name");
    return refuse_with(rooms, turn, done.error(), frame_of(rooms, sign_up_title), view);
  }
  show_look_into_mail(rooms, turn);
}

void show_confirmation(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  send_page(rooms, turn, frame_of(rooms, "Confirm your sign-up"),
            LinkView{.action = "/sign-up/confirm",
                     .explanation = "This makes a login and a billing account for you. Then you "
                                    "add a passkey, with which you sign in from then on.",
                     .button = "Sign up"});
}

void use_confirmation(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string token = asked.form.find("token").value_or("");
  const auto done = rooms.people.ask([&] {
    return by_mail_of(rooms).sign_up(token, rooms.people.actor_of(turn, nullptr));
  });
  if (!done.ok()) return refuse(rooms, turn, nullptr, done.error(), "/sign-up/confirm");
  go_to(turn, own_path, session_cookie(rooms, done->token));
}

// ---- pages with a session

void use_ask_verification(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const std::string email = asked.form.find("email").value_or("");
  const auto done = rooms.people.ask([&] {
    return by_mail_of(rooms).ask_verification(email, rooms.people.actor_of(turn, asked.caller));
  });
  if (!done.ok()) return refuse(rooms, turn, asked.caller, done.error(), back);
  go_to(turn, back);
}

void use_remove_email(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back(own_path);
  if (!stands_for(Standing::stepped_up, rooms, turn, asked, back)) return;
  const auto done = rooms.people.ask(
      [&] { return by_mail_of(rooms).remove_email(rooms.people.actor_of(turn, asked.caller)); });
  if (!done.ok()) return refuse(rooms, turn, asked.caller, done.error(), back);
  go_to(turn, back, session_cookie(rooms, done->token));
}

// The link is for one person, who must be signed in, so that no other person can be made to press
// its button.
void show_verification(const WebRooms& rooms, Turn& turn, const Asked&) {
  if (was_sent_home(rooms, turn)) return;
  const auto known = find_caller(rooms, {turn.request.headers(), {}, false});
  if (!known.ok()) {
    return send_page(rooms, turn, frame_of(rooms, "Confirm your e-mail address"),
                     MessageView{"Sign in first, then open the link again.", login_path});
  }
  const auto person = person_of(rooms, *known);
  if (!person.ok()) return refuse(rooms, turn, *known, person.error(), std::string(own_path));
  send_page(rooms, turn, frame_of(rooms, "Confirm your e-mail address", *person, *known),
            LinkView{.action = "/account/email/verify",
                     .explanation =
                         "From then on, mail about your sign-in goes there, and a recovery, too.",
                     .button = "Confirm",
                     .has_page_token = true});
}

void use_verification(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = "/account/email/verify";
  if (!stands_for(Standing::signed_in, rooms, turn, asked, back)) return;
  const std::string token = asked.form.find("token").value_or("");
  const auto done = rooms.people.ask([&] {
    return by_mail_of(rooms).verify_email(token, rooms.people.actor_of(turn, asked.caller));
  });
  if (!done.ok()) return refuse(rooms, turn, asked.caller, done.error(), back);
  go_to(turn, own_path, session_cookie(rooms, done->token));
}

void use_see_notices(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string until = asked.form.find("until").value_or("");
  std::int64_t until_ms = 0;
  (void)std::from_chars(until.data(), until.data() + until.size(), until_ms);
  const auto seen = see_notices(rooms, asked, until_ms);
  if (!seen.ok()) return refuse(rooms, turn, asked.caller, seen.error(), std::string(own_path));
  go_to(turn, own_path);
}

// ---- the table

constexpr RouteFacts stranger_json(std::string_view path, std::string_view endpoint) {
  return {.method = "POST",
          .path = path,
          .endpoint = endpoint,
          .body = BodyForm::json,
          .body_bytes_max = mail_body_bytes_max};
}

constexpr RouteFacts own_json(std::string_view method, std::string_view path, Callers callers,
                              BodyForm body) {
  return {.method = method,
          .path = path,
          .endpoint = "my_email",
          .callers = callers,
          .body = body,
          .body_bytes_max = body == BodyForm::none ? 0 : mail_body_bytes_max,
          .cache_control = account::kept_by_nobody};
}

constexpr Callers signed_in = Callers::person();
constexpr Callers stepped_up = Callers::person(Standing::stepped_up);

constexpr Route<WebRooms> mail_rows[] = {
    {.facts = stranger_json("/v1/recovery", "recovery"), .answer = ask_recovery},
    {.facts = stranger_json("/v1/sign-up", "sign_up"), .answer = ask_sign_up},
    {.facts = stranger_json("/v1/sign-up/confirm", "sign_up"), .answer = confirm_sign_up},
    {.facts = own_json("PUT", "/v1/me/email", stepped_up, BodyForm::json),
     .answer = ask_verification},
    {.facts = own_json("DELETE", "/v1/me/email", stepped_up, BodyForm::none),
     .answer = remove_email},
    {.facts = own_json("POST", "/v1/me/email/verify", signed_in, BodyForm::json),
     .answer = verify_email},
    {.facts = own_json("GET", "/v1/me/notices", signed_in, BodyForm::none),
     .answer = list_notices},
    {.facts = own_json("DELETE", "/v1/me/notices", signed_in, BodyForm::none),
     .answer = end_notices},
    {.facts = page(mailed_recovery_path, "recovery_page"), .answer = show_mailed_recovery},
    {.facts = form(mailed_recovery_path, "recovery", Callers::anyone()),
     .answer = use_mailed_recovery},
    {.facts = page("/sign-up", "sign_up_page"), .answer = show_sign_up},
    {.facts = form("/sign-up", "sign_up", Callers::anyone()), .answer = use_sign_up},
    {.facts = page("/sign-up/confirm", "sign_up_page"), .answer = show_confirmation},
    {.facts = form("/sign-up/confirm", "sign_up", Callers::anyone()), .answer = use_confirmation},
    {.facts = form("/account/email", "my_email", any_session), .answer = use_ask_verification},
    {.facts = form("/account/email/remove", "my_email", any_session), .answer = use_remove_email},
    {.facts = page("/account/email/verify", "my_email_page"), .answer = show_verification},
    {.facts = form("/account/email/verify", "my_email", any_session), .answer = use_verification},
    {.facts = form("/account/notices/seen", "my_notices", signed_in), .answer = use_see_notices},
};

}  // namespace

std::span<const Route<WebRooms>> mail_routes() noexcept { return mail_rows; }

}  // namespace turnpike::hosts::web
