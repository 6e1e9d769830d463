// PurchaseStore: the port under commerce/ (storage/ implements it, on SQLite and on PostgreSQL).
// Blocks; for the blocking pool and plain Threads, concurrently. Errors are those listed per
// function and purchase.unavailable: the database was not reached, or did not confirm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/processor.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "commerce/offer.h"
#include "commerce/purchase.h"
#include "identity/audit.h"
#include "ledger/store.h"

namespace turnpike::commerce {

struct NewPurchase {
  std::string account_id;
  ledger::Origin origin = ledger::Origin::purchase;
  std::string offer_id;
  std::string currency;
  std::int64_t minor = 0;
  Credits credits = 0;
  std::int64_t validity_days = 0;
  std::string processor;
  std::int64_t expires_at_ms = 0;
  std::string key_digest;      // of the Idempotency-Key
  std::string request_digest;  // of the request body
  std::uint32_t open_max = 0;
  std::int64_t lease_ms = 0;  // time for the opener to begin the purchase
  bool is_offered = true;     // the offer is in force; otherwise only repeats succeed
  // For a run of Auto Top-Up.
  std::int64_t policy_revision = 0;
  std::string setup_id = {};
  std::string saved_method = {};
  std::string customer = {};
};

// A purchase under its key. One caller at a time works on it: the holder of its lease.
struct Opened {
  Purchase purchase;
  bool is_repeat = false;
  bool is_leased = false;  // to this caller, for `lease_ms`; false: another caller works on it
};

struct PurchaseQuery {
  std::string account_id = {};  // empty: all accounts
  std::int64_t before = 0;      // cursor, a sequence; 0: start at the newest
  std::uint32_t limit = 50;
  bool open_only = false;
  bool paid_only = false;  // paid at some time
  std::optional<State> state = {};
};

// The position up to which a processor's changes were read.
struct ChangesPlace {
  std::int64_t since_ms = 0;  // all earlier changes were read
};

// A refund requested by an operator.
struct RefundRequest {
  std::string purchase_id;
  std::int64_t minor = 0;
  std::string note;
};
enum class RefundState : std::uint8_t { requested, sent, refused };
std::string_view name_of(RefundState state) noexcept;
struct Refund {
  std::string id;  // "ref_..."; also its idempotency key at the processor
  std::string purchase_id;
  std::int64_t minor = 0;
  Credits wanted = 0;  // the Credits that it is worth
  RefundState state = RefundState::requested;
  std::string reference;  // id at the processor
  std::string refusal;
  std::string note;
  std::int64_t created_at_ms = 0;
};

// Sums over the purchases of all accounts, for the operator.
struct Standing {
  std::int64_t open = 0;
  std::int64_t oldest_open_ms = -1;   // creation time of the oldest
  std::int64_t paid_not_credited = 0;
  std::int64_t locked_accounts = 0;
  Credits lost = 0;
};

class PurchaseStore {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;
  virtual ~PurchaseStore() = default;

  // ---- terms

  // All terms ever published, newest first.
  [[nodiscard]] virtual Answer<std::vector<PublishedTerms>> terms() = 0;
  // REQUIRES: problem_of(terms) is empty.
  [[nodiscard]] virtual Answer<PublishedTerms> publish(const Terms& terms,
                                                       std::string_view processor,
                                                       const identity::Actor& actor) = 0;
  // nullopt: no such revision. Retiring a retired one changes nothing.
  [[nodiscard]] virtual Answer<std::optional<PublishedTerms>> retire(
      std::int64_t revision, const identity::Actor& actor) = 0;

  // ---- purchases

  // Opens a purchase, or returns the one under the key. Whether the actor may buy for the account
  // is checked in the same transaction: auth.role_missing (an admin is needed), account.absent,
  // account.suspended, account.closed, purchase.offer_changed, purchase.account_locked,
  // purchase.too_many_open, idempotency.conflict.
  [[nodiscard]] virtual Answer<Opened> open(const NewPurchase& wanted,
                                            const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<std::optional<Purchase>> find(std::string_view id) = 0;
  // Newest first.
  [[nodiscard]] virtual Answer<std::vector<Purchase>> list(const PurchaseQuery& query) = 0;
  // True if the account may not buy, since one of its payments is disputed.
  [[nodiscard]] virtual Answer<bool> is_locked(std::string_view account_id) = 0;
  // The account's customer id at the processor; empty: none yet.
  [[nodiscard]] virtual Answer<std::string> customer(std::string_view account_id,
                                                     std::string_view processor) = 0;

  // Writes the step and its ledger changes, if the row still has the step's version, and ends the
  // lease; the purchase is due at `due_ms`, or at once if a hint came meanwhile. nullopt: the row
  // has changed since, and nothing was written. If the account may not receive Credits, the
  // purchase stays `paid` with a conflict.
  [[nodiscard]] virtual Answer<std::optional<Purchase>> advance(const Step& step,
                                                                std::int64_t due_ms) = 0;
  // Stores `reply` permanently as the body that answers the key, unless there is one; returns the
  // stored body.
  [[nodiscard]] virtual Answer<std::string> keep_reply(std::string_view id,
                                                       std::string_view reply) = 0;

  // Up to `limit` purchases that are due, leased to the caller.
  [[nodiscard]] virtual Answer<std::vector<Purchase>> take_due(std::int64_t lease_ms,
                                                               std::uint32_t limit) = 0;
  // Makes the purchases and setups named by the hints due now, durably; returns their number.
  [[nodiscard]] virtual Answer<std::uint32_t> hint(std::string_view processor,
                                                   std::span<const Hint> hints) = 0;
  // Makes one purchase due now; false: no such purchase.
  [[nodiscard]] virtual Answer<bool> hurry(std::string_view id) = 0;

  // The position to read the processor's changes from, for the one caller that gets the lease;
  // nullopt: another node reads them, or did so since `not_since_ms`.
  [[nodiscard]] virtual Answer<std::optional<ChangesPlace>> take_changes(
      std::string_view processor, std::int64_t not_since_ms, std::int64_t lease_ms) = 0;
  [[nodiscard]] virtual Answer<Unit> keep_changes(std::string_view processor,
                                                  const ChangesPlace& place) = 0;

  // ---- operators

  // Claws back the refund's Credits and records that the money is to be sent. Errors:
  // purchase.not_found, purchase.not_paid, purchase.amount_invalid (more than is left).
  [[nodiscard]] virtual Answer<Refund> request_refund(const RefundRequest& request,
                                                      const identity::Actor& actor) = 0;
  // Requested refunds whose clawing back is settled; oldest first.
  [[nodiscard]] virtual Answer<std::vector<Refund>> refunds_to_send(std::uint32_t limit) = 0;
  [[nodiscard]] virtual Answer<std::vector<Refund>> refunds(std::string_view purchase_id) = 0;
  // Marks a refund sent, with its id at the processor as `detail`; or refused, with the reason, and
  // restores its Credits as a new allocation whose id is derived from the refund's.
  [[nodiscard]] virtual Answer<Unit> end_refund(std::string_view refund_id, RefundState state,
                                                std::string_view detail) = 0;
  // Lets the account buy again despite a disputed payment. Returns the number of purchases that
  // locked it.
  [[nodiscard]] virtual Answer<std::uint32_t> unlock(std::string_view account_id,
                                                     const identity::Actor& actor) = 0;
  // Credits a `paid` purchase that does not match, by the operator's decision. purchase.not_found,
  // purchase.not_paid (it is in another state).
  [[nodiscard]] virtual Answer<Purchase> resolve(std::string_view id,
                                                 const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<Standing> standing() = 0;
};

}  // namespace turnpike::commerce
