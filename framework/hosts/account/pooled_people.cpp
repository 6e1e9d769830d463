#include "hosts/account/pooled_people.h"

#include <sys/resource.h>

#include <algorithm>

#include "identity/token.h"

namespace turnpike::hosts::account {
namespace {

constexpr std::uint32_t threads_max = 4;
constexpr std::uint32_t queued_max = 256;
constexpr std::uint32_t hashing_threads_max = 2;
constexpr std::uint32_t hashing_queued_max = 32;
constexpr std::size_t user_agent_bytes_max = 200;

// A low priority alone is not enough: with a hash on every processor the p99 of calls doubles
// (benchmarks/gateway/sign_ins_beside_calls.py).
std::uint32_t hashing_threads(std::uint32_t processors) noexcept {
  return std::clamp(processors / 2, 1u, hashing_threads_max);
}

// Returns the User-Agent, cleaned for a log or a page.
std::string user_agent_of(Headers headers) {
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, "User-Agent")) continue;
    std::string text(field.value.substr(0, user_agent_bytes_max));
    for (char& c : text) c = c < 0x20 || c > 0x7E ? '?' : c;
    return text;
  }
  return {};
}

}  // namespace

bool is_session_token(std::string_view token) noexcept {
  return identity::token_environment(token, identity::TokenKind::session).has_value();
}

PooledPeople::PooledPeople(Parts parts)
    : parts_(std::move(parts)),
      user_(parts_.pool.add_user("people", threads_max, queued_max)),
      hashing_pool_(hashing_threads(parts_.processors), hashing_queued_max),
      hashing_user_(hashing_pool_.add_user("passwords", hashing_threads_max, hashing_queued_max)) {}

void PooledPeople::lower_own_priority() noexcept {
  constexpr int low_priority = 10;
  ::setpriority(PRIO_PROCESS, 0, low_priority);  // on Linux this affects only the calling thread
}

Result<Caller, base::Error> PooledPeople::authenticate(std::string_view token,
                                                       identity::SessionTransport transport,
                                                       const Presented& presented) const {
  return ask([&] {
    return parts_.sessions.authenticate(token, transport, presented.account_id,
                                        presented.changes_something);
  });
}

identity::Actor actor_of(Turn& turn, const Caller& caller, const ClientAddress& clients) {
  const Headers headers = turn.request.headers();
  identity::Actor actor;
  actor.address = clients.of(turn.request.peer_address(), headers);
  actor.user_agent = user_agent_of(headers);
  actor.request_id = turn.request_id();
  if (caller == nullptr) return actor;
  actor.principal = text_of(*caller);
  actor.session_id = caller->session_id;
  if (caller->kind == PrincipalKind::person) actor.person_id = caller->id;
  return actor;
}

std::vector<std::string_view> PooledPeople::step_up_methods(std::string_view person_id) const {
  const auto credentials = ask([&] { return parts_.passwords.credentials(person_id); });
  if (!credentials.ok()) return {};
  return identity::step_up_methods(*credentials, parts_.passwords);
}

std::string PooledPeople::step_up_advice(std::string_view person_id) const {
  std::string advice;
  for (const std::string_view method : step_up_methods(person_id)) {
    advice.append(advice.empty() ? "use your " : ", or your ").append(method);
    advice.append(" (POST /v1/step-up/").append(method).append(")");
  }
  return advice.empty() ? "sign in again" : advice + " on the web host";
}

base::Error PooledPeople::overloaded() {
  return {base::ErrorCode::auth_overloaded,
          "Too many people are signing in or changing something: try again shortly.", 1};
}

}  // namespace turnpike::hosts::account
