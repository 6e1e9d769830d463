// Payments: the states of payments (payment_record.h) as durable steps over the plugin's store.
// Each step is one apply() that checks the version last seen, so of all nodes and calls that would
// change a payment at once one succeeds, and a late one finds that it lost.
//
// One per lane, over a Store that outlives it; stateless beyond that. Any fiber, any Thread; every
// member but the constructor waits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/store.h>

#include "x402/payment_record.h"

namespace turnpike::x402 {

enum class Step : std::uint8_t {
  done,
  lost,         // somebody else has changed the payment: read it again
  unavailable,  // certainly not done
  unknown,      // it may have been done
};

// A payment at a version. The writer of that version holds its lease.
struct KnownPayment {
  std::string key;  // hex
  PaymentRecord record;
  std::uint64_t version = 0;
  std::string response = {};  // PAYMENT-RESPONSE once settled, where it was made or read
};

// What a step writes beside the record.
struct Beside {
  const Replay* reply = nullptr;         // to store
  const OpenSettlement* open = nullptr;  // to store
  bool drops_reply = false;
  bool closes = false;        // the open settlement is over
  std::int64_t audit_ms = 0;  // when the chain is to be asked about it; 0: that is not changed
  std::string_view ended_audit = {};  // key of an audit that is over, or was put off
  // Of the ledger: "settled", "refund_owed", "refunded", "not_settled", "settled_by" (the chain
  // shows another transaction than the facilitator named), "disproved" (the chain proves that it
  // was never settled). And a note in it, such as an operator's own words where it rests on them.
  std::string_view entry = {};
  std::string_view note = {};
  // Of callers' own ids, to bind to this payment; none may be bound yet. They are
  // freed when the payment was not collected, or paid back.
  std::span<const std::string> identifiers = {};
};

class Payments {
 public:
  explicit Payments(Store& store) noexcept : store_(store) {}

  [[nodiscard]] std::int64_t now_ms() const noexcept { return store_.now_ms(); }

  // Nothing: there is none. A record that cannot be read is a failure.
  Result<std::optional<KnownPayment>> find(std::string_view key, Call& call);

  // Writes `next` over what `payment` was read as (version 0: over nothing), and what is beside it.
  // Done: `payment` is now at the new version.
  Step write(KnownPayment& payment, PaymentRecord next, const Beside& beside, Call& call);

  Result<std::optional<Replay>> reply(const KnownPayment& payment, Call& call);
  // Reads the PAYMENT-RESPONSE that was made when it was settled: it stands in the ledger.
  Done read_response(KnownPayment& payment, Call& call);
  Result<std::optional<OpenSettlement>> open_settlement(const KnownPayment& payment, Call& call);
  // The payment that a caller's id was bound to; nothing: none.
  Result<std::optional<std::string>> bound_to(const std::string& identifier_key, Call& call);

  // A page of payments with an open settlement: their keys, and where the next page begins. The
  // last page is empty.
  struct OpenPage {
    std::vector<std::string> keys;
    std::string end;
  };
  Result<OpenPage> open_after(const std::string& after, std::uint32_t limit, Call& call);

  // Payments that are watched and due, at most so many.
  Result<std::vector<std::string>> watched(std::uint32_t limit, Call& call);

  // A page of settlements that are to be audited, in the order in which they are due.
  struct DueAudit {
    std::string name;  // its key in the store
    std::string payment;
    std::int64_t due_ms = 0;
    std::int64_t settled_ms = 0;
    std::string node;  // that settled it
    bool is_doubted = false;
  };
  Result<std::vector<DueAudit>> audits_after(std::string_view after, std::uint32_t limit,
                                             Call& call);
  // Ends the audit of a payment that is not known any more.
  void drop_audit(std::string_view name, Call& call);

  // Removes what may be forgotten of at most `limit` payments behind `after`. Entries of the ledger
  // stay.
  struct Forgotten {
    std::string end;  // where to go on; empty: at the beginning
    std::uint32_t removed = 0;
  };
  Result<Forgotten> forget(std::string_view after, std::uint32_t limit, Call& call);

 private:
  Store& store_;
};

// A payment may be forgotten when nobody could use it any more: a day after it ended and when it
// is no longer valid. One that nothing was charged for is soon as good as one that never came.
// Those whose outcome is open, owed refunds, and what paid for purchases, stay.
bool may_be_forgotten(const PaymentRecord& record, std::int64_t now_ms) noexcept;

// One entry of the ledger, JSON.
std::string entry_json(const KnownPayment& payment, std::string_view what, std::int64_t at_ms,
                       std::string_view note = {});

// PAYMENT-RESPONSE of a payment that is settled; `extensions` is a JSON object.
std::string payment_response(const PaymentRecord& record, std::string_view extensions);

}  // namespace turnpike::x402
