#include "ledger/corrections.h"

namespace turnpike::ledger {

std::string_view name_of(CorrectionKind kind) noexcept {
  return kind == CorrectionKind::refund ? "refund" : "void";
}

std::optional<CorrectionKind> correction_kind(std::string_view name) noexcept {
  for (const CorrectionKind each : {CorrectionKind::refund, CorrectionKind::voiding}) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

}  // namespace turnpike::ledger
