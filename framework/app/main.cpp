// turnpike: the one binary. Parses the command line (CLI11: chosen for its subcommands and its
// messages) and calls the subcommand.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "app/commands/command_line.h"
#include "app/commands/command_status_verify.h"
#include "app/plugins/plugin_project.h"
#include "base/log.h"
#include "registry/problems.h"

namespace {

using turnpike::app::CommonOptions;

constexpr std::int64_t credits_max = 1'000'000'000'000;

struct Words {  // the subcommands' own arguments
  std::string name, owner, account, id, file, old_directory, new_directory, slot, directory, at;
  std::vector<std::string> authorities;
  std::int64_t credits = 0;
  int days = 365;
  turnpike::identity::SpendCaps caps;
  bool dry_run = false;
  bool strict_registry = false;
  std::uint32_t most = 20;
  std::string level;
  turnpike::app::ExportWords exported;
  turnpike::app::LedgerVerifyWords verify;
  turnpike::app::CorrectionWords correction;
  turnpike::app::CommerceWords commerce;
  turnpike::app::PeopleWords people;
  turnpike::app::MailWords mails;
  turnpike::app::StatusWords status;
  turnpike::app::StatusVerifyWords status_verify;
};

// Adds a subcommand with the common options.
CLI::App* add(CLI::App& parent, const std::string& name, const std::string& description,
              CommonOptions& options, int& code, std::function<int()> run) {
  CLI::App* command = parent.add_subcommand(name, description);
  add_common_options(*command, options);
  command->callback([&code, run = std::move(run)] { code = run(); });
  return command;
}

void add_registry_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  add(app, "check", "Check configuration, registry, plugins, pages; print every problem", options,
      code, [&] { return run_check(options); });
  add(app, "reload", "Make the running gateway take registry and pages as they are now", options,
      code, [&] { return run_reload(options); });
  CLI::App* registry = app.add_subcommand("registry", "The compiled registry");
  registry->require_subcommand(1);
  add(*registry, "dump", "Print the compiled program", options, code,
      [&] { return run_registry_dump(options); });
  add(*registry, "hash", "Print the program's payload hash", options, code,
      [&] { return run_registry_hash(options); });
  CLI::App* diff = add(
      *registry, "diff", "What serves and the files, or two registry directories", options, code,
      [&] { return run_registry_diff(options, words.old_directory, words.new_directory); });
  CLI::Option* older = diff->add_option("OLD", words.old_directory, "Registry directory");
  CLI::Option* newer = diff->add_option("NEW", words.new_directory, "Registry directory");
  older->needs(newer);
  add(*registry, "bump", "Raise the revisions and versions in the files that need it", options,
      code, [&] { return run_registry_bump(options, words.dry_run); })
      ->add_flag("--dry-run", words.dry_run, "Print what would be raised");
  add(*registry, "history", "What was installed, newest first", options, code,
      [&] { return run_registry_history(options, words.most); })
      ->add_option("--limit", words.most, "So many lines")
      ->check(CLI::Range(1, 10'000));
  add(*registry, "rollback", "Serve a generation that was installed before", options, code,
      [&] { return run_registry_rollback(options, words.id); })
      ->add_option("GENERATION", words.id, "Its id, as `registry history` shows it")
      ->required();
  CLI::App* plugin = app.add_subcommand("plugin", "Plugin files");
  plugin->require_subcommand(1);
  CLI::App* fresh =
      add(*plugin, "new", "Write the project of a plugin, with its test", options, code, [&] {
        return run_plugin_new(options, *slot_named(words.slot), words.name, words.directory);
      });
  fresh->add_option("SLOT", words.slot, "provider, lane or processor")
      ->required()
      ->check(CLI::IsMember(
          std::vector<std::string>(std::begin(slot_words), std::end(slot_words))));
  fresh->add_option("NAME", words.name, "Of the plugin, such as dao_votes")->required();
  fresh->add_option("--directory", words.directory, "To write to; NAME where it is not given");
  add(*plugin, "inspect", "Tell what a plugin file is, without running it", options, code,
      [&] { return run_plugin_inspect(options, words.file); })
      ->add_option("FILE", words.file, "A .so file")
      ->required();
}

void add_log_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  CLI::App* log = app.add_subcommand("log", "The running gateway's log");
  log->require_subcommand(1);
  const auto& levels = turnpike::base::severity_names;
  add(*log, "level", "Set how much it writes until it ends, or tell how much that is", options,
      code, [&] { return turnpike::app::run_log_level(options, words.level); })
      ->add_option("LEVEL", words.level, "The least severity of its lines")
      ->check(CLI::IsMember(std::vector<std::string>(levels.begin(), levels.end())));
}

void add_account_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CLI::App* account = app.add_subcommand("account", "Billing accounts");
  account->require_subcommand(1);
  CLI::App* open = add(*account, "create", "Create an account with its starter grant", options,
                       code, [&] { return run_account_create(options, words.name, words.owner); });
  open->add_option("--name", words.name, "For people")->required();
  open->add_option("--owner", words.owner, "Subject it belongs to: one starter grant for each");
  add(*account, "list", "List the accounts", options, code,
      [&] { return run_account_list(options); });
  const auto add_change = [&](const char* name, const char* description, auto run) {
    add(*account, name, description, options, code, [&, run] { return run(options, words.id); })
        ->add_option("--id", words.id, "Account id")
        ->required();
  };
  add_change("suspend", "Refuse the account's calls until it is resumed", run_account_suspend);
  add_change("resume", "Let a suspended account call again", run_account_resume);
  add_change("close", "Close an account for good", run_account_close);
}

void add_key_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CLI::App* key = app.add_subcommand("key", "API keys");
  key->require_subcommand(1);
  CLI::App* create = add(*key, "create", "Create a key; its secret is printed once", options, code,
                         [&] { return run_key_create(options, words.account, words.name); });
  create->add_option("--account", words.account, "Account id")->required();
  create->add_option("--name", words.name, "For people")->required();
  add(*key, "list", "List an account's keys", options, code,
      [&] { return run_key_list(options, words.account); })
      ->add_option("--account", words.account, "Account id")
      ->required();
  CLI::App* rename = add(*key, "rename", "Give a key another name", options, code,
                         [&] { return run_key_rename(options, words.id, words.name); });
  rename->add_option("--id", words.id, "Key id")->required();
  rename->add_option("--name", words.name, "For people")->required();
  add(*key, "revoke", "Revoke a key", options, code,
      [&] { return run_key_revoke(options, words.id); })
      ->add_option("--id", words.id, "Key id")
      ->required();
  CLI::App* cap = add(*key, "cap", "Set what a key may spend; without a number, no cap", options,
                      code, [&] { return run_key_cap(options, words.id, words.caps); });
  cap->add_option("--id", words.id, "Key id")->required();
  cap->add_option("--per-day", words.caps.per_day,
                  "Whole Credits in a UTC day, of what it spends under a cap")
      ->check(CLI::Range(std::int64_t{0}, credits_max));
  cap->add_option("--per-month", words.caps.per_month,
                  "Whole Credits in a UTC month, of what it spends under a cap")
      ->check(CLI::Range(std::int64_t{0}, credits_max));
  CLI::App* expire = add(*key, "expire", "Set until when a key is good", options, code,
                         [&] { return run_key_expire(options, words.id, words.at); });
  expire->add_option("--id", words.id, "Key id")->required();
  expire->add_option("--at", words.at, "A time such as 2027-01-31T12:00:00Z, or never")
      ->required();
}

void add_books_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CLI::App* grant = add(app, "grant", "Grant Credits to an account", options, code, [&] {
    return run_grant(options, words.account, words.credits, words.days);
  });
  grant->add_option("--account", words.account, "Account id")->required();
  grant->add_option("--credits", words.credits, "Whole Credits")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, credits_max));
  grant->add_option("--days", words.days, "Valid for so many days")->check(CLI::Range(1, 36'500));
  CLI::App* lines = add(app, "export", "Write usage or allocations to standard output", options,
                        code, [&] { return run_export(options, words.exported); });
  CLI::Option_group* whose = lines->add_option_group("whose");
  whose->add_option("--account", words.exported.account, "Account id");
  whose->add_flag("--all", words.exported.all, "Of all accounts");
  whose->require_option(1);
  lines->add_option("--collection", words.exported.collection, "usage or allocations")
      ->required()
      ->check(CLI::IsMember({"usage", "allocations"}));
  lines->add_option("--format", words.exported.format, "ndjson or csv")
      ->check(CLI::IsMember({"ndjson", "csv"}));
  lines->add_option("--out", words.exported.out,
                    "Write to this file, which only its owner may read, instead of standard "
                    "output");
  lines->add_option("--from", words.exported.from, "Begin, such as 2026-11-01T00:00:00Z");
  lines->add_option("--to", words.exported.to, "End, exclusive");
  CLI::App* allocation = app.add_subcommand("allocation", "Granted Credits");
  allocation->require_subcommand(1);
  add(*allocation, "list", "List what an account was granted", options, code,
      [&] { return run_allocation_list(options, words.account); })
      ->add_option("--account", words.account, "Account id")
      ->required();
  add(*allocation, "void", "Withdraw what is left of an allocation", options, code,
      [&] { return run_allocation_void(options, words.id); })
      ->add_option("--id", words.id, "Allocation id")
      ->required();
}

void add_correction_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CorrectionWords& correction = words.correction;
  CLI::App* corrections = app.add_subcommand("correction", "Credits given back for charged calls");
  corrections->require_subcommand(1);
  CLI::App* create =
      add(*corrections, "create", "Give Credits back for a call that was charged; once", options,
          code, [&] { return run_correction_create(options, correction); });
  create->add_option("--account", correction.account, "Account id")->required();
  create->add_option("--message", correction.message, "Message id of the call, as usage shows it")
      ->required();
  create->add_option("--credits", correction.credits, "Whole Credits, at most what was charged")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, credits_max));
  create
      ->add_option("--kind", correction.kind,
                   "refund: the charge stands and is made good; void: it should not have been")
      ->check(CLI::IsMember({"refund", "void"}));
  create->add_option("--reason", correction.reason, "1 to 500 characters")->required();
  create->add_option("--reference", correction.reference, "Your own, such as a ticket");
  create->add_option("--idempotency-key", correction.key,
                     "Names the correction; by default it is named by all of the above, so the "
                     "same command again is the same correction");
}

void add_offer_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CommerceWords& commerce = words.commerce;
  CLI::App* offer = app.add_subcommand("offer", "What Credits cost");
  offer->require_subcommand(1);
  add(*offer, "list", "List the terms, those that are retired too", options, code,
      [&] { return run_offer_list(options); });
  CLI::App* publish =
      add(*offer, "publish", "Sell by new terms from now on, beside those that are in force",
          options, code, [&] { return run_offer_publish(options, commerce); });
  publish->add_option("--credits", commerce.credits, "Credits for --unit-amount")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  publish->add_option("--unit-amount", commerce.unit_amount, "USD, such as 1.00");
  publish->add_option("--minimum", commerce.minimum, "The least amount of a purchase, USD");
  publish->add_option("--maximum", commerce.maximum, "The greatest amount of a purchase, USD");
  publish->add_option("--step", commerce.step, "Amounts are multiples of it, USD");
  publish->add_option("--days", commerce.days, "How long the Credits are valid")
      ->check(CLI::Range(1, 3'650));
  publish->add_option("--processor", commerce.processor, "That alone sells by them");
  add(*offer, "retire", "Sell by these terms no more", options, code,
      [&] { return run_offer_retire(options, commerce); })
      ->add_option("--revision", commerce.revision, "As `offer list` shows it")
      ->required();
}

void add_purchase_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CommerceWords& commerce = words.commerce;
  CLI::App* purchase = app.add_subcommand("purchase", "Credits that were bought");
  purchase->require_subcommand(1);
  CLI::App* list = add(*purchase, "list", "List purchases, newest first", options, code,
                       [&] { return run_purchase_list(options, commerce); });
  list->add_option("--account", commerce.account, "Account id; of all where it is not given");
  list->add_option("--state", commerce.state, "Those in this state, such as paid");
  list->add_option("--limit", commerce.limit, "So many")->check(CLI::Range(1, 10'000));
  const auto add_for_one = [&](const char* name, const char* description, auto run) {
    CLI::App* command = add(*purchase, name, description, options, code,
                            [&, run] { return run(options, commerce); });
    command->add_option("ID", commerce.id, "Of the purchase, pur_...")->required();
    return command;
  };
  add_for_one("show", "What is known of a purchase", run_purchase_show);
  CLI::App* reconcile =
      add(*purchase, "reconcile", "Let the gateway look at purchases now", options, code,
          [&] { return run_purchase_reconcile(options, commerce); });
  reconcile->add_option("ID", commerce.id, "Of the purchase, pur_...");
  reconcile->add_flag("--all", commerce.all, "Every purchase that is open");
  CLI::App* confirm = add_for_one("confirm", "The money of a purchase was seen to come",
                                  run_purchase_confirm);
  confirm->add_option("--amount", commerce.amount, "What came, such as 10.00")->required();
  confirm->add_option("--note", commerce.note, "Such as the number of the bank statement");
  CLI::App* refund = add_for_one("refund", "Give money back, and take its Credits back",
                                 run_purchase_refund);
  CLI::Option* amount = refund->add_option("--amount", commerce.amount, "Such as 2.50");
  refund->add_flag("--full", commerce.full, "All of it, spent Credits too")->excludes(amount);
  refund->add_option("--note", commerce.note, "Why");
  add_for_one("resolve", "Credit a purchase that was paid and does not fit",
              run_purchase_resolve);
  add(*purchase, "unlock", "Let an account buy again, though a payment is disputed", options, code,
      [&] { return run_purchase_unlock(options, commerce); })
      ->add_option("--account", commerce.account, "Account id")
      ->required();
  CLI::App* check = app.add_subcommand("commerce", "The processors that sell Credits");
  check->require_subcommand(1);
  add(*check, "check", "Ask the processors whether they are set up; exit code 1 when not", options,
      code, [&] { return run_commerce_check(options); });
}

void add_auto_top_up_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CommerceWords& commerce = words.commerce;
  CLI::App* top_up =
      app.add_subcommand("auto-top-up", "Accounts whose Credits are bought by themselves");
  top_up->require_subcommand(1);
  CLI::App* list = add(*top_up, "list", "List accounts with a policy, and what becomes of it",
                       options, code, [&] { return run_auto_top_up_list(options, commerce); });
  list->add_flag("--paused", commerce.paused, "Those that are paused alone");
  list->add_option("--after", commerce.account, "Account id: the last of the list before");
  list->add_option("--limit", commerce.limit, "So many")->check(CLI::Range(1, 10'000));
  const auto add_for_account = [&](const char* name, const char* description, auto run) {
    add(*top_up, name, description, options, code, [&, run] { return run(options, commerce); })
        ->add_option("--account", commerce.account, "Account id")
        ->required();
  };
  add_for_account("resume", "Go on, with no declines counted", run_auto_top_up_resume);
  add_for_account("pause", "Charge nothing until it is resumed or replaced",
                  run_auto_top_up_pause);
}

void add_ledger_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CLI::App* ledger = app.add_subcommand("ledger", "The books of Credits");
  ledger->require_subcommand(1);
  CLI::App* verify = add(*ledger, "verify", "Audit the books; exit code 1 when they are not right",
                         options, code, [&] { return run_ledger_verify(options, words.verify); });
  verify->add_option("--checkpoint", words.verify.checkpoint, "They must still contain this file");
  verify->add_option("--public-key", words.verify.public_key,
                     "Of who signed it; by default this service");
  verify->add_flag("--signature-only", words.verify.signature_only,
                   "Check the checkpoint's signature alone, without a database");
  add(*ledger, "checkpoint", "Audit the books and sign where they stand", options, code, [&] {
    return run_ledger_checkpoint(options, words.file);
  })->add_option("--out", words.file, "Write to this file instead of standard output");
  add(*ledger, "key", "Print the public key that checkpoints are signed with", options, code,
      [&] { return run_ledger_key(options); });
  add(*ledger, "restored",
      "After restoring a backup, all gateways stopped: fence what came after it", options, code,
      [&] { return run_ledger_restored(options); });
}

void add_operator_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  CLI::App* operators = app.add_subcommand("operator", "Credentials for the operator listener");
  operators->require_subcommand(1);
  CLI::App* create =
      add(*operators, "create", "Create a credential; its secret is printed once", options, code,
          [&] { return run_operator_create(options, words.name, words.authorities); });
  create->add_option("--name", words.name, "For people")->required();
  create->add_option("--authority", words.authorities, "What it may do, exactly; may be repeated")
      ->allow_extra_args(false)
      ->required();
  add(*operators, "list", "List the credentials", options, code,
      [&] { return run_operator_list(options); });
  add(*operators, "revoke", "Revoke a credential", options, code,
      [&] { return run_operator_revoke(options, words.id); })
      ->add_option("--id", words.id, "Operator id")
      ->required();
}

void add_user_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  PeopleWords& people = words.people;
  CLI::App* user = app.add_subcommand("user", "People who sign in on the web host");
  user->require_subcommand(1);
  CLI::App* create = add(*user, "create", "Create a person; prints a link that lets them in once",
                         options, code, [&] { return run_user_create(options, people); });
  create->add_option("--name", people.name, "As others see it")->required();
  create->add_option("--login", people.login, "Unique; a-z, digits and . _ - + @")->required();
  CLI::Option* account =
      create->add_option("--account", people.account, "Make them a member of it");
  create->add_option("--role", people.role, "In the account: owner, admin or member")
      ->check(CLI::IsMember({"owner", "admin", "member"}))
      ->needs(account);
  add(*user, "list", "List the people", options, code, [&] { return run_user_list(options); });
  const auto add_change = [&](const char* name, const char* description, auto run) {
    add(*user, name, description, options, code, [&, run] { return run(options, people); })
        ->add_option("--person", people.person, "Id, or login")
        ->required();
  };
  add_change("show", "Show a person, and how many credentials they have", run_user_show);
  add_change("link", "Print a new link, which lets the person in once, for an hour", run_user_link);
  add_change("disable", "Let the person in no more; their sessions end", run_user_disable);
  add_change("enable", "Let a disabled person in again", run_user_enable);
  CLI::App* session = app.add_subcommand("session", "Sessions of people");
  session->require_subcommand(1);
  CLI::App* begin = add(*session, "create", "Begin a session for programs; prints its token once",
                        options, code, [&] { return run_session_create(options, people); });
  begin->add_option("--person", people.person, "Id, or login")->required();
  begin->add_option("--name", people.name, "For people; default: command line");
  begin->add_option("--hours", people.hours, "How long it lasts")->check(CLI::Range(1, 12));
  add(*session, "list", "List the sessions that go on", options, code, [&] {
    return run_session_list(options, people);
  })->add_option("--person", people.person, "Id, or login; default: everyone");
  CLI::App* end = add(*session, "end", "End a session, or all of a person's, or everyone's",
                      options, code, [&] { return run_session_end(options, people); });
  CLI::Option_group* which = end->add_option_group("which");
  which->add_option("--id", people.id, "Session id");
  which->add_option("--person", people.person, "Id, or login: all of theirs");
  which->add_flag("--all", people.is_everyone, "Everyone's");
  which->require_option(1);
}

void add_member_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  PeopleWords& people = words.people;
  const auto add_account = [&people](CLI::App* command) {
    command->add_option("--account", people.account, "Account id")->required();
    return command;
  };
  const auto add_person = [&people](CLI::App* command) {
    command->add_option("--person", people.person, "Id, or login")->required();
  };
  const auto add_role = [&people](CLI::App* command) {
    command->add_option("--role", people.role, "owner, admin or member")
        ->required()
        ->check(CLI::IsMember({"owner", "admin", "member"}));
  };
  CLI::App* member = app.add_subcommand("member", "Who may do what in an account");
  member->require_subcommand(1);
  add_account(add(*member, "list", "List the members of an account", options, code,
                  [&] { return run_member_list(options, people); }));
  CLI::App* fresh = add_account(add(*member, "add", "Make a person a member", options, code,
                                    [&] { return run_member_add(options, people); }));
  add_person(fresh);
  add_role(fresh);
  CLI::App* set = add_account(add(*member, "set", "Give a member another role", options, code,
                                  [&] { return run_member_set(options, people); }));
  add_person(set);
  add_role(set);
  add_person(add_account(add(*member, "remove", "Remove a member", options, code,
                             [&] { return run_member_remove(options, people); })));
  CLI::App* invitation = app.add_subcommand("invitation", "Invitations to an account");
  invitation->require_subcommand(1);
  CLI::App* invite =
      add_account(add(*invitation, "create", "Invite somebody; prints the link once", options, code,
                      [&] { return run_invitation_create(options, people); }));
  add_role(invite);
  invite->add_option("--email", people.email, "Of the person, for the list of invitations");
  add_account(add(*invitation, "list", "List those that can be accepted", options, code,
                  [&] { return run_invitation_list(options, people); }));
  add_account(add(*invitation, "withdraw", "Withdraw an invitation", options, code,
                  [&] { return run_invitation_withdraw(options, people); }))
      ->add_option("--id", people.id, "Invitation id")
      ->required();
  CLI::App* audit = app.add_subcommand("audit", "Who changed what");
  audit->require_subcommand(1);
  CLI::App* events = add(*audit, "list", "List audit events, newest first", options, code,
                         [&] { return run_audit_list(options, people); });
  events->add_option("--account", people.account, "Of this account; default: all");
  events->add_option("--limit", people.limit, "So many")->check(CLI::Range(1, 10'000));
}

void add_mail_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  MailWords& mails = words.mails;
  CLI::App* mail = app.add_subcommand("mail", "Mail that waits to be sent");
  mail->require_subcommand(1);
  add(*mail, "list", "List what waits, and what was given up", options, code, [&] {
    return run_mail_list(options, mails);
  })->add_flag("--all", mails.all, "What was sent, too, of the last 30 days");
  CLI::App* retry = add(*mail, "retry", "Try it again now", options, code,
                        [&] { return run_mail_retry(options, mails); });
  CLI::Option_group* which = retry->add_option_group("which");
  which->add_option("--id", mails.id, "Of this mail");
  which->add_flag("--all", mails.all, "All that wait or were given up");
  which->require_option(1);
  add(*mail, "test", "Send a mail now; prints what the server says", options, code, [&] {
    return run_mail_test(options, mails);
  })->add_option("--to", mails.to, "An e-mail address")
      ->required();
}

void add_incident_commands(CLI::App& status, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  StatusWords& said = words.status;
  CLI::App* incidents = add(status, "incidents", "List incidents, newest first", options, code,
                            [&] { return run_status_incidents(options, said); });
  incidents->add_flag("--all", said.all, "Of all times, with suspicions that did not come true");
  incidents->add_option("--limit", said.limit, "So many")->check(CLI::Range(1, 10'000));
  CLI::App* incident = status.add_subcommand("incident", "What operators say about incidents");
  incident->require_subcommand(1);
  CLI::App* open = add(*incident, "open", "Open an incident that no look can see", options, code,
                       [&] { return run_status_incident_open(options, said); });
  open->add_option("--scope", said.scope, "Of which component")->required();
  open->add_option("--severity", said.severity, "degraded or major_outage")->required();
  open->add_option("--note", said.note, "What callers should know")->required();
  const auto add_word = [&](const char* name, const char* description, auto run) {
    CLI::App* word = add(*incident, name, description, options, code,
                         [&, run] { return run(options, said); });
    word->add_option("id", said.id, "Incident id")->required();
    word->add_option("--note", said.note, "What callers should know")->required();
  };
  add_word("note", "Say something about an incident", run_status_incident_note);
  add_word("resolve", "Resolve an incident that operators opened", run_status_incident_resolve);
}

// Operators' statements change no state: only evidence determines the state of components.
void add_status_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  StatusWords& said = words.status;
  CLI::App* status = app.add_subcommand("status", "What is known of how the gateway does");
  status->require_subcommand(1);
  add_status_verify(*status, options, words.status_verify, code);
  add_incident_commands(*status, options, words, code);
  CLI::App* maintenance = status->add_subcommand("maintenance", "Announced maintenance");
  maintenance->require_subcommand(1);
  CLI::App* announce = add(*maintenance, "announce", "Announce maintenance", options, code,
                           [&] { return run_status_maintenance_announce(options, said); });
  announce->add_option("--scope", said.scope, "Of which component")->required();
  announce->add_option("--from", said.from, "A time of RFC 3339")->required();
  announce->add_option("--to", said.to, "A time of RFC 3339")->required();
  announce->add_option("--note", said.note, "What callers should know")->required();
  add(*maintenance, "cancel", "Cancel what was announced", options, code, [&] {
    return run_status_maintenance_cancel(options, said);
  })->add_option("id", said.id, "Maintenance id")
      ->required();
  add(*maintenance, "list", "List what is announced and not over", options, code,
      [&] { return run_status_maintenance_list(options); });
  add(*status, "lease", "Tell which node leads", options, code,
      [&] { return run_status_lease(options); });
}

void add_oauth_commands(CLI::App& app, CommonOptions& options, Words& words, int& code) {
  using namespace turnpike::app;
  PeopleWords& people = words.people;
  CLI::App* oauth = app.add_subcommand("oauth", "Programs that people let act for them over MCP");
  oauth->require_subcommand(1);
  CLI::App* client = oauth->add_subcommand("client", "The programs that have registered");
  client->require_subcommand(1);
  add(*client, "list", "List them", options, code, [&] { return run_oauth_client_list(options); });
  for (const bool is_blocked : {true, false}) {
    add(*client, is_blocked ? "block" : "unblock",
        is_blocked ? "End what it has, and let it have no more" : "Let it ask people again",
        options, code,
        [&, is_blocked] { return run_oauth_client_block(options, people, is_blocked); })
        ->add_option("--id", people.id, "Client id")
        ->required();
  }
  CLI::App* grant = oauth->add_subcommand("grant", "What people let them do");
  grant->require_subcommand(1);
  CLI::App* list = add(*grant, "list", "List the grants that go on", options, code,
                       [&] { return run_oauth_grant_list(options, people); });
  list->add_option("--account", people.account, "Of this account; default: all");
  list->add_option("--person", people.person, "Id of a person; default: all");
  add(*grant, "revoke", "End a grant; its tokens are dead within a second", options, code,
      [&] { return run_oauth_grant_revoke(options, people); })
      ->add_option("--id", people.id, "Grant id")
      ->required();
}

const CLI::App* find_command(const CLI::App& parent, const std::string& name) {
  const auto found =
      parent.get_subcommands([&name](const CLI::App* each) { return each->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// Runs a command of a lane plugin, or reports an unknown command.
int run_other(const CLI::App& app, const std::string& word,
              const std::vector<std::string>& arguments) {
  const auto code = turnpike::app::run_plugin_command(word, arguments);
  if (code) return *code;
  std::vector<std::string> known;
  for (const CLI::App* own : app.get_subcommands({})) known.push_back(own->get_name());
  const std::vector<std::string_view> names(known.begin(), known.end());
  std::cerr << "turnpike: there is no command \"" << word << '"'
            << turnpike::registry::suggestion(word, names) << '\n';
  return turnpike::app::exit_usage;
}

// Returns the arguments after the program's name; `help COMMAND` becomes `COMMAND --help`.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace turnpike::app;
  // Files of the gateway and its commands are private to their owner: databases with their -wal and
  // -shm files, keys, stored replies, exports. SQLite uses the umask, too.
  umask(077);
  CLI::App app("Turnpike: a self-hosted, pay-per-call gateway to data providers", "turnpike");
  app.require_subcommand(1);
  CommonOptions options;
  Words words;
  int code = exit_done;
  add(app, "serve", "Start the gateway", options, code,
      [&] { return run_serve(options, words.strict_registry); })
      ->add_flag(
          "--strict-registry", words.strict_registry,
          "End when the registry's files are refused, instead of serving what was installed");
  add(app, "migrate", "Bring the database to this build's schema", options, code, [&] {
    return run_migrate(options, words.dry_run);
  })->add_flag("--dry-run", words.dry_run, "Print what would be done");
  add_registry_commands(app, options, words, code);
  add_log_commands(app, options, words, code);
  add_account_commands(app, options, words, code);
  add_key_commands(app, options, words, code);
  add_books_commands(app, options, words, code);
  add_status_commands(app, options, words, code);
  add_operator_commands(app, options, words, code);
  add_user_commands(app, options, words, code);
  add_member_commands(app, options, words, code);
  add_mail_commands(app, options, words, code);
  add_oauth_commands(app, options, words, code);
  add_correction_commands(app, options, words, code);
  add_offer_commands(app, options, words, code);
  add_purchase_commands(app, options, words, code);
  add_auto_top_up_commands(app, options, words, code);
  add(app, "paths", "Print where the configuration puts things", options, code,
      [&] { return run_paths(options); });
  add_ledger_commands(app, options, words, code);
  add(app, "version", "Print the version", options, code, [&] { return run_version(options); });
  app.set_version_flag("--version", version_line());
  app.add_subcommand("help", "Tell what a command takes: help key create");
  app.footer(
      "Plugins bring further commands, such as `turnpike x402`; `turnpike x402 --help` says "
      "more.");
  try {
    std::vector<std::string> arguments = arguments_of(argc, argv);
    if (!arguments.empty() && !arguments.front().starts_with('-') &&
        find_command(app, arguments.front()) == nullptr) {
      return run_other(app, arguments.front(), {arguments.begin() + 1, arguments.end()});
    }
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    app.parse(std::move(arguments));
  } catch (const CLI::Success& shown) {  // --help, --version
    return app.exit(shown);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return exit_usage;
  } catch (const std::exception& error) {
    return print_failure(options, error.what());
  }
  return code;
}
