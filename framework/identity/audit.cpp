#include "identity/audit.h"

namespace turnpike::identity {

std::string_view name_of(AuditOutcome outcome) noexcept {
  return outcome == AuditOutcome::done ? "done" : "refused";
}

}  // namespace turnpike::identity
