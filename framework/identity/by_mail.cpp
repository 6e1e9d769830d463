#include "identity/by_mail.h"

#include "crypto/digest.h"
#include "identity/email.h"
#include "identity/name.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

base::Error ended_mail_link() {
  return {base::ErrorCode::auth_link_ended,
          "This link was used already, is too old, or was replaced: ask for a new one."};
}

}  // namespace

base::Error registration_closed() {
  return {base::ErrorCode::auth_registration_closed,
          "This gateway takes nobody who signs up by themselves: ask whoever runs it."};
}

Result<Unit, base::Error> ByMail::ask_recovery(std::string_view login, const Actor& actor) {
  if (auto judged = judge(); !judged.ok()) return judged;
  const auto folded = read_login(login);
  if (!folded.ok()) return folded.error();
  return parts_.mail.ask_recovery(*folded, actor);
}

Result<Unit, base::Error> ByMail::ask_sign_up(std::string_view login, std::string_view name,
                                              const Actor& actor) {
  if (!takes_sign_ups()) return registration_closed();
  if (auto fault = fault_in_name(name)) return *fault;
  if (auto fault = fault_in_email(login)) return *fault;
  const auto folded = read_login(login);
  if (!folded.ok()) return folded.error();
  return parts_.mail.ask_sign_up(*folded, name, actor);
}

Result<SignedIn, base::Error> ByMail::sign_up(std::string_view token, const Actor& actor) {
  if (!takes_sign_ups()) return registration_closed();
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  if (!is_link(token)) return parts_.tries.failed(ended_mail_link(), "sign_up", actor);
  const Token session = parts_.sessions.make_token();
  const auto signed_up = parts_.mail.sign_up(crypto::sha256(token), parts_.newcomers.new_handle(),
                                             {.digest = session.digest,
                                              .method = "sign_up",
                                              .strength = Strength::enrol,
                                              .valid_ms = parts_.sessions.limits().absolute_ms},
                                             actor);
  if (!signed_up.ok()) return parts_.tries.failed(signed_up.error(), "sign_up", actor);
  // If this fails, Accounts::resume() finishes the account later, on any node.
  (void)parts_.accounts.finish(signed_up->account);
  return SignedIn{session.text, signed_up->begun.person_id, signed_up->begun.session.id};
}

Result<Unit, base::Error> ByMail::ask_verification(std::string_view email, const Actor& actor) {
  if (auto judged = judge(); !judged.ok()) return judged;
  if (auto fault = fault_in_email(email)) return *fault;
  return parts_.mail.ask_verification(email, actor);
}

Result<SignedIn, base::Error> ByMail::verify_email(std::string_view token, const Actor& actor) {
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  if (!is_link(token)) return parts_.tries.failed(ended_mail_link(), "verify_email", actor);
  const Token session = parts_.sessions.make_token();
  const auto verified =
      parts_.mail.verify_email(crypto::sha256(token),
                               {.session_id = actor.session_id, .digest = session.digest}, actor);
  if (!verified.ok()) return parts_.tries.failed(verified.error(), "verify_email", actor);
  return SignedIn{session.text, actor.person_id, actor.session_id};
}

Result<SignedIn, base::Error> ByMail::remove_email(const Actor& actor) {
  const Token session = parts_.sessions.make_token();
  const auto removed = parts_.mail.remove_email(
      {.session_id = actor.session_id, .digest = session.digest}, actor);
  if (!removed.ok()) return removed.error();
  return SignedIn{session.text, actor.person_id, actor.session_id};
}

Result<Unit, base::Error> ByMail::judge() const {
  if (parts_.sends_mail) return Unit{};
  return base::Error{base::ErrorCode::auth_method_disabled,
                     "This gateway sends no mail: ask whoever runs it for a link."};
}

bool ByMail::is_link(std::string_view token) const noexcept {
  return token_environment(token, TokenKind::link) == parts_.sessions.environment();
}

}  // namespace turnpike::identity
