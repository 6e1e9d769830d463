#include "identity/operators.h"

#include "identity/name.h"
#include "identity/token.h"

namespace turnpike::identity {
namespace {

constexpr std::int64_t use_step_ms = 60'000;

base::Error invalid_operator() {
  return {base::ErrorCode::auth_credential_invalid, "The operator credential is not valid."};
}

}  // namespace

Result<CreatedOperator, base::Error> Operators::create(std::string_view name,
                                                       Authorities authorities) {
  if (auto fault = fault_in_name(name)) return *fault;
  if (authorities.empty()) {
    return base::Error{base::ErrorCode::request_malformed,
                       "An operator needs at least one authority."};
  }
  CreatedOperator created;
  created.secret = make_token(environment_, random_, TokenKind::operator_credential);
  auto added =
      store_.add({std::string(name), environment_, created.secret.substr(0, token_prefix_bytes),
                  authorities, crypto::sha256(created.secret)});
  if (!added) return std::move(added).error();
  created.credential = *std::move(added);
  return created;
}

Result<std::shared_ptr<const Principal>, base::Error> Operators::authenticate(
    std::string_view token) {
  const auto environment = token_environment(token, TokenKind::operator_credential);
  if (!environment) return invalid_operator();
  if (*environment != environment_) {
    return base::Error{base::ErrorCode::auth_wrong_environment,
                       "The operator credential belongs to another environment."};
  }
  const auto known = find(crypto::sha256(token));
  if (!known.ok()) return known.error();
  return make_principal({.kind = PrincipalKind::operator_credential,
                         .authorities = known->authorities,
                         .id = known->id});
}

Result<Operator, base::Error> Operators::find(const crypto::Sha256& digest) {
  auto found = store_.find(digest);
  if (!found) return std::move(found).error();
  if (!found->has_value() || (*found)->revoked_at_ms || (*found)->environment != environment_) {
    return invalid_operator();
  }
  const std::int64_t now_ms = clock_.now_ms();
  if ((*found)->last_used_at_ms.value_or(0) + use_step_ms <= now_ms) {
    (void)store_.record_use((*found)->id, now_ms);
  }
  return **std::move(found);
}

}  // namespace turnpike::identity
