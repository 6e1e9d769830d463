// ledger: the audit of the books, beside a running gateway or without one, and signed checkpoints.
#include <fstream>
#include <sstream>

#include "app/commands/command_database.h"
#include "app/config/signing_key.h"
#include "base/sources.h"
#include "ledger/audit/checkpoint.h"
#include "text/encoding.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using ledger::AccountSums;
using ledger::Checkpoint;
using ledger::Verification;
using nlohmann::json;

json to_json(const AccountSums& sums) {
  return {{"granted", std::to_string(sums.granted)}, {"remaining", std::to_string(sums.remaining)},
          {"leased", std::to_string(sums.leased)},   {"charged", std::to_string(sums.charged)},
          {"expired", std::to_string(sums.expired)}, {"voided", std::to_string(sums.voided)}};
}

std::int64_t facts_of(const Checkpoint& books) {
  std::int64_t facts = 0;
  for (const ledger::StreamHead& head : books.streams) facts += head.seq;
  return facts;
}

json to_json(const Verification& verified) {
  json accounts = json::array();
  for (const AccountSums& sums : verified.accounts) {
    json account = to_json(sums);
    account["accountId"] = sums.account_id;
    account["balanced"] = sums.balanced();
    accounts.push_back(account);
  }
  return {{"ok", verified.problems.empty()},
          {"at", text::rfc3339(verified.books.at_ms)},
          {"facts", facts_of(verified.books)},
          {"streams", verified.books.streams.size()},
          {"totals", to_json(verified.books.totals)},
          {"accounts", accounts},
          {"problems", verified.problems}};
}

std::string text_of(const Verification& verified) {
  std::string text;
  for (const std::string& problem : verified.problems) text += problem + "\n";
  const AccountSums& totals = verified.books.totals;
  const auto part = [](const char* name, ledger::Credits units) {
    return std::string(name) + " " + std::to_string(units);
  };
  text += part("granted", totals.granted) + " = " + part("remaining", totals.remaining) + " + " +
          part("leased", totals.leased) + " + " + part("charged", totals.charged) + " + " +
          part("expired", totals.expired) + " + " + part("voided", totals.voided) + "\n";
  text += part("facts", facts_of(verified.books)) + ", " +
          part("accounts", static_cast<ledger::Credits>(verified.accounts.size())) + ": ";
  return text + (verified.problems.empty()
                     ? "the books are right"
                     : part("problems", static_cast<ledger::Credits>(verified.problems.size())));
}

int print_verified(const CommonOptions& options, const Verification& verified) {
  std::cout << (options.json ? to_json(verified).dump() : text_of(verified)) << '\n';
  return verified.problems.empty() ? exit_done : exit_failed;
}

// Records the audit for the console. A failure to record prints a note only, since the audit itself
// succeeded.
void remember(Tools& tools, ledger::BookCheckKind kind, const Verification& verified) {
  const auto recorded = tools.node.reports().record(
      {.kind = kind,
       .at_ms = verified.books.at_ms,
       .facts = facts_of(verified.books),
       .accounts = static_cast<std::int64_t>(verified.accounts.size()),
       .problems = static_cast<std::int64_t>(verified.problems.size()),
       .first_problem = verified.problems.empty() ? "" : verified.problems.front()});
  if (!recorded.ok()) {
    std::cerr << "note: the console will not show this: " << recorded.error().message << '\n';
  }
}

using Trusted = Result<crypto::Ed25519PublicKey, std::string>;

// Returns the key that must have signed a checkpoint: the named one, or else the service's own.
Trusted trusted_key(const std::string& named, const std::string& data_dir) {
  if (!named.empty()) {
    const auto key = parse_public_key(named);
    if (key) return *key;
    return std::string("--public-key takes what `turnpike ledger key` prints: 43 characters");
  }
  const auto own = read_signing_key(data_dir);
  if (!own.ok()) return own.error();
  if (own->has_value()) return crypto::ed25519_public_key(**own);
  return std::string("there is no signing key in data_dir: name the signer's with --public-key");
}

Result<Checkpoint, std::string> open_checkpoint(const std::string& path, const Trusted& key) {
  if (!key.ok()) return key.error();
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return path + " cannot be read";
  return ledger::read_checkpoint(text.str(), *key);
}

int print_signature(const CommonOptions& options, const Checkpoint& checkpoint) {
  const std::string at = text::rfc3339(checkpoint.at_ms);
  if (options.json) {
    std::cout << json{{"ok", true}, {"at", at}, {"totals", to_json(checkpoint.totals)}} << '\n';
  } else {
    std::cout << "the signature is right; the checkpoint is of " << at << '\n';
  }
  return exit_done;
}

}  // namespace

int run_ledger_verify(const CommonOptions& options, const LedgerVerifyWords& words) {
  if (words.checkpoint.empty() && (!words.public_key.empty() || words.signature_only)) {
    return print_failure(options, "--public-key and --signature-only are about a --checkpoint");
  }
  if (words.signature_only) {  // needs the key only, no configuration and database
    if (words.public_key.empty()) return print_failure(options, "name the --public-key, too");
    const auto checkpoint =
        open_checkpoint(words.checkpoint, trusted_key(words.public_key, std::string()));
    if (!checkpoint.ok()) return print_failure(options, checkpoint.error());
    return print_signature(options, *checkpoint);
  }
  return with_database(options, [&](Tools& tools) {
    std::optional<Checkpoint> earlier;
    if (!words.checkpoint.empty()) {
      auto checkpoint =
          open_checkpoint(words.checkpoint, trusted_key(words.public_key, tools.config.data_dir));
      if (!checkpoint.ok()) return print_failure(options, checkpoint.error());
      earlier = *std::move(checkpoint);
    }
    const auto verified = tools.node.ledger().verify(earlier ? &*earlier : nullptr);
    if (!verified.ok()) return print_failure(options, verified.error().text);
    remember(tools, ledger::BookCheckKind::verified, *verified);
    return print_verified(options, *verified);
  });
}

// Signs the books only if the audit finds no fault.
int run_ledger_checkpoint(const CommonOptions& options, const std::string& out) {
  return with_database(options, [&](Tools& tools) {
    const auto verified = tools.node.ledger().verify();
    if (!verified.ok()) return print_failure(options, verified.error().text);
    remember(tools, ledger::BookCheckKind::verified, *verified);
    if (!verified->problems.empty()) return print_verified(options, *verified);
    const auto seed = signing_key(tools.config.data_dir, tools.random);
    if (!seed.ok()) return print_failure(options, seed.error());
    const std::string text = ledger::write_checkpoint(verified->books, *seed);
    if (out.empty()) {
      std::cout << text;
      remember(tools, ledger::BookCheckKind::checkpoint, *verified);
      return exit_done;
    }
    std::ofstream file = open_private(out);
    file << text << std::flush;
    if (!file) return print_failure(options, out + " cannot be written");
    remember(tools, ledger::BookCheckKind::checkpoint, *verified);
    if (options.json) {
      std::cout << json{{"ok", true}, {"file", out}} << '\n';
    } else {
      std::cout << "signed " << text::counted(facts_of(verified->books), "fact") << " as " << out
                << '\n';
    }
    return exit_done;
  });
}

int run_ledger_key(const CommonOptions& options) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  base::SystemRandom random;
  const auto seed = signing_key(config->data_dir, random);
  if (!seed.ok()) return print_failure(options, seed.error());
  const crypto::Ed25519PublicKey key = crypto::ed25519_public_key(*seed);
  const std::string text = text::base64url({reinterpret_cast<const char*>(key.data()), key.size()});
  const std::string pem = crypto::ed25519_pem(key);
  if (options.json) {
    std::cout << json{{"algorithm", "Ed25519"}, {"publicKey", text}, {"pem", pem}} << '\n';
  } else {
    std::cout << text << '\n' << pem;  // readers of PEM skip text before the block
  }
  return exit_done;
}

}  // namespace turnpike::app
