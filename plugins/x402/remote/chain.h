// Chains: what really happened to an authorization (EIP-3009), asked of the token's own contract
// over JSON-RPC. Only this, not a facilitator's word, proves a payment or its absence.
//
// A final block is `confirmations` deep, where 1 is the newest block itself. The default is 1 where
// blocks are final at once and on rollups: their one sequencer orders blocks, and they reorganize
// only in its outages. (The data of a payment reaches Ethereum minutes later; the price of one call
// does not wait for it.) Elsewhere it is 12. An absence is believed later than a payment: see
// resolve.h.
//
// Owned by an Engine, over a Host that outlives it. Any Thread or fiber; what takes a Call waits.
// Nothing throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/settings.h>

#include "x402/protocol/bytes.h"
#include "x402/remote/allowance.h"
#include "x402/remote/endpoint.h"

namespace turnpike::x402 {

struct ChainSettings {
  std::string network;  // "eip155:8453"
  std::uint64_t chain_id = 0;
  RemoteUrl url;  // may be a secret, or lack it: then the chain cannot be asked
  std::vector<OwnedHeader> headers;
  bool lacks_secret = false;
  bool allow_private_addresses = false;
  std::uint32_t timeout_ms = 5'000;  // per request
  std::uint32_t confirmations = 12;
  std::uint32_t expiry_margin_s = 60;
  std::uint32_t log_blocks_max = 2'000;  // per eth_getLogs, as the provider allows
  // A settlement that only a facilitator has reported is looked up this long after it, and an
  // operator is told if the chain does not show it this long after it.
  std::uint32_t audit_after_s = 15;
  std::uint32_t doubt_after_s = 180;
  // How many signers who did not sign are asked about per minute; see allowance.h.
  std::uint32_t unproven_per_minute = unproven_per_minute_default;
};

// Reads the map `chains` of the lane's settings, such as
//
//   eip155:8453: {rpc_url: {secret: {env: NAME}}, confirmations: 2}
//
// The failure has every mistake, with its place below the map: "eip155:8453.rpc_url".
Result<std::vector<ChainSettings>> read_chains(const Settings& map);

// What a payer signed, as the token identifies it, and since when this process has known it.
struct Authorization {
  std::string_view network;
  Address token{};
  Address from{};
  Address to{};
  Word value{};
  Word nonce{};
  // When the payment was claimed. A use of the authorization well before that (claim_slack_s, which
  // allows for clocks that differ and blocks that are dated early) was not this payment.
  std::int64_t claimed_at_s = 0;
};

struct ChainAnswer {
  enum class Outcome : std::uint8_t {
    paid,            // by `transaction`
    cancelled,       // by the payer: it can never pay anybody
    used_otherwise,  // used, but not for this transfer in this time: it can never pay anybody
    not_used,        // as of the block
    reverted,        // receipt_of(): the transaction failed; another may still pay
    not_final,       // receipt_of(): not in a block, or not deep enough
    unavailable,     // the chain could not be asked or contradicted itself
  };
  Outcome outcome = Outcome::unavailable;
  std::string transaction;  // if paid
  std::uint64_t block = 0;  // the newest final block: the answer holds as of it
  std::int64_t time_s = 0;  // time of that block, on the chain's clock
  // `time_s` minus the margin. If not_used, an authorization that ended at this time or earlier can
  // never pay anybody.
  std::int64_t expired_s = 0;
};

class Chains {
 public:
  static constexpr std::int64_t claim_slack_s = 300;
  // If the newest block is older, the node is behind.
  static constexpr std::int64_t behind_s = 30;

  Chains(std::vector<ChainSettings> settings, Host& host);
  ~Chains();

  // Whether payments on `network` can be looked up.
  [[nodiscard]] bool knows(std::string_view network) const noexcept;
  // Returns null if they cannot.
  [[nodiscard]] const ChainSettings* settings_of(std::string_view network) const noexcept;
  // How long after its end an authorization can be proved to have expired; 0 if it never can.
  [[nodiscard]] std::uint32_t expiry_margin_s(std::string_view network) const noexcept;

  // Whether the authorization was used in a final block, and by which transaction.
  ChainAnswer find_settlement(const Authorization& authorization, Call& call) noexcept;

  // Whether the newest block shows the authorization used or cancelled. False proves little, since
  // a transaction that was sent may still be mined. Returns nullopt if the chain cannot be asked or
  // its node is behind.
  std::optional<bool> is_used_now(const Authorization& authorization, Call& call) noexcept;

  // Whether the account `from` has signed `digest` with `signature`, from which no plain account's
  // key can be recovered. A contract says so itself (ERC-1271). An account without code has not
  // signed, unless the signature is that of a wallet that is yet to be deployed (ERC-6492).
  enum class Signed : std::uint8_t {
    yes,
    no,
    undeployed,   // ERC-6492, and there is no code at `from`: a facilitator may know its factory
    too_many,     // too many questions about unsigned payments lately
    unavailable,  // the chain could not be asked
  };
  Signed ask_signer(std::string_view network, const Address& from, const Word& digest,
                    std::string_view signature, Call& call) noexcept;

  // Whether `transaction`, a hash that a facilitator named, pays as authorized. Here used_otherwise
  // says only that this transaction does not.
  ChainAnswer receipt_of(const Authorization& authorization, std::string_view transaction,
                         Call& call) noexcept;

 private:
  struct Chain;
  class Inquiry;

  [[nodiscard]] Chain* find(std::string_view network) const noexcept;

  Host& host_;
  std::vector<std::unique_ptr<Chain>> chains_;
};

std::string_view name_of(ChainAnswer::Outcome outcome) noexcept;

}  // namespace turnpike::x402
