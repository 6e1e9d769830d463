// Node: one process's access to the database, and the owner of every port over it. The gateway
// opens it as `Role::gateway`: the lock on data_dir then belongs to this process until it ends,
// which proves that every earlier holder is dead. Tools open it as `Role::tool`, beside a running
// gateway. A gateway connects all its sessions at once, a tool those that it uses.
//
// open() migrates nothing: it refuses a database that is empty, older than this build, tampered
// with, or too new to be read; migrate() updates it. app/ owns the Node; it must outlive all users
// of its ports. The ports are safe for concurrent use from the blocking pool and plain Threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/log.h"
#include "commerce/auto_top_up_store.h"
#include "commerce/store.h"
#include "identity/account_store.h"
#include "identity/audit.h"
#include "identity/external_identity.h"
#include "identity/key_store.h"
#include "identity/mail.h"
#include "identity/members.h"
#include "identity/operators.h"
#include "identity/password_store.h"
#include "identity/person.h"
#include "identity/recovery_codes.h"
#include "identity/session.h"
#include "ledger/corrections.h"
#include "ledger/reports.h"
#include "ledger/store.h"
#include "ledger/usage.h"
#include "notices/store.h"
#include "oauth/grant_store.h"
#include "quota/counter_store.h"
#include "records/table.h"
#include "registry/generation.h"
#include "status/store.h"
#include "storage/people/shared_secrets.h"
#include "storage/settings.h"

namespace turnpike::storage {

enum class Role : std::uint8_t { gateway, tool };

// The clock for ledger time. `database` is for service: on PostgreSQL all nodes then share the
// server's clock (with SQLite it is the process's clock). `argument` is for tests.
enum class TimeSource : std::uint8_t { database, argument };

class Node {
 public:
  struct Sources {
    const Clock& clock;
    Random& random;
    TimeSource time = TimeSource::database;
    base::Log* log = nullptr;  // null: failures are reported by their codes only
  };

  virtual ~Node() = default;
  // `is_migrated`: migrate() has just returned. It checked the schema, so open() does not, because
  // the check takes PostgreSQL 25 ms. The error is a sentence for the operator.
  static Result<std::unique_ptr<Node>, std::string> open(const Settings& settings, Role role,
                                                         Sources sources, bool is_migrated = false);

  // Random, made once per data_dir; empty for tools.
  [[nodiscard]] virtual std::string name() const = 0;

  [[nodiscard]] virtual identity::AccountStore& accounts() noexcept = 0;
  [[nodiscard]] virtual identity::KeyStore& keys() noexcept = 0;
  [[nodiscard]] virtual identity::OperatorStore& operators() noexcept = 0;
  [[nodiscard]] virtual identity::PeopleStore& people() noexcept = 0;
  [[nodiscard]] virtual identity::PasswordStore& passwords() noexcept = 0;
  [[nodiscard]] virtual identity::RecoveryCodeStore& recovery_codes() noexcept = 0;
  [[nodiscard]] virtual identity::ExternalIdentityStore& external_identities() noexcept = 0;
  [[nodiscard]] virtual oauth::GrantStore& grants() noexcept = 0;
  [[nodiscard]] virtual identity::SessionStore& sessions() noexcept = 0;
  [[nodiscard]] virtual identity::MemberStore& members() noexcept = 0;
  [[nodiscard]] virtual identity::MailStore& mail() noexcept = 0;
  [[nodiscard]] virtual identity::AuditStore& audit() noexcept = 0;
  [[nodiscard]] virtual ledger::LedgerStore& ledger() noexcept = 0;
  [[nodiscard]] virtual ledger::CorrectionStore& corrections() noexcept = 0;
  [[nodiscard]] virtual ledger::UsageStore& usage() noexcept = 0;
  [[nodiscard]] virtual ledger::ReportStore& reports() noexcept = 0;
  [[nodiscard]] virtual quota::CounterStore& free_counts() noexcept = 0;
  [[nodiscard]] virtual registry::ManifestStore& manifest() noexcept = 0;
  [[nodiscard]] virtual SharedSecrets& secrets() noexcept = 0;
  [[nodiscard]] virtual records::Table& records() noexcept = 0;
  [[nodiscard]] virtual status::StatusStore& status() noexcept = 0;
  [[nodiscard]] virtual commerce::PurchaseStore& purchases() noexcept = 0;
  [[nodiscard]] virtual commerce::AutoTopUpStore& auto_top_ups() noexcept = 0;
  [[nodiscard]] virtual notices::NoticeStore& notices() noexcept = 0;
};

struct MigrationStep {
  std::uint32_t version = 0;
  std::string name;
};

// Checks the schema, applies the missing migrations and returns those applied (with `dry_run`:
// those missing). Each has its own transaction; in an empty database, which nobody uses, all have
// one. Safe to call from several nodes at once.
Result<std::vector<MigrationStep>, std::string> migrate(const Settings& settings,
                                                        const Clock& clock, bool dry_run);

}  // namespace turnpike::storage
