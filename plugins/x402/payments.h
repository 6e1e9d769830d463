// Payments: the states of payments (payment_record.h) as durable steps over the plugin's store.
// Each step is one apply() that checks the version last seen. So if several nodes and calls change
// a payment at once, one of them succeeds and the others find that they lost.
//
// One per Engine or command, over a Store that outlives it; otherwise stateless. Any fiber, any
// Thread; every member but the constructor and now_ms() waits.
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
  lost,         // another writer changed the payment or bound an id: read it again
  unavailable,  // certainly not done
  unknown,      // it may have been done
};

// A payment at a version. The writer of that version holds its lease.
struct KnownPayment {
  std::string key;  // hex
  PaymentRecord record;
  std::uint64_t version = 0;
  std::string response = {};  // PAYMENT-RESPONSE of a settled payment, once made or read
};

// What a step writes in addition to the record.
struct Beside {
  const Replay* reply = nullptr;         // to store
  const OpenSettlement* open = nullptr;  // to store
  bool drops_reply = false;
  bool closes = false;                // the open settlement is over
  std::int64_t audit_ms = 0;          // when to ask the chain about it; 0: no change
  std::string_view ended_audit = {};  // store key of an audit that is over or was put off
  // The entry to write into the ledger: "settled", "refund_owed", "refunded", "not_settled",
  // "settled_by" (the chain shows another transaction than the facilitator named) or "disproved"
  // (the chain proves that it was never settled). `note` is a note in the entry, such as the
  // operator's own words if it rests on them.
  std::string_view entry = {};
  std::string_view note = {};
  // Store keys of callers' own ids to bind to this payment; none may be bound yet. They are freed
  // if the payment is not collected or is paid back.
  std::span<const std::string> identifiers = {};
};

class Payments {
 public:
  explicit Payments(Store& store) noexcept : store_(store) {}

  [[nodiscard]] std::int64_t now_ms() const noexcept { return store_.now_ms(); }

  // Returns nullopt if there is none. A record that cannot be read is a failure.
  Result<std::optional<KnownPayment>> find(std::string_view key, Call& call);

  // Writes `next` over the version at which `payment` was read (0: it must not exist), together
  // with `beside`. If done, `payment` is at the new version.
  Step write(KnownPayment& payment, PaymentRecord next, const Beside& beside, Call& call);

  Result<std::optional<Replay>> reply(const KnownPayment& payment, Call& call);
  // Reads the PAYMENT-RESPONSE that was made at the settlement; the ledger keeps it.
  Done read_response(KnownPayment& payment, Call& call);
  Result<std::optional<OpenSettlement>> open_settlement(const KnownPayment& payment, Call& call);
  // Returns the payment that a caller's id is bound to; nullopt if none.
  Result<std::optional<std::string>> bound_to(const std::string& identifier_key, Call& call);

  // A page of payments with an open settlement: their keys, and where the next page begins. The
  // last page is empty.
  struct OpenPage {
    std::vector<std::string> keys;
    std::string end;
  };
  Result<OpenPage> open_after(const std::string& after, std::uint32_t limit, Call& call);

  // Returns at most `limit` payments that are watched and due.
  Result<std::vector<std::string>> watched(std::uint32_t limit, Call& call);

  // A page of the settlements to audit, in the order in which they are due.
  struct DueAudit {
    std::string name;  // its key in the store
    std::string payment;
    std::int64_t due_ms = 0;
    std::int64_t settled_ms = 0;
    std::string node;  // the one that settled it
    bool is_doubted = false;
  };
  Result<std::vector<DueAudit>> audits_after(std::string_view after, std::uint32_t limit,
                                             Call& call);
  // Removes an audit of a payment that is gone or cannot be audited any more.
  void drop_audit(std::string_view name, Call& call);

  // Removes the payments that may be forgotten among the next `limit` after `after`. Ledger entries
  // stay.
  struct Forgotten {
    std::string end;  // where to go on; empty: at the beginning
    std::uint32_t removed = 0;
  };
  Result<Forgotten> forget(std::string_view after, std::uint32_t limit, Call& call);

 private:
  Store& store_;
};

// A payment may be forgotten when nobody can use it any more: a day after it ended, and once it is
// no longer valid. One that nothing was charged for may be forgotten ten minutes after it ended, as
// if it had never come. Payments with an open outcome or an open audit, owed refunds, and payments
// for purchases stay.
bool may_be_forgotten(const PaymentRecord& record, std::int64_t now_ms) noexcept;

// Returns one entry of the ledger as JSON.
std::string entry_json(const KnownPayment& payment, std::string_view what, std::int64_t at_ms,
                       std::string_view note = {});

// Returns the PAYMENT-RESPONSE of a settled payment; `extensions` is a JSON object.
std::string payment_response(const PaymentRecord& record, std::string_view extensions);

}  // namespace turnpike::x402
