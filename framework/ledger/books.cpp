#include "ledger/books.h"

#include <array>

namespace turnpike::ledger {
namespace {

constexpr std::array<std::string_view, 5> origin_names{"starter_grant", "purchase", "auto_top_up",
                                                       "operator_grant", "correction"};
constexpr std::array<std::string_view, 4> status_names{"active", "exhausted", "expired", "voided"};

}  // namespace

std::string_view name_of(Origin origin) noexcept {
  return origin_names[static_cast<std::size_t>(origin)];
}

std::optional<Origin> origin(std::string_view name) noexcept {
  for (std::size_t at = 0; at < origin_names.size(); ++at) {
    if (origin_names[at] == name) return static_cast<Origin>(at);
  }
  return std::nullopt;
}

std::string_view name_of(AllocationStatus status) noexcept {
  return status_names[static_cast<std::size_t>(status)];
}

}  // namespace turnpike::ledger
