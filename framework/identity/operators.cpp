#include "identity/operators.h"

#include <algorithm>

#include "identity/name.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

constexpr std::int64_t use_step_ms = 60'000;

base::Error invalid() {
  return {base::ErrorCode::auth_credential_invalid, "The operator credential is not valid."};
}

}  // namespace

std::string_view name_of(Authority authority) noexcept {
  switch (authority) {
    case Authority::usage_correct:
      return "usage.correct";
  }
  return "";
}

std::optional<Authority> authority(std::string_view name) noexcept {
  for (const Authority each : all_authorities) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

bool Operator::may(Authority authority) const noexcept {
  return std::find(authorities.begin(), authorities.end(), authority) != authorities.end();
}

Result<CreatedOperator, base::Error> Operators::create(std::string_view name,
                                                       std::vector<Authority> authorities) {
  if (auto fault = fault_in_name(name)) return *fault;
  std::sort(authorities.begin(), authorities.end());
  authorities.erase(std::unique(authorities.begin(), authorities.end()), authorities.end());
  if (authorities.empty()) {
    return base::Error{base::ErrorCode::request_malformed,
                       "An operator needs at least one authority."};
  }
  CreatedOperator created;
  created.secret = make_token(environment_, random_, TokenKind::operator_credential);
  auto added =
      store_.add({std::string(name), environment_, created.secret.substr(0, token_prefix_bytes),
                  std::move(authorities), crypto::sha256(created.secret)});
  if (!added) return std::move(added).error();
  created.credential = *std::move(added);
  return created;
}

Result<Operator, base::Error> Operators::authenticate(std::string_view token) {
  const auto environment = token_environment(token, TokenKind::operator_credential);
  if (!environment) return invalid();
  if (*environment != environment_) {
    return base::Error{base::ErrorCode::auth_wrong_environment,
                       "The operator credential belongs to another environment."};
  }
  auto found = store_.find(crypto::sha256(token));
  if (!found) return std::move(found).error();
  if (!found->has_value() || (*found)->revoked_at_ms || (*found)->environment != environment_) {
    return invalid();
  }
  const std::int64_t now_ms = clock_.now_ms();
  if ((*found)->last_used_at_ms.value_or(0) + use_step_ms <= now_ms) {
    (void)store_.record_use((*found)->id, now_ms);
  }
  return **std::move(found);
}

}  // namespace turnpike::identity
