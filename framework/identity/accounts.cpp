#include "identity/accounts.h"

#include "crypto/digest.h"
#include "identity/name.h"
#include "identity/token.h"

namespace turnpike::identity {

namespace {

std::optional<base::Error> fault_in_caps(const SpendCaps& caps) {
  if (caps.per_day.value_or(0) >= 0 && caps.per_month.value_or(0) >= 0) return std::nullopt;
  return base::Error{base::ErrorCode::request_malformed,
                     "A cap is a whole number of Credits, 0 or more."};
}

}  // namespace

Result<Account, base::Error> Accounts::create(std::string_view name, std::string_view owner) {
  if (auto fault = fault_in_name(name)) return *fault;
  if (!owner.empty()) {
    if (auto fault = fault_in_name(owner)) return *fault;
  }
  const auto created = store_.create(name, owner);
  if (!created) return created.error();
  return finish(*created);
}

Result<Account, base::Error> Accounts::create_for(std::string_view name, const Founder& founder) {
  if (auto fault = fault_in_name(name)) return *fault;
  const auto created = store_.create(name, "user:" + founder.person_id, founder);
  if (!created) return created.error();
  return finish(*created);
}

Result<Account, base::Error> Accounts::finish(const Account& account) {
  auto active = store_.activate(account.id, grant_);
  if (active && active->status == AccountStatus::provisioning_failed) {
    return base::Error{base::ErrorCode::account_absent,
                       "The account " + account.id + " could not be set up."};
  }
  return active;
}

Result<std::size_t, base::Error> Accounts::resume() {
  const auto pending = store_.list(AccountStatus::provisioning);
  if (!pending) return pending.error();
  for (const Account& account : *pending) {
    const auto activated = store_.activate(account.id, grant_);
    if (!activated) return activated.error();
  }
  return pending->size();
}

Result<Account, base::Error> Accounts::suspend(std::string_view account_id) {
  return store_.set_status(account_id, AccountStatus::suspended, {AccountStatus::active});
}

Result<Account, base::Error> Accounts::reinstate(std::string_view account_id) {
  return store_.set_status(account_id, AccountStatus::active, {AccountStatus::suspended});
}

Result<Account, base::Error> Accounts::close(std::string_view account_id) {
  return store_.set_status(
      account_id, AccountStatus::closed,
      {AccountStatus::active, AccountStatus::suspended, AccountStatus::provisioning_failed});
}

Result<CreatedKey, base::Error> ApiKeys::create(std::string_view account_id, std::string_view name,
                                                const KeyEditor& editor, const KeyBounds& bounds) {
  if (auto fault = fault_in_name(name)) return *fault;
  if (auto fault = fault_in_caps(bounds.caps)) return *fault;
  CreatedKey created;
  created.secret = make_token(environment_, random_);
  auto added =
      store_.add({std::string(account_id), std::string(name), environment_,
                  created.secret.substr(0, token_prefix_bytes), crypto::sha256(created.secret),
                  bounds.caps, bounds.expires_at_ms},
                 editor);
  if (!added) return std::move(added).error();
  created.key = *std::move(added);
  return created;
}

Result<std::vector<ApiKey>, base::Error> ApiKeys::list(std::string_view account_id) {
  return store_.list(account_id);
}

Result<std::optional<ApiKey>, base::Error> ApiKeys::change(std::string_view key_id,
                                                           const KeyEdit& edit,
                                                           const KeyEditor& editor) {
  if (edit.name) {
    if (auto fault = fault_in_name(*edit.name)) return *fault;
  }
  if (auto fault = fault_in_caps(edit.caps.value_or(SpendCaps()))) return *fault;
  return store_.change(key_id, edit, editor);
}

Result<std::optional<ApiKey>, base::Error> ApiKeys::revoke(std::string_view key_id,
                                                           const KeyEditor& editor) {
  auto revoked = store_.revoke(key_id, editor);
  if (revoked && revoked->has_value() && revoked_) revoked_(key_id);
  return revoked;
}

}  // namespace turnpike::identity
