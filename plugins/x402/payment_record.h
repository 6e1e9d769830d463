// PaymentRecord: what is durably known of one payment, and the keys under which the lane keeps its
// books in the plugin's store. A payment is named by what the chain holds unique (payment_key), so
// there is one record of it whatever else a payload says, and whichever node it reaches.
//
//   p/<key>              the record, JSON
//   r/<ms>/<key>         the reply that was, or will be, paid for
//   o/<ms>/<key>         while money may move or work is owed: what a later attempt needs
//   v/<ms>/<key>         then it is looked at once more: it is thought to be unpaid
//   i/<scope>/<id>       which payment came with a caller's own id (payment-identifier)
//   w/<key>              a refund is owed
//   a/<ms>/<key>         a facilitator's word that it is settled is to be checked on the chain then
//   e/<ms>/<key>/<what>  the payment ledger: one entry for each fact, never changed or removed
//
// and of purchases of Credits (purchase_record.h)
//
//   b/<purchase>         what is to be paid for it
//   i/<purchase>         the payment that pays for it, from its claim on; an i/ as those above
//   f/<key>/<refund>     so much of its payment goes back
//   w/<key>/<refund>     and is owed
//   n/<ms>/<purchase>    the ledger got an entry about it then
//
// States, each written before the step that it names:
//
//   flow authorization                        flow upfront
//   working    the upstream may be asked      claimed    nothing is done yet
//   settling   the reply is stored;           settling   the facilitator may be asked
//              the facilitator may be asked   settled    paid; the upstream may be asked
//   answered   paid, and the reply may leave  answered   the reply is stored and may leave
//
//   released            nothing was paid; the same input may claim it again
//   settlement_unknown  it may have been paid: the reconciler finds out
//   owed                paid, and the work was not done: a refund is owed
//   never_paid          the chain proves that this payment pays nobody, ever
//   refunded            an operator has recorded that it was paid back
//
// A call that works on a payment holds its lease: the version of the record that it wrote last,
// until `lease_until_ms`. After that any other may take it over, and the late owner's next write
// fails. A node that has been started anew need not wait for the leases of its earlier life.
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

// What the chain says of a settlement that is known from a facilitator alone. Where no chain is
// configured that could tell, it is not audited.
//
//   due        it is looked up within minutes
//   doubted    the chain was asked and does not show it, minutes later: an operator is told
//   confirmed  the chain shows it
//
// One that the chain disproves, since the authorization has ended unused or was used otherwise, is
// `never_paid`, whatever it was.
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
  std::string request_id;  // of the call that claimed it last
  PaymentFlow flow = PaymentFlow::authorization;
  UnearnedPayment unearned = UnearnedPayment::retry;

  std::string scheme, network, asset, amount, pay_to;
  std::string payer;                // empty: not known before the settlement
  std::string nonce;                // EIP-3009: 0x and 64 hex; empty: the chain is not asked
  std::int64_t valid_before_s = 0;  // 0: the payload does not say

  std::string node;  // whose lease it is, and in which of its lives
  std::string boot;
  std::int64_t claimed_ms = 0;
  std::int64_t lease_until_ms = 0;
  std::int64_t settling_ms = 0;  // when a facilitator was last to be asked; 0: never
  std::int64_t settled_ms = 0;
  std::int64_t ended_ms = 0;
  std::int64_t attempted_ms = 0;  // when somebody last tried to find out what became of it
  std::int64_t retry_ms = 0;      // when the reconciler tries again
  // A facilitator refused to settle it and the chain did not show it used, which may change: when
  // the chain is asked once more, since it can then prove what became of it. 0: it is not.
  std::int64_t watch_ms = 0;
  std::uint32_t attempts = 0;
  std::string facilitator;  // that was asked to settle last
  std::string transaction;
  std::string reason;       // why it was released, a code
  std::string identifiers;  // keys of the callers' own ids bound to it, divided by blanks
  std::string purchase;     // that it pays for; empty: a call
  bool has_reply = false;   // r/<key> is there
  // Its sender repeated what binds it to one request. If not, all of it is on the chain once it is
  // settled: it buys one call, whose reply is not stored, and nothing is given or done for it
  // again.
  bool is_bound = true;
  Audit audit = Audit::none;

  bool operator==(const PaymentRecord&) const = default;
};

// Paid, and nobody works for it: whether the work may be begun, for its payer who came again. For
// a purchase there is none to do. Where
// a failure is owed back at once it may be begun only once, so a record that was leased since it
// was paid tells that it perhaps was.
bool may_be_worked_for(const PaymentRecord& record, std::int64_t now_ms) noexcept;

// Nothing was collected, as far as is known, and who holds no lease may claim it.
constexpr bool is_claimable(PaymentState state) noexcept {
  return state == PaymentState::claimed || state == PaymentState::working ||
         state == PaymentState::released;
}

std::string to_json(const PaymentRecord& record);
// Nothing: not a record that this version wrote.
std::optional<PaymentRecord> record_of_json(std::string_view text);

// A reply as it is stored.
std::string encode(const Replay& reply);
std::optional<Replay> decode_reply(std::string_view stored);

// What a later attempt to settle needs. Holds the payload, which is a bearer instrument until it is
// settled: removed when it is.
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
// `scope` and `id` are the caller's: their digest is what is kept.
std::string owed(std::string_view key_hex);
std::string audit(std::int64_t due_ms, std::string_view key_hex);
std::string identifier(std::string_view scope, std::string_view id);
std::string news(std::int64_t at_ms, std::string_view purchase_id);
std::string entry(std::int64_t at_ms, std::string_view key_hex, std::string_view what);
}  // namespace keys

std::string digits_of(const Word& word);  // hex, without 0x

}  // namespace turnpike::x402
