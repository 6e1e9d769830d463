#include "identity/sign_in.h"

#include "identity/by_mail.h"
#include "identity/name.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

// One error for an unknown passkey, one of a disabled person and a failed proof, so that the caller
// cannot tell them apart.
Error unknown_passkey() {
  return {ErrorCode::auth_sign_in_failed,
          "This passkey lets nobody in here: use another one, or ask for a link."};
}

std::vector<PasskeyDescriptor> descriptors_of(const std::vector<Passkey>& passkeys) {
  std::vector<PasskeyDescriptor> descriptors;
  for (const Passkey& passkey : passkeys) {
    descriptors.push_back({passkey.facts.credential_id, passkey.facts.transports});
  }
  return descriptors;
}

}  // namespace

Result<SignedIn, Error> SignIn::with_link(std::string_view token, const Actor& actor) {
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  const Error unknown{
      ErrorCode::auth_link_ended,
      "This link was used already, is too old, or was replaced: ask for a new one."};
  if (token_environment(token, TokenKind::link) != parts_.sessions.environment()) {
    return parts_.tries.failed(unknown, "link", actor);
  }
  const Token session = parts_.sessions.make_token();
  auto begun = parts_.people.sign_in_with_link(crypto::sha256(token),
                                               {.digest = session.digest,
                                                .method = "link",
                                                .strength = Strength::enrol,
                                                .valid_ms = parts_.sessions.limits().absolute_ms},
                                               actor);
  if (!begun.ok()) return parts_.tries.failed(begun.error(), "link", actor);
  return SignedIn{session.text, begun->person_id, begun->session.id};
}

Result<SignedIn, Error> SignIn::join(std::string_view token, std::string_view name,
                                     std::string_view login, const Actor& actor) {
  if (!parts_.takes_strangers) return registration_closed();
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  auto person = parts_.newcomers.read(name, login);
  if (!person.ok()) return std::move(person).error();
  if (token_environment(token, TokenKind::link) != parts_.sessions.environment()) {
    return parts_.tries.failed(
        {ErrorCode::auth_link_ended, "This is no invitation of this gateway: ask for a new one."},
        "invitation", actor);
  }
  const Token session = parts_.sessions.make_token();
  auto begun = parts_.people.join(crypto::sha256(token), *person,
                                  {.digest = session.digest,
                                   .method = "invitation",
                                   .strength = Strength::enrol,
                                   .valid_ms = parts_.sessions.limits().absolute_ms},
                                  actor);
  if (!begun.ok()) return parts_.tries.failed(begun.error(), "invitation", actor);
  return SignedIn{session.text, begun->person_id, begun->session.id};
}

BegunCeremony SignIn::begin_passkey(std::string_view browser) const {
  const Ceremony ceremony = parts_.ceremonies.begin(CeremonyKind::sign_in, browser);
  return {ceremony.id, request_options(parts_.site, ceremony.challenge)};
}

Result<SignedIn, Error> SignIn::with_passkey(std::string_view ceremony_id,
                                             std::string_view credential, std::string_view browser,
                                             const Actor& actor) {
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  const auto proof = prove(CeremonyKind::sign_in, browser, ceremony_id, credential);
  if (!proof.ok()) return parts_.tries.failed(proof.error(), "passkey", actor);
  const Token session = parts_.sessions.make_token();
  const SessionLimits& limits = parts_.sessions.limits();
  auto begun =
      parts_.people.sign_in_with_passkey(proof->ceremony, proof->owner.passkey.id, proof->facts,
                                         {.digest = session.digest,
                                          .method = "passkey",
                                          .strength = Strength::multi,
                                          .valid_ms = limits.absolute_ms,
                                          .step_up_ms = limits.step_up_ms},
                                         actor);
  if (!begun.ok()) return parts_.tries.failed(begun.error(), "passkey", actor);
  return SignedIn{session.text, begun->person_id, begun->session.id};
}

Result<BegunCeremony, Error> SignIn::begin_step_up(const Actor& actor) const {
  const auto passkeys = parts_.people.passkeys(actor.person_id);
  if (!passkeys.ok()) return passkeys.error();
  const Ceremony ceremony = parts_.ceremonies.begin(CeremonyKind::step_up, actor.session_id);
  return BegunCeremony{ceremony.id,
                       request_options(parts_.site, ceremony.challenge, descriptors_of(*passkeys))};
}

Result<SignedIn, Error> SignIn::step_up(std::string_view ceremony_id, std::string_view credential,
                                        const Actor& actor) {
  if (auto judged = parts_.tries.judge(actor); !judged.ok()) return std::move(judged).error();
  const auto proof = prove(CeremonyKind::step_up, actor.session_id, ceremony_id, credential);
  if (!proof.ok()) return parts_.tries.failed(proof.error(), "passkey", actor);
  const Token token = parts_.sessions.make_token();
  const auto done =
      parts_.people.step_up_with_passkey(proof->ceremony, proof->owner.passkey.id, proof->facts,
                                         renewed(token, actor.session_id), actor);
  if (!done.ok()) return parts_.tries.failed(done.error(), "passkey", actor);
  return SignedIn{token.text, actor.person_id, actor.session_id};
}

Result<BegunCeremony, Error> SignIn::begin_enrol(const Actor& actor) const {
  const auto person = parts_.people.find(actor.person_id);
  if (!person.ok()) return person.error();
  if (!person->has_value()) return unknown_passkey();
  const auto passkeys = parts_.people.passkeys(actor.person_id);
  if (!passkeys.ok()) return passkeys.error();
  const Ceremony ceremony = parts_.ceremonies.begin(CeremonyKind::enrol, actor.session_id);
  const PasskeyUser user{(*person)->webauthn_handle, (*person)->login, (*person)->name};
  return BegunCeremony{ceremony.id,
                       creation_options(parts_.site, parts_.site_name, ceremony.challenge, user,
                                        descriptors_of(*passkeys))};
}

Result<Enrolled, Error> SignIn::enrol(std::string_view ceremony_id, std::string_view credential,
                                      std::string_view name, const Actor& actor) {
  if (auto fault = fault_in_name(name)) return *fault;
  const auto ceremony = parts_.ceremonies.read(ceremony_id, CeremonyKind::enrol, actor.session_id);
  if (!ceremony.ok()) return ceremony.error();
  const auto registration = read_passkey_registration(credential);
  if (!registration.ok()) return registration.error();
  auto facts = check_registration(*registration, parts_.site, ceremony->challenge);
  if (!facts.ok()) return std::move(facts).error();
  const Token token = parts_.sessions.make_token();
  Passkey wanted;
  wanted.person_id = actor.person_id;
  wanted.facts = *std::move(facts);
  wanted.rp_id = parts_.site.id;
  wanted.name = name;
  auto passkey = parts_.people.add_passkey({ceremony->id, ceremony->expires_at_ms}, wanted,
                                           renewed(token, actor.session_id), actor);
  if (!passkey.ok()) return std::move(passkey).error();
  return Enrolled{*std::move(passkey), token.text};
}

Result<std::string, Error> SignIn::remove_passkey(std::string_view passkey_id, const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  RenewedSession session{.session_id = actor.session_id, .digest = token.digest};
  const auto removed = parts_.people.remove_passkey(actor.person_id, passkey_id, session, actor);
  if (!removed.ok()) return removed.error();
  if (!*removed) return Error{ErrorCode::request_not_found, "You have no passkey with this id."};
  return token.text;
}

Result<SignIn::Proof, Error> SignIn::prove(CeremonyKind kind, std::string_view holder,
                                           std::string_view ceremony_id,
                                           std::string_view credential) {
  const auto ceremony = parts_.ceremonies.read(ceremony_id, kind, holder);
  if (!ceremony.ok()) return ceremony.error();
  const auto assertion = read_passkey_assertion(credential);
  if (!assertion.ok()) return assertion.error();
  auto owner = parts_.people.find_passkey(assertion->credential_id);
  if (!owner.ok()) return std::move(owner).error();
  if (!owner->has_value() || (*owner)->person.is_disabled) return unknown_passkey();
  const NewPasskey& known = (*owner)->passkey.facts;
  const auto facts = check_assertion(*assertion,
                                     {.key = known.key,
                                      .sign_count = known.sign_count,
                                      .is_backup_eligible = known.is_backup_eligible,
                                      .user_handle = (*owner)->person.webauthn_handle,
                                      .may_omit_user_handle = kind == CeremonyKind::step_up},
                                     parts_.site, ceremony->challenge);
  if (!facts.ok()) return facts.error();
  return Proof{{ceremony->id, ceremony->expires_at_ms}, **std::move(owner), *facts};
}

RenewedSession SignIn::renewed(const Token& token, std::string_view session_id) const {
  return {.session_id = std::string(session_id),
          .digest = token.digest,
          .method = "passkey",
          .strength = Strength::multi,
          .step_up_ms = parts_.sessions.limits().step_up_ms};
}

}  // namespace turnpike::identity
