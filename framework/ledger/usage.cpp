#include "ledger/usage.h"

namespace turnpike::ledger {

std::string_view outcome_of(std::string_view outcome_reason) noexcept {
  if (outcome_reason == "success") return "charged";
  return outcome_reason == "replayed" ? "replayed" : "released";
}

}  // namespace turnpike::ledger
