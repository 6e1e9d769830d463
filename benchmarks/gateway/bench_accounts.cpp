// bench_accounts COUNT CREDITS CONFIG [--set SETTING]...: creates accounts in the configured
// database before the gateway starts, each with Credits and one key, and prints the keys' secrets.
// It does what `turnpike account create`, `grant` and `key create` do, without three processes for
// each account.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "app/stores.h"
#include "base/sources.h"
#include "identity/accounts.h"
#include "ledger/store.h"

namespace turnpike::app {
namespace {

constexpr std::int64_t year_ms = 365ll * 24 * 60 * 60 * 1000;

// Makes one account and returns its key's secret; throws base::Error.
std::string make_caller(const Config& config, storage::Node& node, std::int64_t now_ms,
                        Random& random, ledger::Credits credits) {
  const auto account = identity::Accounts(node.accounts(), {}).create("bench");
  if (!account.ok()) throw account.error();
  if (credits > 0) {
    const auto granted = node.ledger().grant(
        {account->id, credits, ledger::Origin::operator_grant, now_ms + year_ms, 0});
    if (!granted.ok()) throw granted.error();
  }
  const auto key =
      identity::ApiKeys(node.keys(), config.environment, random).create(account->id, "bench");
  if (!key.ok()) throw key.error();
  return key->secret;
}

int run(int count, ledger::Credits credits, const std::string& path,
        const std::vector<std::string>& settings) {
  const auto config = read_config(path, settings);
  if (!config.ok()) {
    for (const registry::Problem& problem : config.error()) std::cerr << problem.message << '\n';
    return EXIT_FAILURE;
  }
  const base::SystemClock clock;
  base::SystemRandom random;
  const auto node = open_node(*config, storage::Role::tool, clock, random);
  if (!node.ok()) {
    std::cerr << node.error() << '\n';
    return EXIT_FAILURE;
  }
  try {
    for (int made = 0; made < count; ++made) {
      std::cout << make_caller(*config, **node, clock.now_ms(), random, credits) << '\n';
    }
  } catch (const base::Error& error) {
    std::cerr << error.message << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace turnpike::app

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: bench_accounts COUNT CREDITS CONFIG [--set SETTING]...\n";
    return EXIT_FAILURE;
  }
  std::vector<std::string> settings;
  for (int at = 5; at < argc; at += 2) settings.emplace_back(argv[at]);
  return turnpike::app::run(std::atoi(argv[1]), std::atoll(argv[2]), argv[3], settings);
}
