// PaymentRecord: what is durably known of one payment, and the keys of the lane's data in the
// plugin's store. A payment is named by what is unique on the chain (payment_key), so it has one
// record whatever else a payload says and whichever node it reaches.
//
//   p/<key>              the record, JSON
//   r/<ms>/<key>         the reply that was or will be paid for
//   o/<ms>/<key>         what a later attempt needs, while money may move or work is owed
//   v/<ms>/<key>         when to look again at a payment that is thought to be unpaid
//   i/<digest>           the payment that a caller's own id is bound to, by scope and id
//                        (payment-identifier or Idempotency-Key)
//   w/<key>              a refund is owed
//   a/<ms>/<key>         when to check on the chain what only a facilitator says is settled
//   e/<ms>/<key>/<what>  the payment ledger: one entry per fact, never changed or removed
//
// For purchases of Credits (purchase_record.h):
//
//   b/<purchase>         what is to be paid for it
//   i/<digest>           the payment that pays for it, from its claim on
//   f/<key>/<refund>     a part of its payment that goes back
//   w/<key>/<refund>     this part is owed
//   n/<ms>/<purchase>    when the ledger got an entry about it
//
// States, each written before the step that it names:
//
//   flow authorization                        flow upfront
//   working    the upstream may be asked      claimed    nothing is done yet
//   settling   the reply is stored;           settling   the facilitator may be asked
//              the facilitator may be asked   settled    paid; the upstream may be asked
//   answered   paid, and the reply may leave  answered   the reply is stored and may leave
//
//   released            nothing was paid; the same payment may be claimed again
//   settlement_unknown  it may have been paid: the reconciler finds out
//   owed                paid, and the work was not done: a refund is owed
//   never_paid          this payment will never pay anybody, as the chain proves or an
//                       operator declares
//   refunded            an operator has recorded that it was paid back
//
// A call that works on a payment holds its lease: it wrote the current version of the record, and
// the lease lasts until `lease_until_ms`. After that any other call may take the payment over, and
// the next write of the late owner fails. A restarted node does not wait for the leases of its
// earlier life.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/lane.h>

#include "x402/policy.h"
#include "x402/protocol/bytes.h"

namespace turnpike::x402 {

// What the chain says of a settlement that only a facilitator has reported. It is not audited where
// no configured chain can tell.
//
//   due        it is looked up within minutes
//   doubted    minutes later, the chain still does not show it: an operator is told
//   confirmed  the chain shows it
//
// If the chain disproves it, because the authorization expired unused, was cancelled or was used
// otherwise, the payment becomes `never_paid`; one that was refunded stays `refunded`.
enum class Audit : std::uint8_t { none, due, doubted, confirmed };

std::string_view name_of(Audit audit) noexcept;

enum class PaymentState : std::uint8_t {
  claimed,
  working,
  settling,
  settled,
  answered,
  released,
  settlement_unknown,
  owed,
  refunded,
  never_paid,
};

std::string_view name_of(PaymentState state) noexcept;

struct PaymentRecord {
  PaymentState state = PaymentState::working;
  std::string request_digest;  // hex: of route, method, path, query and body
  std::string payload_digest;  // hex: of the whole payload
  std::string operation;       // "GET /v1/gateway/..." with the path's pattern
  std::string route_id;
  std::uint32_t price_version = 0;
  std::string offer_id;
  std::string resource_url;
  std::string request_id;  // of the call that last claimed it
  PaymentFlow flow = PaymentFlow::authorization;
  UnearnedPayment unearned = UnearnedPayment::retry;

  std::string scheme, network, asset, amount, pay_to;
  std::string payer;                // empty: not known before the settlement
  std::string nonce;                // EIP-3009: 0x and 64 hex; empty: the chain is not asked
  std::int64_t valid_before_s = 0;  // 0: the payload does not say

  std::string node;  // the owner of the lease, and in which of its lives
  std::string boot;
  std::int64_t claimed_ms = 0;
  std::int64_t lease_until_ms = 0;
  std::int64_t settling_ms = 0;  // when a settlement was last begun; 0: never
  std::int64_t settled_ms = 0;
  std::int64_t ended_ms = 0;
  std::int64_t attempted_ms = 0;  // when somebody last tried to resolve it
  std::int64_t retry_ms = 0;      // when the reconciler may try again
  // A facilitator refused to settle it, and the chain did not show it used, which may change. This
  // is when the chain, which can then prove the outcome, is asked once more. 0: never.
  std::int64_t watch_ms = 0;
  std::uint32_t attempts = 0;
  std::string facilitator;  // the one that was last asked to settle
  std::string transaction;
  std::string reason;       // why it is unpaid, owed or refunded
  std::string identifiers;  // store keys of the callers' ids bound to it, separated by spaces
  std::string purchase;     // the purchase that it pays for; empty: a call
  bool has_reply = false;   // r/<ms>/<key> exists
  // The sender repeated the binding to one request, or it pays for a purchase. Otherwise everything
  // in it is on the chain once it is settled: it buys one call, whose reply is not stored, and
  // nothing is given or done for it again.
  bool is_bound = true;
  Audit audit = Audit::none;

  bool operator==(const PaymentRecord&) const = default;
};

// Whether the work for a settled payment that nobody works on may be begun, for a payer who sends
// it again. A purchase has no work. Where a failure is refunded at once, the work may be begun only
// once; a lease after the payment means that it may have begun.
bool may_be_worked_for(const PaymentRecord& record, std::int64_t now_ms) noexcept;

// Nothing was collected, as far as is known: the payment may be claimed when nobody holds its
// lease.
constexpr bool is_claimable(PaymentState state) noexcept {
  return state == PaymentState::claimed || state == PaymentState::working ||
         state == PaymentState::released;
}

std::string to_json(const PaymentRecord& record);
// Returns nullopt if the text is not a record that this version wrote.
std::optional<PaymentRecord> record_of_json(std::string_view text);

// A reply in the form in which it is stored.
std::string encode(const Replay& reply);
std::optional<Replay> decode_reply(std::string_view stored);

// What a later attempt to settle needs. It holds the payload, which is a bearer instrument until it
// is settled, so it is removed then.
struct OpenSettlement {
  std::string payload_json;
  std::string requirements_json;
  std::string fee_payer;
};
std::string encode(const OpenSettlement& open);
std::optional<OpenSettlement> decode_open_settlement(std::string_view stored);

namespace keys {
inline constexpr std::string_view payments = "p/";
inline constexpr std::string_view replies = "r/";
inline constexpr std::string_view open = "o/";
inline constexpr std::string_view watched = "v/";
inline constexpr std::string_view owed_refunds = "w/";
inline constexpr std::string_view entries = "e/";
inline constexpr std::string_view audits = "a/";
inline constexpr std::string_view purchase_news = "n/";
std::string payment(std::string_view key_hex);
std::string reply(std::int64_t claimed_ms, std::string_view key_hex);
std::string open_settlement(std::int64_t claimed_ms, std::string_view key_hex);
std::string watch(std::int64_t due_ms, std::string_view key_hex);
std::string owed(std::string_view key_hex);
std::string audit(std::int64_t due_ms, std::string_view key_hex);
// `scope` and `id` come from the caller; only their digest is kept.
std::string identifier(std::string_view scope, std::string_view id);
std::string news(std::int64_t at_ms, std::string_view purchase_id);
std::string entry(std::int64_t at_ms, std::string_view key_hex, std::string_view what);
}  // namespace keys

std::string digits_of(const Word& word);  // hex, without 0x

}  // namespace turnpike::x402
