// Corrections: units given back for a call that was charged. The fact stays as it is; a correction
// is a further record that names it, and an allocation of its own that carries the units. All
// corrections of one message together never exceed its charge, whoever makes them and on however
// many nodes.
//
// A correction is named by the account and the idempotency key it was asked for with: the same
// request under the same key is answered with the first receipt, another one is refused.
//
// CorrectionStore is a port (storage/ implements it). Safe for concurrent use from the blocking
// pool and plain Threads; blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/books.h"

namespace turnpike::ledger {

// Why the units go back: the charge stands but is made good, or it should not have been made.
enum class CorrectionKind : std::uint8_t { refund, voiding };
std::string_view name_of(CorrectionKind kind) noexcept;  // "refund", "void"
std::optional<CorrectionKind> correction_kind(std::string_view name) noexcept;

struct CorrectionRequest {
  std::string account_id;
  std::string message_id;  // of the call that was charged
  CorrectionKind kind = CorrectionKind::refund;
  Credits units = 0;
  std::string reason;
  std::string reference;  // the operator's own, such as a ticket; empty: none
  std::string idempotency_key;
  std::string operator_id;
};

struct Correction {
  std::string id;  // "cor_..."
  std::string message_id;
  CorrectionKind kind = CorrectionKind::refund;
  Credits units = 0;
  std::string reason;
  std::string reference;
  std::string allocation_id;
  std::string operator_id;  // who made it first
  std::int64_t recorded_at_ms = 0;
  bool is_repeat = false;  // it was recorded before: nothing was done now

  // Whether the request asks for this correction, even if another operator sent it.
  [[nodiscard]] bool answers(const CorrectionRequest& request) const noexcept {
    return message_id == request.message_id && kind == request.kind && units == request.units &&
           reason == request.reason && reference == request.reference;
  }
};

// Units given back live as long as those that were spent would have, but never so short that they
// cannot be used.
inline constexpr std::int64_t correction_valid_ms_min = 90ll * 24 * 60 * 60 * 1000;
constexpr std::int64_t correction_expiry_ms(std::int64_t original_expires_at_ms,
                                            std::int64_t now_ms) noexcept {
  return std::max(original_expires_at_ms, now_ms + correction_valid_ms_min);
}

// A correction as operators look at it.
struct MadeCorrection {
  Correction made;
  std::string account_id;
  std::string operator_name;  // empty: it is not known by a name
};

struct CorrectionQuery {
  // Those made before it: the last one of the page before.
  std::int64_t before_recorded_at_ms = 0;  // 0: from the newest
  std::string before_id = {};
  std::uint32_t limit = 25;
};

class CorrectionStore {
 public:
  virtual ~CorrectionStore() = default;
  // Of all accounts, newest first. billing.ledger_unavailable, account.read_failed.
  [[nodiscard]] virtual Result<std::vector<MadeCorrection>, base::Error> list(
      const CorrectionQuery& query) = 0;
  // Durable when it returns. Errors: billing.message_not_found (no such fact of this account),
  // billing.correction_exceeds_charge, idempotency.conflict, request.malformed (units),
  // billing.ledger_unavailable (nothing was recorded, or it is not known: repeat it).
  [[nodiscard]] virtual Result<Correction, base::Error> correct(
      const CorrectionRequest& request) = 0;
};

}  // namespace turnpike::ledger
