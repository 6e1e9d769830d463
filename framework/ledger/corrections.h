// Corrections: units returned for a charged call. The fact stays unchanged; a correction is a
// further record that names it, with an allocation of its own that carries the units. All
// corrections of one message together never exceed its charge, whoever makes them and on however
// many nodes.
//
// A correction is identified by the account and its idempotency key: the same request under the
// same key gets the first receipt again, a different one is refused.
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

// Why the units are returned: as compensation for a valid charge, or because the charge was wrong.
enum class CorrectionKind : std::uint8_t { refund, voiding };
std::string_view name_of(CorrectionKind kind) noexcept;  // "refund", "void"
std::optional<CorrectionKind> correction_kind(std::string_view name) noexcept;

struct CorrectionRequest {
  std::string account_id;
  std::string message_id;  // of the charged call
  CorrectionKind kind = CorrectionKind::refund;
  Credits units = 0;
  std::string reason;
  std::string reference;  // the operator's reference, such as a ticket; empty: none
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
  std::string operator_id;  // the operator who made it first
  std::int64_t recorded_at_ms = 0;
  bool is_repeat = false;  // recorded earlier: nothing was done now

  // True if the request asks for this correction, even if another operator sent it.
  [[nodiscard]] bool answers(const CorrectionRequest& request) const noexcept {
    return message_id == request.message_id && kind == request.kind && units == request.units &&
           reason == request.reason && reference == request.reference;
  }
};

// Returned units expire when the spent ones would have, but no earlier than this long after the
// correction, so that they can be used.
inline constexpr std::int64_t correction_valid_ms_min = 90ll * 24 * 60 * 60 * 1000;
constexpr std::int64_t correction_expiry_ms(std::int64_t original_expires_at_ms,
                                            std::int64_t now_ms) noexcept {
  return std::max(original_expires_at_ms, now_ms + correction_valid_ms_min);
}

// A correction as shown to operators.
struct MadeCorrection {
  Correction made;
  std::string account_id;
  std::string operator_name;  // empty: unknown
};

struct CorrectionQuery {
  // Cursor: corrections made before this one, the last one of the previous page.
  std::int64_t before_recorded_at_ms = 0;  // 0: start at the newest
  std::string before_id = {};
  std::uint32_t limit = 25;
};

class CorrectionStore {
 public:
  virtual ~CorrectionStore() = default;
  // Of all accounts, newest first. billing.ledger_unavailable, account.read_failed.
  [[nodiscard]] virtual Result<std::vector<MadeCorrection>, base::Error> list(
      const CorrectionQuery& query) = 0;
  // Durable when it returns. Errors: billing.message_not_found (the account has no such fact),
  // billing.correction_exceeds_charge, idempotency.conflict, request.malformed (units),
  // billing.ledger_unavailable (nothing was recorded, or the outcome is unknown: repeat the
  // request).
  [[nodiscard]] virtual Result<Correction, base::Error> correct(
      const CorrectionRequest& request) = 0;
};

}  // namespace turnpike::ledger
