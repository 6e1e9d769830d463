// The words every subcommand shares: the configuration it runs under, and how it prints: text for
// people, or with --json exactly one JSON value on standard output. Exit codes: 0 done, 1 failed,
// 2 usage. Used by main()'s Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/config.h"
#include "identity/account.h"
#include "registry/compile.h"

namespace turnpike::app {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

struct CommonOptions {
  std::string config_path;            // empty: the default, if it exists
  std::vector<std::string> settings;  // texts of --set
  bool json = false;
};

// The configuration, or nothing after the problems were printed.
std::optional<Config> load_config(const CommonOptions& options);

// One line. Names of files may be any bytes: what is not UTF-8 of them is shown as U+FFFD.
std::string json_text(const nlohmann::json& value);

void print_problems(const std::vector<registry::Problem>& problems, bool json);
nlohmann::json to_json(const std::vector<registry::Problem>& problems);

// Prints `error` as text on standard error, or as JSON; returns exit_failed.
int print_failure(const CommonOptions& options, const std::string& message);

// The program of the files below `directory`, whatever is installed.
registry::Compiled compile_directory(const std::string& directory);

// What a running gateway answered to a reload or a rollback; returns the exit code.
int print_reloaded(const CommonOptions& options, const std::string& answer);

// The subcommands. Each returns an exit code.
int run_serve(const CommonOptions& options, bool strict_registry);
int run_check(const CommonOptions& options);
int run_reload(const CommonOptions& options);
int run_migrate(const CommonOptions& options, bool dry_run);
int run_registry_dump(const CommonOptions& options);
int run_registry_hash(const CommonOptions& options);
// Without directories, what serves and the files.
int run_registry_diff(const CommonOptions& options, const std::string& old_directory,
                      const std::string& new_directory);
int run_registry_bump(const CommonOptions& options, bool dry_run);
int run_registry_history(const CommonOptions& options, std::uint32_t most);
int run_registry_rollback(const CommonOptions& options, const std::string& generation_id);
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
int run_operator_create(const CommonOptions& options, const std::string& name,
                        const std::vector<std::string>& authorities);
int run_operator_list(const CommonOptions& options);
int run_operator_revoke(const CommonOptions& options, const std::string& id);
int run_key_cap(const CommonOptions& options, const std::string& id,
                const identity::SpendCaps& caps);
int run_allocation_list(const CommonOptions& options, const std::string& account);
int run_allocation_void(const CommonOptions& options, const std::string& id);
int run_ledger_restored(const CommonOptions& options);
int run_grant(const CommonOptions& options, const std::string& account, std::int64_t credits,
              int days);
int run_paths(const CommonOptions& options);
// What an export is of, as the command line says it: names and times as texts.
struct ExportWords {
  std::string account;
  bool all = false;
  std::string collection;
  std::string format = "ndjson";
  std::string from;
  std::string to;
};
int run_export(const CommonOptions& options, const ExportWords& words);
struct LedgerVerifyWords {
  std::string checkpoint;       // a file; empty: none
  std::string public_key;       // of its signer; empty: the service's own
  bool signature_only = false;  // without the database
};
int run_ledger_verify(const CommonOptions& options, const LedgerVerifyWords& words);
int run_ledger_checkpoint(const CommonOptions& options, const std::string& out);
int run_ledger_key(const CommonOptions& options);
int run_version(const CommonOptions& options);
// A command that a lane plugin brings, with all its arguments; nothing: none brings it. Throws
// CLI::ParseError.
std::optional<int> run_lane_command(const std::string& word,
                                    const std::vector<std::string>& arguments);

}  // namespace turnpike::app
