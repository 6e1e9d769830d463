#include "identity/external_sign_in.h"

#include "crypto/digest.h"
#include "identity/name.h"
#include "text/encoding.h"

namespace turnpike::identity {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view method = "oidc";
constexpr std::size_t login_digest_characters = 12;

// The values that bind a provider's ceremony: the provider's key, the session and the browser.
std::string holder_of(const OidcProvider& provider, const Traveller& traveller) {
  return provider.settings().key + "\n" + traveller.session_id + "\n" + traveller.browser;
}

Strength strength_of(bool is_strong) noexcept {
  return is_strong ? Strength::multi : Strength::single;
}

// Derives a login from the identity, so that no two identities get the same login.
std::string login_of(const ProviderSettings& provider, std::string_view subject) {
  const std::string digest = crypto::sha256_hex(provider.issuer + "\n" + std::string(subject));
  return provider.key + "-" + digest.substr(0, login_digest_characters);
}

}  // namespace

ExternalSignIn::ExternalSignIn(const Parts& parts, const std::vector<ProviderSettings>& providers,
                               const std::string& web_url)
    : parts_(parts) {
  for (const ProviderSettings& settings : providers) {
    providers_.push_back(std::make_unique<OidcProvider>(
        settings, web_url + "/login/oidc/" + settings.key + "/callback", parts_.http,
        parts_.clock));
  }
}

OidcProvider* ExternalSignIn::find(std::string_view key) const noexcept {
  for (const auto& provider : providers_) {
    if (provider->settings().key == key) return provider.get();
  }
  return nullptr;
}

ProviderRequest ExternalSignIn::request_of(CeremonyKind kind, const Ceremony& ceremony) const {
  ProviderRequest request{
      .state = ceremony.id,
      .nonce = text::base64url(ceremony.challenge),
      .verifier = text::base64url(parts_.ceremonies.secret_of(ceremony, "verifier"))};
  if (kind == CeremonyKind::provider_step_up) {
    request.authenticated_since_ms = ceremony.expires_at_ms - Ceremonies::valid_ms;
  }
  return request;
}

Result<std::string, ProviderFault> ExternalSignIn::begin(CeremonyKind kind, OidcProvider& provider,
                                                         const Traveller& traveller) const {
  const Ceremony ceremony = parts_.ceremonies.begin(kind, holder_of(provider, traveller));
  return provider.authorization_url(request_of(kind, ceremony));
}

Result<ProviderProof, ProviderFault> ExternalSignIn::redeem(CeremonyKind kind,
                                                            OidcProvider& provider,
                                                            const ProviderAnswer& answer,
                                                            const Traveller& traveller) const {
  const auto ceremony =
      parts_.ceremonies.read(answer.state, kind, holder_of(provider, traveller));
  if (!ceremony.ok()) return ProviderFault{ceremony.error(), "its state is not of this browser"};
  const auto claims = provider.redeem(answer, request_of(kind, *ceremony));
  if (!claims.ok()) return claims.error();
  const ProviderSettings& settings = provider.settings();
  return ProviderProof{.identity = {.ceremony = {ceremony->id, ceremony->expires_at_ms},
                                    .issuer = settings.issuer,
                                    .subject = claims->subject,
                                    .provider = settings.key,
                                    .email = claims->email},
                       .is_strong = settings.counts_as_strong,
                       .newcomer = newcomer_of(settings, *claims)};
}

Result<Newcomer, Error> ExternalSignIn::newcomer_of(const ProviderSettings& provider,
                                                    const IdTokenClaims& claims) const {
  const std::string known_first =
      "If you are known here already, sign in as you did before and link the identity on your "
      "page; otherwise ask for a link whoever runs this gateway, or for an invitation.";
  if (!provider.creates_people) {
    return Error{ErrorCode::auth_registration_closed,
                 "Nobody here has this identity of " + provider.name + ". " + known_first};
  }
  const auto& domains = provider.allowed_domains;
  if (!domains.empty() && !is_of_domains(claims, domains)) {
    return Error{ErrorCode::auth_registration_closed,
                 "Nobody here has this identity of " + provider.name +
                     ", and its e-mail address is of no domain whose people may sign up, or not "
                     "verified. " +
                     known_first};
  }
  const std::string other_login = login_of(provider, claims.subject);
  const std::string email = claims.is_email_verified ? claims.email : std::string();
  const std::string& login = read_login(email).ok() ? email : other_login;
  std::string name = claims.name;
  if (fault_in_name(name)) name = email.empty() ? provider.name + " user" : email;
  if (fault_in_name(name)) name = other_login;
  auto person = parts_.newcomers.read(name, login);
  if (!person.ok()) return std::move(person).error();
  return Newcomer{*std::move(person), other_login};
}

Result<Unit, Error> ExternalSignIn::judge(const Actor& actor) { return parts_.tries.judge(actor); }

Error ExternalSignIn::failed(const Error& error, const Actor& actor) {
  return parts_.tries.failed(error, method, actor);
}

Result<SignedIn, Error> ExternalSignIn::sign_in(const ProviderProof& proof, const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  std::optional<Newcomer> newcomer;
  if (proof.newcomer.ok()) newcomer = *proof.newcomer;
  auto begun = parts_.identities.sign_in(proof.identity, newcomer,
                                         {.digest = token.digest,
                                          .method = std::string(method),
                                          .strength = strength_of(proof.is_strong),
                                          .valid_ms = parts_.sessions.limits().absolute_ms},
                                         actor);
  if (!begun.ok()) return failed(begun.error(), actor);
  if (!begun->has_value()) return failed(proof.newcomer.error(), actor);
  return SignedIn{token.text, (*begun)->person_id, (*begun)->session.id};
}

// The session keeps its method and strength: the provider may prove less than the original sign-in.
Result<SignedIn, Error> ExternalSignIn::step_up(const ProviderProof& proof, const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  const auto done = parts_.identities.step_up(proof.identity,
                                              {.session_id = actor.session_id,
                                               .digest = token.digest,
                                               .step_up_ms = parts_.sessions.limits().step_up_ms},
                                              actor);
  if (!done.ok()) return failed(done.error(), actor);
  return SignedIn{token.text, actor.person_id, actor.session_id};
}

Result<SignedIn, Error> ExternalSignIn::link(const ProviderProof& proof, bool is_first,
                                             const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  RenewedSession session{.session_id = actor.session_id, .digest = token.digest};
  if (is_first) {
    session.method = method;
    session.strength = strength_of(proof.is_strong);
  }
  const auto linked = parts_.identities.link(proof.identity, session, actor);
  if (!linked.ok()) return linked.error();
  return SignedIn{token.text, actor.person_id, actor.session_id};
}

Result<std::string, Error> ExternalSignIn::unlink(std::string_view identity_id,
                                                  const Actor& actor) {
  const Token token = parts_.sessions.make_token();
  const auto removed =
      parts_.identities.unlink(actor.person_id, identity_id,
                               {.session_id = actor.session_id, .digest = token.digest}, actor);
  if (!removed.ok()) return removed.error();
  if (!*removed) {
    return Error{ErrorCode::request_not_found, "You have no external identity with this id."};
  }
  return token.text;
}

}  // namespace turnpike::identity
