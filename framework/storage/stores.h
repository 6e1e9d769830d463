// Code shared by the store implementations of this folder: the database, the clock and random
// source, the conversion of StoreErrors into error values, and the factories that Node calls.
//
// Private to storage/. The context is owned by Node and outlives the stores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "storage/engine/database.h"
#include "storage/node.h"

namespace turnpike::storage {

struct Context {
  Database& database;
  const Clock& clock;
  Random& random;
  TimeSource time = TimeSource::database;
  base::Log* log = nullptr;

  // Wall time of the store: the server's on PostgreSQL, unless tests set another source.
  [[nodiscard]] std::int64_t now_ms(Transaction& transaction) const;
  [[nodiscard]] std::int64_t now_ms(Connection& connection) const;
  // `prefix` and 22 base62 characters of 128 random bits.
  [[nodiscard]] std::string new_id(std::string_view prefix) const;
  void report(std::string_view what, const StoreError& error) const;
};

// Ledger time: never decreases, whatever the clock does.
std::int64_t ledger_now_ms(const Context& context, Transaction& transaction);
std::int64_t ledger_now_ms(const Context& context, Connection& connection);

// Makes every node forget, with its next heartbeat, its cached data of the account: of the key with
// that digest, or of all its keys if the digest is empty.
void record_identity_change(Transaction& transaction, std::string_view account_id,
                            std::string_view digest);

// Books a new allocation with its posting; false when the account has its starter grant already.
bool book_allocation(Transaction& transaction, const ledger::Allocation& allocation,
                     std::int64_t now_ms);

// Locks the account's row until the commit, and returns the reason why the account may not receive
// anything new: it does not exist, or its state is final. A suspended account may receive units,
// which it can use once it is resumed.
std::optional<base::Error> why_not_given(Transaction& transaction, std::string_view account_id);

// Reads a row of id, name, status, created_at, owner.
identity::Account account_at(const Rows& rows, std::size_t row);

// Runs `work`, turning a StoreError into an Error with `code` and a sentence for callers.
template <class T, class F>
Result<T, base::Error> answered(const Context& context, base::ErrorCode code, std::string_view what,
                                F&& work) {
  try {
    return work();
  } catch (const StoreError& error) {
    context.report(what, error);
    if (error.kind() == StoreError::Kind::unknown) {
      return base::Error{code,
                         "The database did not confirm the change, which may have happened: "
                         "look before you repeat it.",
                         1};
    }
    return base::Error{code, "The database cannot be reached; nothing was changed.", 1};
  }
}

// One change in a transaction of its own: an error that `work` returns rolls it back.
template <class T, class F>
Result<T, base::Error> changed(const Context& context, base::ErrorCode code, std::string_view what,
                               F&& work) {
  return answered<T>(context, code, what, [&]() -> Result<T, base::Error> {
    return context.database.write_unless_refused(
        [&](Transaction& transaction) -> Result<T, base::Error> { return work(transaction); });
  });
}

// For reading the books: the Error says whether a retry may help.
template <class T, class F>
Result<T, base::Error> read_answered(const Context& context, std::string_view what, F&& work) {
  try {
    return work();
  } catch (const StoreError& error) {
    context.report(what, error);
    if (error.kind() == StoreError::Kind::fatal) {
      return base::Error{base::ErrorCode::account_read_failed, "The books could not be read."};
    }
    return base::Error{base::ErrorCode::billing_ledger_unavailable,
                       "The Credit ledger cannot be reached.", 1};
  }
}

std::unique_ptr<identity::AccountStore> make_account_store(const Context& context);
std::unique_ptr<identity::KeyStore> make_key_store(const Context& context);
std::unique_ptr<identity::OperatorStore> make_operator_store(const Context& context);
std::unique_ptr<identity::PeopleStore> make_people_store(const Context& context);
std::unique_ptr<identity::PasswordStore> make_password_store(const Context& context);
std::unique_ptr<identity::RecoveryCodeStore> make_recovery_code_store(const Context& context);
std::unique_ptr<identity::ExternalIdentityStore> make_external_identity_store(
    const Context& context);
std::unique_ptr<oauth::GrantStore> make_grant_store(const Context& context);
std::unique_ptr<identity::SessionStore> make_session_store(const Context& context);
std::unique_ptr<identity::MemberStore> make_member_store(const Context& context);
std::unique_ptr<identity::MailStore> make_mail_store(const Context& context);
std::unique_ptr<identity::AuditStore> make_audit_store(const Context& context);
std::unique_ptr<ledger::CorrectionStore> make_correction_store(const Context& context);
// `node_name` and `notes_path` belong to the gateway's data_dir; tools leave them empty.
std::unique_ptr<ledger::LedgerStore> make_ledger_store(const Context& context,
                                                       const std::string& node_name,
                                                       const std::string& notes_path);
std::unique_ptr<ledger::UnknownNotes> open_notes(const std::string& path);
std::unique_ptr<ledger::ReportStore> make_report_store(const Context& context);
std::unique_ptr<ledger::UsageStore> make_usage_store(const Context& context);
std::unique_ptr<registry::ManifestStore> make_manifest_store(const Context& context);
std::unique_ptr<quota::CounterStore> make_free_counts(const Context& context);
std::unique_ptr<SharedSecrets> make_shared_secrets(const Context& context);
std::unique_ptr<records::Table> make_record_table(const Context& context);
std::unique_ptr<status::StatusStore> make_status_store(const Context& context);
std::unique_ptr<notices::NoticeStore> make_notice_store(const Context& context);
std::unique_ptr<commerce::PurchaseStore> make_purchase_store(const Context& context);
std::unique_ptr<commerce::AutoTopUpStore> make_auto_top_up_store(const Context& context);

}  // namespace turnpike::storage
