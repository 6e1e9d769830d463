// PurchaseStore: the port under commerce/ (storage/ implements it, on SQLite and on PostgreSQL).
// Blocks; for the blocking pool and plain Threads, several at once. Its errors are those of its
// functions and purchase.unavailable: the database was not reached, or did not confirm.
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
  std::string request_digest;  // of what was asked for under it
  std::uint32_t open_max = 0;
  std::int64_t lease_ms = 0;  // for the opener to begin it
  bool is_offered = true;     // now; else there is none but a repeat
  // Of a run of Auto Top-Up.
  std::int64_t policy_revision = 0;
  std::string setup_id = {};
  std::string saved_method = {};
  std::string customer = {};
};

// A purchase under its key. Only one caller at a time works on it: whoever has its lease.
struct Opened {
  Purchase purchase;
  bool is_repeat = false;
  bool is_leased = false;  // to this caller, for `lease_ms`; false: somebody else works on it
};

struct PurchaseQuery {
  std::string account_id = {};  // empty: of all
  std::int64_t before = 0;      // sequence; 0: from the newest
  std::uint32_t limit = 50;
  bool open_only = false;
  bool paid_only = false;  // the money came at some time
  std::optional<State> state = {};
};

// How far a processor's changes were read.
struct ChangesPlace {
  std::int64_t since_ms = 0;  // all before it
};

// Money given back by an operator.
struct RefundRequest {
  std::string purchase_id;
  std::int64_t minor = 0;
  std::string note;
};
enum class RefundState : std::uint8_t { requested, sent, refused };
std::string_view name_of(RefundState state) noexcept;
struct Refund {
  std::string id;  // "ref_...": also its key at the processor
  std::string purchase_id;
  std::int64_t minor = 0;
  Credits wanted = 0;  // what its Credits come to
  RefundState state = RefundState::requested;
  std::string reference;  // at the processor
  std::string refusal;
  std::string note;
  std::int64_t created_at_ms = 0;
};

// Sums for the operator: of purchases of all accounts.
struct Standing {
  std::int64_t open = 0;
  std::int64_t oldest_open_ms = -1;   // since when
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

  // All that were ever published, newest first.
  [[nodiscard]] virtual Answer<std::vector<PublishedTerms>> terms() = 0;
  // REQUIRES: problem_of(terms) is empty.
  [[nodiscard]] virtual Answer<PublishedTerms> publish(const Terms& terms,
                                                       std::string_view processor,
                                                       const identity::Actor& actor) = 0;
  // Nothing: there is no such revision. Retiring a retired one changes nothing.
  [[nodiscard]] virtual Answer<std::optional<PublishedTerms>> retire(
      std::int64_t revision, const identity::Actor& actor) = 0;

  // ---- purchases

  // A new purchase, or the one under the key. In one transaction with the judgement whether the
  // actor may buy for the account: auth.role_missing (an admin is needed), account.absent,
  // account.suspended, account.closed, purchase.offer_changed, purchase.account_locked,
  // purchase.too_many_open, idempotency.conflict.
  [[nodiscard]] virtual Answer<Opened> open(const NewPurchase& wanted,
                                            const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<std::optional<Purchase>> find(std::string_view id) = 0;
  // Newest first.
  [[nodiscard]] virtual Answer<std::vector<Purchase>> list(const PurchaseQuery& query) = 0;
  // Whether the account may buy nothing, since a payment of it is disputed.
  [[nodiscard]] virtual Answer<bool> is_locked(std::string_view account_id) = 0;
  // The processor's name for the account; empty: it has none yet.
  [[nodiscard]] virtual Answer<std::string> customer(std::string_view account_id,
                                                     std::string_view processor) = 0;

  // Writes the step, if the row is still of the version that the step is from, with what it moves
  // in the ledger; ends the lease; it is due then, or at once if a hint came meanwhile. Nothing:
  // the row has changed since, and nothing was done. An account that cannot be given anything keeps
  // the purchase `paid`, with the conflict said.
  [[nodiscard]] virtual Answer<std::optional<Purchase>> advance(const Step& step,
                                                                std::int64_t due_ms) = 0;
  // Keeps `reply` as the body that answers the key for ever, unless there is one; the one there is.
  [[nodiscard]] virtual Answer<std::string> keep_reply(std::string_view id,
                                                       std::string_view reply) = 0;

  // Up to `limit` purchases that are due, leased to the caller.
  [[nodiscard]] virtual Answer<std::vector<Purchase>> take_due(std::int64_t lease_ms,
                                                               std::uint32_t limit) = 0;
  // Makes what the hints name due now, durably; how many there were.
  [[nodiscard]] virtual Answer<std::uint32_t> hint(std::string_view processor,
                                                   std::span<const Hint> hints) = 0;
  // The same for one purchase by its id; false: there is none.
  [[nodiscard]] virtual Answer<bool> hurry(std::string_view id) = 0;

  // From where changes of the processor are to be read, for the one caller that has the lease;
  // nothing: another node reads them, or did so since `not_since_ms`.
  [[nodiscard]] virtual Answer<std::optional<ChangesPlace>> take_changes(
      std::string_view processor, std::int64_t not_since_ms, std::int64_t lease_ms) = 0;
  [[nodiscard]] virtual Answer<Unit> keep_changes(std::string_view processor,
                                                  const ChangesPlace& place) = 0;

  // ---- operators

  // Takes the Credits of the refund back, and notes that the money is to be sent. Errors:
  // purchase.not_found, purchase.not_paid, purchase.amount_invalid (more than is left).
  [[nodiscard]] virtual Answer<Refund> request_refund(const RefundRequest& request,
                                                      const identity::Actor& actor) = 0;
  // Refunds that are requested, whose Credits are taken back as far as can be; oldest first.
  [[nodiscard]] virtual Answer<std::vector<Refund>> refunds_to_send(std::uint32_t limit) = 0;
  [[nodiscard]] virtual Answer<std::vector<Refund>> refunds(std::string_view purchase_id) = 0;
  // Sent, with its name at the processor as `detail`; or refused, with why, and its Credits are
  // given back, as a new allocation whose id is derived from the refund's.
  [[nodiscard]] virtual Answer<Unit> end_refund(std::string_view refund_id, RefundState state,
                                                std::string_view detail) = 0;
  // The account may buy again, though a payment of it is disputed. How many purchases locked it.
  [[nodiscard]] virtual Answer<std::uint32_t> unlock(std::string_view account_id,
                                                     const identity::Actor& actor) = 0;
  // Credits a purchase that is paid and does not fit, as the operator judges. purchase.not_found,
  // purchase.not_paid (its state is another).
  [[nodiscard]] virtual Answer<Purchase> resolve(std::string_view id,
                                                 const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<Standing> standing() = 0;
};

}  // namespace turnpike::commerce
