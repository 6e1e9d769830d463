// account, key, grant, allocation, ledger and migrate: commands of the operator on the database,
// beside a running gateway.
#include <iostream>

#include "app/commands/command_database.h"
#include "app/stores.h"
#include "base/sources.h"
#include "hosts/account/people_json.h"
#include "identity/accounts.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using nlohmann::json;

json to_json(const identity::Account& account) {
  return {{"id", account.id},
          {"name", account.name},
          {"owner", account.owner.empty() ? json(nullptr) : json(account.owner)},
          {"status", name_of(account.status)},
          {"createdAt", text::rfc3339(account.created_at_ms)}};
}

// The same JSON as in the routes.
json to_json(const identity::ApiKey& key) { return hosts::account::key_json(key); }

json to_json(const ledger::Allocation& allocation) {
  return {{"id", allocation.id},
          {"origin", name_of(allocation.origin)},
          {"credits", std::to_string(allocation.units)},
          {"remaining", std::to_string(allocation.remaining)},
          {"effectiveAt", text::rfc3339(allocation.effective_at_ms)},
          {"expiresAt", text::rfc3339(allocation.expires_at_ms)},
          {"status", name_of(allocation.status)}};
}

std::string line_of(const identity::ApiKey& key) {
  std::string line = key.id + "  " + key.prefix + "...  " + std::string(name_of(key.environment)) +
                     "  " + (key.revoked_at_ms ? "revoked  " : "active   ") + key.name;
  if (key.caps.per_day) line += "  " + text::credits_text(*key.caps.per_day) + " a day";
  if (key.expires_at_ms) line += "  until " + text::rfc3339(*key.expires_at_ms);
  if (key.caps.per_month) line += "  " + text::credits_text(*key.caps.per_month) + " a month";
  return line;
}

std::string line_of(const ledger::Allocation& allocation) {
  return allocation.id + "  " + std::string(name_of(allocation.origin)) + "  " +
         text::grouped(allocation.remaining) + " of " + text::credits_text(allocation.units) +
         " until " + text::rfc3339(allocation.expires_at_ms) + "  " +
         std::string(name_of(allocation.status));
}

std::string line_of(const identity::Account& account) {
  return account.id + "  " + std::string(name_of(account.status)) + "  " + account.name;
}

template <class Item>
json to_json_list(const std::vector<Item>& items) {
  json list = json::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return {{"items", list}};
}

template <class Item>
std::string lines_of(const std::vector<Item>& items) {
  std::string lines;
  for (const Item& item : items) lines += (lines.empty() ? "" : "\n") + line_of(item);
  return lines.empty() ? "none" : lines;
}

// For lists: a list of an unknown account is an error, not an empty list.
int with_account(const CommonOptions& options, const std::string& id,
                 const std::function<int(Tools&)>& work) {
  return with_database(options, [&](Tools& tools) {
    const auto account = tools.node.accounts().find(id);
    if (!account.ok()) return print_failure(options, account.error().message);
    if (account->has_value()) return work(tools);
    return print_failure(options,
                         "there is no account '" + id + "'; turnpike account list shows them");
  });
}

identity::ApiKeys keys_of(Tools& tools) {
  return {tools.node.keys(), tools.config.environment, tools.random};
}

}  // namespace

int run_account_create(const CommonOptions& options, const std::string& name,
                       const std::string& owner) {
  return with_database(options, [&](Tools& tools) {
    identity::Accounts accounts(tools.node.accounts(), starter_grant(tools.config));
    return print(
        options, accounts.create(name, owner), [](const auto& account) { return to_json(account); },
        [](const auto& account) { return line_of(account); });
  });
}

int run_account_list(const CommonOptions& options) {
  using List = std::vector<identity::Account>;
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.accounts().list(std::nullopt),
        [](const List& list) { return to_json_list(list); },
        [](const List& list) { return lines_of(list); });
  });
}

namespace {

using AccountChange =
    Result<identity::Account, base::Error> (identity::Accounts::*)(std::string_view);

int change_account(const CommonOptions& options, const std::string& id, AccountChange change) {
  return with_database(options, [&](Tools& tools) {
    identity::Accounts accounts(tools.node.accounts(), starter_grant(tools.config));
    return print(
        options, (accounts.*change)(id), [](const auto& account) { return to_json(account); },
        [](const auto& account) { return line_of(account); });
  });
}

}  // namespace

int run_account_suspend(const CommonOptions& options, const std::string& id) {
  return change_account(options, id, &identity::Accounts::suspend);
}

int run_account_resume(const CommonOptions& options, const std::string& id) {
  return change_account(options, id, &identity::Accounts::reinstate);
}

int run_account_close(const CommonOptions& options, const std::string& id) {
  return change_account(options, id, &identity::Accounts::close);
}

int run_key_create(const CommonOptions& options, const std::string& account,
                   const std::string& name) {
  return with_database(options, [&](Tools& tools) {
    return print(
        options, keys_of(tools).create(account, name),
        [](const auto& created) {
          json object = to_json(created.key);
          object["secret"] = created.secret;
          return object;
        },
        [](const auto& created) {
          return line_of(created.key) + "\nsecret (shown only now): " + created.secret;
        });
  });
}

int run_key_list(const CommonOptions& options, const std::string& account) {
  using List = std::vector<identity::ApiKey>;
  return with_account(options, account, [&](Tools& tools) {
    return print(
        options, keys_of(tools).list(account), [](const List& list) { return to_json_list(list); },
        [](const List& list) { return lines_of(list); });
  });
}

namespace {

// Prints the key that a change returned, or an error if there is no such key.
int print_key(const CommonOptions& options, const std::string& id,
              const Result<std::optional<identity::ApiKey>, base::Error>& key) {
  if (key.ok() && !key->has_value()) {
    return print_failure(options, "there is no key '" + id + "'; turnpike key list shows them");
  }
  return print(
      options, key, [](const auto& found) { return to_json(*found); },
      [](const auto& found) { return line_of(*found); });
}

}  // namespace

int run_key_rename(const CommonOptions& options, const std::string& id, const std::string& name) {
  return with_database(options, [&](Tools& tools) {
    return print_key(options, id, keys_of(tools).change(id, {.name = name}));
  });
}

int run_key_revoke(const CommonOptions& options, const std::string& id) {
  return with_database(
      options, [&](Tools& tools) { return print_key(options, id, keys_of(tools).revoke(id)); });
}

int run_key_cap(const CommonOptions& options, const std::string& id,
                const identity::SpendCaps& caps) {
  return with_database(options, [&](Tools& tools) {
    return print_key(options, id, keys_of(tools).change(id, {.caps = caps}));
  });
}

int run_key_expire(const CommonOptions& options, const std::string& id, const std::string& at) {
  std::optional<std::int64_t> expires_at_ms;
  if (at != "never") {
    expires_at_ms = text::parse_rfc3339(at);
    if (!expires_at_ms) {
      return print_failure(options, "--at: expected a time such as 2027-01-31T12:00:00Z, or never; "
                                    "found '" + at + "'");
    }
  }
  return with_database(options, [&](Tools& tools) {
    return print_key(options, id, keys_of(tools).change(id, {.expires_at_ms = expires_at_ms}));
  });
}

int run_allocation_list(const CommonOptions& options, const std::string& account) {
  using List = std::vector<ledger::Allocation>;
  return with_account(options, account, [&](Tools& tools) {
    return print(
        options, tools.node.ledger().allocations(account),
        [](const List& list) { return to_json_list(list); },
        [](const List& list) { return lines_of(list); });
  });
}

int run_allocation_void(const CommonOptions& options, const std::string& id) {
  return with_database(options, [&](Tools& tools) {
    const auto voided = tools.node.ledger().void_allocation(id);
    if (voided.ok() && !voided->has_value()) {
      return print_failure(
          options, "there is no allocation '" + id + "'; turnpike allocation list shows them");
    }
    return print(
        options, voided, [](const auto& allocation) { return to_json(*allocation); },
        [](const auto& allocation) { return line_of(*allocation); });
  });
}

// The lock on data_dir proves that this node's gateway is stopped; the operator must stop other
// nodes.
int run_ledger_restored(const CommonOptions& options) {
  return with_database(
      options,
      [&](Tools& tools) {
        const auto restored = tools.node.ledger().restored();
        if (!restored.ok()) return print_failure(options, restored.error().text);
        if (options.json) {
          std::cout << json{{"epoch", restored->epoch}, {"leases", restored->leases}} << '\n';
        } else {
          std::cout << "epoch " << restored->epoch << " begins; "
                    << text::counted(restored->leases, "lease")
                    << (restored->leases == 1 ? " was" : " were") << " taken back\n";
        }
        return exit_done;
      },
      storage::Role::gateway);
}

int run_grant(const CommonOptions& options, const std::string& account, std::int64_t credits,
              int days) {
  return with_database(options, [&](Tools& tools) {
    constexpr std::int64_t day_ms = 24ll * 60 * 60 * 1000;
    return print(
        options,
        tools.node.ledger().grant({.account_id = account,
                                   .units = credits,
                                   .origin = ledger::Origin::operator_grant,
                                   .expires_at_ms = tools.clock.now_ms() + days * day_ms,
                                   .effective_at_ms = 0}),
        [](const auto& allocation) { return to_json(allocation); },
        [](const auto& allocation) {
          return "granted " + text::credits_text(allocation.units) + " until " +
                 text::rfc3339(allocation.expires_at_ms) + " as " + allocation.id;
        });
  });
}

int run_migrate(const CommonOptions& options, bool dry_run) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const base::SystemClock clock;
  const auto steps = storage::migrate(storage_settings(*config), clock, dry_run);
  if (!steps.ok()) return print_failure(options, steps.error());
  if (options.json) {
    json list = json::array();
    for (const auto& step : *steps)
      list.push_back({{"version", step.version}, {"name", step.name}});
    std::cout << json{{"dry_run", dry_run}, {"applied", list}} << '\n';
    return exit_done;
  }
  for (const auto& step : *steps) {
    std::cout << (dry_run ? "would apply " : "applied ") << step.version << ' ' << step.name
              << '\n';
  }
  if (steps->empty()) std::cout << "the schema is up to date\n";
  return exit_done;
}

}  // namespace turnpike::app
