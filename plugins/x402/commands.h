// The lane's commands on the gateway's command line, beside a running gateway or without one:
//
//   x402 payments [--format ndjson|csv]     the payment ledger, entries alone
//   x402 totals                             by network and asset
//   x402 obligations                        refunds that are owed
//   x402 refunded KEY --transaction HASH    one was paid: recorded, never undone
//   x402 unknown                            payments whose outcome is open
//   x402 doubted                            a facilitator says settled, the chain does not
//   x402 resolve KEY ...                    ends an open one by the operator's word
//   x402 keys                               public keys that sign offers and receipts
//   x402 rotate [--algorithm ES256K|EdDSA]  a new one signs from now on
//   receipt verify FILE|- [--did FILE]      needs neither database nor network with --did
//
// Run on a plain thread of a process of its own.
#pragma once

#include <string_view>

#include <turnpike/lane.h>

namespace turnpike::x402 {

int run_command(std::string_view word, const CommandInput& input, Console& console, Host& host);

// Sum of two non-negative decimal numbers of any length.
std::string decimal_sum(std::string_view left, std::string_view right);

}  // namespace turnpike::x402
