#include "ledger/reports.h"

namespace turnpike::ledger {

std::string_view name_of(BookCheckKind kind) noexcept {
  return kind == BookCheckKind::verified ? "verified" : "checkpoint";
}

}  // namespace turnpike::ledger
