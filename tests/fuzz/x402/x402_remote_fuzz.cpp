// Arbitrary replies of facilitators and nodes: none causes a fault, and none is taken for a
// settlement that it does not report. The first byte selects the reader.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "x402/protocol/json.h"
#include "x402/remote/facilitator_reply.h"
#include "x402/remote/json_rpc.h"
#include "x402/remote/token_events.h"

using turnpike::fuzz::check;

namespace turnpike::x402 {
namespace {

void read_facilitator(JsonValue body, std::string_view network) {
  bool is_typed = false;
  const Settlement settlement = read_settlement(body, network, is_typed);
  using enum Settlement::Outcome;
  check(settlement.outcome != not_sent);
  check(is_typed || settlement.outcome == unknown);
  check(settlement.reason.empty() || is_reason_code(settlement.reason));
  check(settlement.transaction.empty() || is_transaction(settlement.transaction, network));
  const bool says_success = body["success"].text() == "true";
  if (settlement.outcome == settled) {
    check(says_success && body["network"].equals(network) &&
          body["transaction"].equals(settlement.transaction) && !settlement.transaction.empty());
  }
  if (settlement.outcome == refused) {
    check(!says_success && body["transaction"].equals("") && settlement.transaction.empty());
  }
  if (settlement.outcome == pending) check(!says_success && !settlement.transaction.empty());
  const auto verification = read_verification(body, network);
  if (verification) {
    using enum Verification::Outcome;
    check((verification->outcome == valid) == (body["isValid"].text() == "true"));
    check(verification->outcome == valid || is_reason_code(verification->reason));
    check(verification->payer.empty() || is_account(verification->payer, network));
  }
  if (const auto supported = read_supported(body)) {
    for (const SupportedKind& kind : supported->kinds) {
      check(kind.fee_payer.empty() || is_account(kind.fee_payer, kind.network));
    }
  }
}

void read_node(JsonValue body) {
  if (kind_of_rpc(body, 1) != RpcKind::result) return;
  const JsonValue result = body["result"];
  if (const auto number = read_quantity(result)) check(quantity(*number).size() > 2);
  if (const auto block = read_block(result)) check(block->time_s >= 0);
  Authorization authorization;
  authorization.token.fill(0xaa);
  authorization.from.fill(0xbb);
  authorization.to.fill(0xcc);
  authorization.nonce.fill(0xdd);
  authorization.value[31] = 100;
  const auto judge = [&](const std::vector<LogEntry>& logs) {
    bool is_used = false;
    for (const LogEntry& log : logs) is_used = is_used || says_used(log, authorization);
    check(is_used || !pays(logs, authorization));
  };
  if (const auto logs = read_logs(result)) judge(*logs);
  if (const auto receipt = read_chain_receipt(result)) judge(receipt->logs);
}

}  // namespace
}  // namespace turnpike::x402

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::x402;
  if (size == 0) return 0;
  const auto json = JsonText::parse({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!json) return 0;
  if (data[0] == 'n') {
    read_node(json->root());
  } else {
    read_facilitator(json->root(),
                     data[0] == 's' ? "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" : "eip155:84532");
  }
  return 0;
}
