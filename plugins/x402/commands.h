// The lane's commands on the gateway's command line. They work with or without a running gateway:
//
//   x402 payments [--format ndjson|csv]     lists the entries of the payment ledger
//   x402 totals                             sums them by network and asset
//   x402 obligations                        lists refunds that are owed
//   x402 refunded KEY --transaction HASH    records that one was paid; cannot be undone
//   x402 unknown                            lists payments whose outcome is open
//   x402 doubted                            lists what a facilitator settled but no chain shows
//   x402 resolve KEY ...                    ends an open payment on the operator's word
//   x402 keys                               lists public keys that sign offers and receipts
//   x402 rotate [--algorithm ES256K|EdDSA]  makes a new key, which signs from now on
//   receipt verify FILE|- [--did FILE]      needs no database and no network with --did
//
// Each command runs on a plain thread in a process of its own.
#pragma once

#include <string_view>

#include <turnpike/lane.h>

namespace turnpike::x402 {

int run_command(std::string_view word, const CommandInput& input, Console& console, Host& host);

// Returns the sum of two non-negative decimal numbers of any length.
std::string decimal_sum(std::string_view left, std::string_view right);

}  // namespace turnpike::x402
