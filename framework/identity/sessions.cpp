#include "identity/sessions.h"

#include <algorithm>

#include "identity/name.h"
#include "identity/token.h"
#include "text/encoding.h"

namespace turnpike::identity {
namespace {

base::Error session_ended() {
  return {base::ErrorCode::auth_session_ended, "The session has ended: sign in again."};
}

Standing standing_of(const FoundSession& found) noexcept {
  if (found.session.strength == Strength::enrol) return Standing::enrolling;
  return found.is_stepped_up && !found.is_of_old_token ? Standing::stepped_up : Standing::signed_in;
}

}  // namespace

Result<std::shared_ptr<const Principal>, base::Error> Sessions::authenticate(
    std::string_view token, SessionTransport transport, std::string_view account_id,
    bool changes_something) {
  const auto environment = token_environment(token, TokenKind::session);
  if (!environment || *environment != settings_.environment) return session_ended();
  const auto found = store_.find(crypto::sha256(token), account_id, settings_.limits);
  if (!found.ok()) return found.error();
  if (!found->has_value() || (*found)->session.transport != transport) return session_ended();
  const FoundSession& session = **found;
  if (session.is_of_old_token && changes_something) return session_ended();
  return make_principal({.kind = PrincipalKind::person,
                         .standing = standing_of(session),
                         .role = session.role,
                         .id = session.session.person_id,
                         .account_id = account_id,
                         .session_id = session.session.id});
}

std::string Sessions::page_token(std::string_view session_id) const {
  return text::hex(crypto::hmac_sha256(settings_.page_token_key, session_id));
}

bool Sessions::is_page_token(std::string_view session_id, std::string_view token) const {
  return crypto::equal_in_constant_time(page_token(session_id), token);
}

Result<CreatedSession, base::Error> Sessions::create_bearer(
    std::string_view person_id, std::string_view name, std::int64_t valid_ms,
    std::int64_t step_up_ms, std::string_view method, const Actor& actor) {
  if (auto fault = fault_in_name(name)) return *fault;
  const Token token = make_token();
  const NewSession wanted{.digest = token.digest,
                          .transport = SessionTransport::bearer,
                          .method = std::string(method),
                          .strength = Strength::multi,
                          .valid_ms = std::clamp<std::int64_t>(valid_ms, 1'000, bearer_ms_max),
                          .step_up_ms = step_up_ms,
                          .name = std::string(name)};
  auto session = store_.add(person_id, wanted, actor);
  if (!session.ok()) return std::move(session).error();
  if (!session->has_value()) {
    return base::Error{base::ErrorCode::request_not_found,
                       "There is no person with this id, or they are disabled."};
  }
  return CreatedSession{**std::move(session), token.text};
}

Token Sessions::make_token() const {
  Token token{identity::make_token(settings_.environment, random_, TokenKind::session), {}};
  token.digest = crypto::sha256(token.text);
  return token;
}

}  // namespace turnpike::identity
