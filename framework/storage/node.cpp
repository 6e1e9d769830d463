#include "storage/node.h"

#include <algorithm>
#include <filesystem>

#include "storage/data_dir.h"
#include "storage/engine/checkpointer.h"
#include "storage/migration.h"
#include "storage/stores.h"

namespace turnpike::storage {
namespace {

// A gateway that commits without a pause leaves the file free for moments only, and SQLite does not
// queue: an operator's command retries longer, since no call waits for it.
Settings settings_for(Role role, Settings settings) {
  constexpr std::uint32_t tool_busy_timeout_ms = 30'000;
  if (role == Role::tool) {
    settings.busy_timeout_ms = std::max(settings.busy_timeout_ms, tool_busy_timeout_ms);
  }
  return settings;
}

bool has_checkpointer(const Settings& settings, Role role) {
  return role == Role::gateway && settings.engine == Engine::sqlite;
}

std::vector<std::string> prelude_of(const Settings& settings, Role role) {
  if (!has_checkpointer(settings, role)) return {};
  return {Checkpointer::prelude()};
}

// Members in order of construction: stores are destroyed before the database, and the database
// before the lock.
class OpenNode final : public Node {
 public:
  OpenNode(const Settings& settings, Role role, Sources sources, bool is_migrated)
      : data_dir_(role == Role::gateway
                      ? std::make_unique<DataDir>(settings.data_dir, sources.random)
                      : nullptr),
        database_(settings_for(role, settings), prelude_of(settings, role)),
        context_{database_, sources.clock, sources.random, sources.time, sources.log},
        accounts_(make_account_store(context_)),
        keys_(make_key_store(context_)),
        operators_(make_operator_store(context_)),
        people_(make_people_store(context_)),
        passwords_(make_password_store(context_)),
        recovery_codes_(make_recovery_code_store(context_)),
        external_identities_(make_external_identity_store(context_)),
        grants_(make_grant_store(context_)),
        sessions_(make_session_store(context_)),
        members_(make_member_store(context_)),
        mail_(make_mail_store(context_)),
        audit_(make_audit_store(context_)),
        ledger_(make_ledger_store(context_, data_dir_ ? data_dir_->node_name() : "",
                                  settings.data_dir + "/unknown_calls")),
        corrections_(make_correction_store(context_)),
        usage_(make_usage_store(context_)),
        reports_(make_report_store(context_)),
        free_counts_(make_free_counts(context_)),
        manifest_(make_manifest_store(context_)),
        secrets_(make_shared_secrets(context_)),
        records_(make_record_table(context_)),
        status_(make_status_store(context_)),
        notices_(make_notice_store(context_)),
        purchases_(make_purchase_store(context_)),
        auto_top_ups_(make_auto_top_up_store(context_)) {
    if (role == Role::gateway) database_.open_sessions();
    if (!is_migrated) refuse_other_schema();
    if (has_checkpointer(settings, role)) {
      checkpointer_ = std::make_unique<Checkpointer>(database_);
    }
  }

  std::string name() const override { return data_dir_ ? data_dir_->node_name() : ""; }

  identity::AccountStore& accounts() noexcept override { return *accounts_; }
  identity::KeyStore& keys() noexcept override { return *keys_; }
  identity::OperatorStore& operators() noexcept override { return *operators_; }
  identity::PeopleStore& people() noexcept override { return *people_; }
  identity::PasswordStore& passwords() noexcept override { return *passwords_; }
  identity::RecoveryCodeStore& recovery_codes() noexcept override { return *recovery_codes_; }
  identity::ExternalIdentityStore& external_identities() noexcept override {
    return *external_identities_;
  }
  oauth::GrantStore& grants() noexcept override { return *grants_; }
  identity::SessionStore& sessions() noexcept override { return *sessions_; }
  identity::MemberStore& members() noexcept override { return *members_; }
  identity::MailStore& mail() noexcept override { return *mail_; }
  identity::AuditStore& audit() noexcept override { return *audit_; }
  ledger::LedgerStore& ledger() noexcept override { return *ledger_; }
  ledger::CorrectionStore& corrections() noexcept override { return *corrections_; }
  ledger::UsageStore& usage() noexcept override { return *usage_; }
  ledger::ReportStore& reports() noexcept override { return *reports_; }
  quota::CounterStore& free_counts() noexcept override { return *free_counts_; }
  registry::ManifestStore& manifest() noexcept override { return *manifest_; }
  SharedSecrets& secrets() noexcept override { return *secrets_; }
  records::Table& records() noexcept override { return *records_; }
  status::StatusStore& status() noexcept override { return *status_; }
  notices::NoticeStore& notices() noexcept override { return *notices_; }
  commerce::PurchaseStore& purchases() noexcept override { return *purchases_; }
  commerce::AutoTopUpStore& auto_top_ups() noexcept override { return *auto_top_ups_; }

 private:
  void refuse_other_schema() {
    database_.with([&](Connection& connection) {
      const std::string fault = check_schema(connection, shipped_schema(database_.engine()));
      if (!fault.empty()) throw StoreError(StoreError::Kind::fatal, fault);
    });
  }

  const std::unique_ptr<DataDir> data_dir_;
  Database database_;
  const Context context_;
  const std::unique_ptr<identity::AccountStore> accounts_;
  const std::unique_ptr<identity::KeyStore> keys_;
  const std::unique_ptr<identity::OperatorStore> operators_;
  const std::unique_ptr<identity::PeopleStore> people_;
  const std::unique_ptr<identity::PasswordStore> passwords_;
  const std::unique_ptr<identity::RecoveryCodeStore> recovery_codes_;
  const std::unique_ptr<identity::ExternalIdentityStore> external_identities_;
  const std::unique_ptr<oauth::GrantStore> grants_;
  const std::unique_ptr<identity::SessionStore> sessions_;
  const std::unique_ptr<identity::MemberStore> members_;
  const std::unique_ptr<identity::MailStore> mail_;
  const std::unique_ptr<identity::AuditStore> audit_;
  const std::unique_ptr<ledger::LedgerStore> ledger_;
  const std::unique_ptr<ledger::CorrectionStore> corrections_;
  const std::unique_ptr<ledger::UsageStore> usage_;
  const std::unique_ptr<ledger::ReportStore> reports_;
  const std::unique_ptr<quota::CounterStore> free_counts_;
  const std::unique_ptr<registry::ManifestStore> manifest_;
  const std::unique_ptr<SharedSecrets> secrets_;
  const std::unique_ptr<records::Table> records_;
  const std::unique_ptr<status::StatusStore> status_;
  const std::unique_ptr<notices::NoticeStore> notices_;
  const std::unique_ptr<commerce::PurchaseStore> purchases_;
  const std::unique_ptr<commerce::AutoTopUpStore> auto_top_ups_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace

Result<std::unique_ptr<Node>, std::string> Node::open(const Settings& settings, Role role,
                                                      Sources sources, bool is_migrated) {
  try {
    if (role == Role::tool && settings.engine == Engine::sqlite &&
        !std::filesystem::exists(sqlite_file(settings))) {
      return "there is no database at " + sqlite_file(settings) + ": run `turnpike migrate` first";
    }
    return std::unique_ptr<Node>(std::make_unique<OpenNode>(settings, role, sources, is_migrated));
  } catch (const StoreError& error) {
    return std::string(error.what());
  }
}

Result<std::vector<MigrationStep>, std::string> migrate(const Settings& settings,
                                                        const Clock& clock, bool dry_run) {
  if (dry_run && settings.engine == Engine::sqlite &&
      !std::filesystem::exists(sqlite_file(settings))) {
    std::vector<MigrationStep> steps;
    for (const Migration& each : shipped_schema(settings.engine).migrations) {
      steps.push_back({each.version, each.name});
    }
    return steps;
  }
  try {
    Settings one_session = settings;
    one_session.sessions = 1;
    one_session.statement_timeout_ms = 600'000;  // a migration may take longer than a request
    Database database(one_session);
    return database.with([&](Connection& connection) {
      return apply_migrations(connection, database.writer(), shipped_schema(settings.engine),
                              clock.now_ms(), dry_run);
    });
  } catch (const StoreError& error) {
    return std::string(error.what());
  }
}

}  // namespace turnpike::storage
