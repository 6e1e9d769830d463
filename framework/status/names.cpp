// Names that the rules' own files give once they are here: record.cpp and incidents.cpp replace
// this one.
#include "status/book.h"
#include "status/record.h"

namespace turnpike::status {

std::string_view name_of(IncidentState state) noexcept {
  constexpr std::string_view names[] = {"suspect", "open", "recovering", "resolved"};
  return names[static_cast<std::size_t>(state)];
}

std::string_view name_of(Resolution resolution) noexcept {
  constexpr std::string_view names[] = {"none", "recovered", "not_confirmed", "evidence_lost",
                                        "removed"};
  return names[static_cast<std::size_t>(resolution)];
}

std::string_view name_of(LookResult result) noexcept {
  constexpr std::string_view names[] = {"pass", "fail", "unknown", "skipped"};
  return names[static_cast<std::size_t>(result)];
}

std::string_view name_of(Reason reason) noexcept {
  constexpr std::string_view names[] = {
      "none",         "timeout",      "unreachable",   "protocol",
      "status",       "credential",   "rate_limited",  "content_type",
      "response_too_large", "contract", "freshness",   "blocked",
      "plugin_fault", "price_missing", "inventory",    "ledger",
      "offer",        "stopping",     "budget"};
  return names[static_cast<std::size_t>(reason)];
}

}  // namespace turnpike::status
