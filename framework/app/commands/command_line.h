// The options and output rules of all subcommands: the configuration, and text for people, or with
// --json exactly one JSON value on standard output. Exit codes: 0 done, 1 failed, 2 usage. Used by
// main()'s Thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <turnpike/abi.h>

#include "app/config/config.h"
#include "identity/account.h"
#include "registry/compile.h"

namespace CLI {
class App;
}

namespace turnpike::app {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

struct CommonOptions {
  std::string config_path;            // --config; empty: see load_config()
  std::vector<std::string> settings;  // texts of --set
  bool json = false;
};

// Adds the options that all commands have.
void add_common_options(CLI::App& command, CommonOptions& options);

// Returns the configuration; nothing: it is invalid, and its problems were printed. Its file is the
// one that --config names, else TURNPIKE_CONFIG, else config/turnpike.yaml if that exists. No other
// environment variable selects the deployment of a command.
std::optional<Config> load_config(const CommonOptions& options);

// Opens a file for a result: truncates it and restricts it to its owner, whatever its mode was
// before.
std::ofstream open_private(const std::string& path);

// Returns one line of JSON. Names of files may hold any bytes; invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& value);

void print_problems(const std::vector<registry::Problem>& problems, bool json);
nlohmann::json problems_json(const std::vector<registry::Problem>& problems);

// Prints `error` as text on standard error, or as JSON; returns exit_failed.
int print_failure(const CommonOptions& options, const std::string& message);

// Compiles the files below `directory`, whatever is installed. `lane`: the lane with terms.
registry::Compiled compile_directory(const std::string& directory, const Lane* lane);

// Prints a running gateway's answer to a reload or a rollback; returns the exit code.
int print_reloaded(const CommonOptions& options, const std::string& answer);

// The subcommands. Each returns an exit code.
int run_serve(const CommonOptions& options, bool strict_registry);
int run_check(const CommonOptions& options);
int run_reload(const CommonOptions& options);
// Sets the level of the running gateway's log; an empty one asks for it.
int run_log_level(const CommonOptions& options, const std::string& level);
int run_migrate(const CommonOptions& options, bool dry_run);
int run_registry_dump(const CommonOptions& options);
int run_registry_hash(const CommonOptions& options);
// Without directories: compares the program in service with the files.
int run_registry_diff(const CommonOptions& options, const std::string& old_directory,
                      const std::string& new_directory);
int run_registry_bump(const CommonOptions& options, bool dry_run);
int run_registry_history(const CommonOptions& options, std::uint32_t most);
int run_registry_rollback(const CommonOptions& options, const std::string& generation_id);
// Writes the project of a plugin into `directory`; empty: a directory with the plugin's name.
int run_plugin_new(const CommonOptions& options, Slot slot, const std::string& name,
                   const std::string& directory);
int run_plugin_inspect(const CommonOptions& options, const std::string& file);
int run_account_create(const CommonOptions& options, const std::string& name,
                       const std::string& owner);
int run_account_list(const CommonOptions& options);
int run_account_suspend(const CommonOptions& options, const std::string& id);
int run_account_resume(const CommonOptions& options, const std::string& id);
int run_account_close(const CommonOptions& options, const std::string& id);
int run_key_create(const CommonOptions& options, const std::string& account,
                   const std::string& name);
int run_key_list(const CommonOptions& options, const std::string& account);
int run_key_rename(const CommonOptions& options, const std::string& id, const std::string& name);
int run_key_revoke(const CommonOptions& options, const std::string& id);
// The arguments of the commands on people, besides the common options.
struct PeopleWords {
  std::string name, login, account, role, person, id, email;
  bool is_everyone = false;
  std::int64_t hours = 12;
  std::int64_t limit = 50;
};
int run_user_create(const CommonOptions& options, const PeopleWords& words);
int run_user_link(const CommonOptions& options, const PeopleWords& words);
int run_user_show(const CommonOptions& options, const PeopleWords& words);
int run_user_list(const CommonOptions& options);
int run_user_disable(const CommonOptions& options, const PeopleWords& words);
int run_user_enable(const CommonOptions& options, const PeopleWords& words);
int run_session_create(const CommonOptions& options, const PeopleWords& words);
// An empty person lists or ends the sessions of everyone.
int run_session_list(const CommonOptions& options, const PeopleWords& words);
int run_session_end(const CommonOptions& options, const PeopleWords& words);
int run_member_list(const CommonOptions& options, const PeopleWords& words);
int run_member_add(const CommonOptions& options, const PeopleWords& words);
int run_member_set(const CommonOptions& options, const PeopleWords& words);
int run_member_remove(const CommonOptions& options, const PeopleWords& words);
int run_invitation_create(const CommonOptions& options, const PeopleWords& words);
int run_invitation_list(const CommonOptions& options, const PeopleWords& words);
int run_invitation_withdraw(const CommonOptions& options, const PeopleWords& words);
int run_audit_list(const CommonOptions& options, const PeopleWords& words);
struct MailWords {
  std::string id;
  std::string to;
  bool all = false;
};
int run_mail_list(const CommonOptions& options, const MailWords& words);
int run_mail_retry(const CommonOptions& options, const MailWords& words);
// Sends one mail at once, bypassing the outbox, and prints the server's error if it rejects the
// mail.
int run_mail_test(const CommonOptions& options, const MailWords& words);
int run_oauth_client_list(const CommonOptions& options);
int run_oauth_client_block(const CommonOptions& options, const PeopleWords& words, bool is_blocked);
// Grants of a person, an account, both, or all.
int run_oauth_grant_list(const CommonOptions& options, const PeopleWords& words);
int run_oauth_grant_revoke(const CommonOptions& options, const PeopleWords& words);
int run_operator_create(const CommonOptions& options, const std::string& name,
                        const std::vector<std::string>& authorities);
int run_operator_list(const CommonOptions& options);
int run_operator_revoke(const CommonOptions& options, const std::string& id);
// `at`: a time in RFC 3339, or "never".
int run_key_expire(const CommonOptions& options, const std::string& id, const std::string& at);
int run_key_cap(const CommonOptions& options, const std::string& id,
                const identity::SpendCaps& caps);
int run_allocation_list(const CommonOptions& options, const std::string& account);
int run_allocation_void(const CommonOptions& options, const std::string& id);
int run_ledger_restored(const CommonOptions& options);
int run_grant(const CommonOptions& options, const std::string& account, std::int64_t credits,
              int days);
// The arguments of the commands on purchases, besides the common options. Amounts are decimal:
// "10.00".
struct CommerceWords {
  std::string id, account, state, amount, note, processor;
  std::string unit_amount = "1.00";
  std::string minimum = "1.00";
  std::string maximum = "1000.00";
  std::string step = "0.10";
  std::int64_t credits = 1'000;
  std::int64_t days = 365;
  std::int64_t revision = 0;
  std::uint32_t limit = 50;
  bool full = false;
  bool all = false;
  bool paused = false;
};
int run_offer_list(const CommonOptions& options);
int run_offer_publish(const CommonOptions& options, const CommerceWords& words);
int run_offer_retire(const CommonOptions& options, const CommerceWords& words);
int run_purchase_list(const CommonOptions& options, const CommerceWords& words);
int run_purchase_show(const CommonOptions& options, const CommerceWords& words);
int run_purchase_reconcile(const CommonOptions& options, const CommerceWords& words);
int run_purchase_confirm(const CommonOptions& options, const CommerceWords& words);
int run_purchase_refund(const CommonOptions& options, const CommerceWords& words);
int run_purchase_resolve(const CommonOptions& options, const CommerceWords& words);
int run_purchase_unlock(const CommonOptions& options, const CommerceWords& words);
int run_commerce_check(const CommonOptions& options);
int run_auto_top_up_list(const CommonOptions& options, const CommerceWords& words);
int run_auto_top_up_resume(const CommonOptions& options, const CommerceWords& words);
int run_auto_top_up_pause(const CommonOptions& options, const CommerceWords& words);
struct CorrectionWords {
  std::string account;
  std::string message;  // id of the charged call
  std::string kind = "refund";
  std::int64_t credits = 0;
  std::string reason;
  std::string reference;
  std::string key;  // empty: derived from the other words, so a repeated command is idempotent
};
int run_correction_create(const CommonOptions& options, const CorrectionWords& words);
// The arguments of the commands on the status, besides the common options.
struct StatusWords {
  std::string id, scope, severity, note, from, to;
  bool all = false;
  std::uint32_t limit = 50;
};
int run_status_incidents(const CommonOptions& options, const StatusWords& words);
int run_status_incident_open(const CommonOptions& options, const StatusWords& words);
int run_status_incident_note(const CommonOptions& options, const StatusWords& words);
int run_status_incident_resolve(const CommonOptions& options, const StatusWords& words);
int run_status_maintenance_announce(const CommonOptions& options, const StatusWords& words);
int run_status_maintenance_cancel(const CommonOptions& options, const StatusWords& words);
int run_status_maintenance_list(const CommonOptions& options);
int run_status_lease(const CommonOptions& options);
int run_paths(const CommonOptions& options);
// The arguments of an export: names and times as texts.
struct ExportWords {
  std::string account;
  bool all = false;
  std::string collection;
  std::string format = "ndjson";
  std::string from;
  std::string to;
  std::string out;  // a file; empty: standard output
};
int run_export(const CommonOptions& options, const ExportWords& words);
struct LedgerVerifyWords {
  std::string checkpoint;       // a file; empty: none
  std::string public_key;       // the signer's; empty: the service's own
  bool signature_only = false;  // checks without the database
};
int run_ledger_verify(const CommonOptions& options, const LedgerVerifyWords& words);
int run_ledger_checkpoint(const CommonOptions& options, const std::string& out);
int run_ledger_key(const CommonOptions& options);
std::string version_line();
int run_version(const CommonOptions& options);
// Runs a command that a lane plugin brings, with all its arguments; nothing: no plugin brings it.
// Throws CLI::ParseError. With --help the plugin prints the command's usage, and no database is
// opened.
std::optional<int> run_plugin_command(const std::string& word,
                                      const std::vector<std::string>& arguments);

}  // namespace turnpike::app
