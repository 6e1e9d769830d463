#include "commerce/store.h"

namespace turnpike::commerce {

std::string_view name_of(RefundState state) noexcept {
  switch (state) {
    case RefundState::requested: return "requested";
    case RefundState::sent: return "sent";
    case RefundState::refused: return "refused";
  }
  return "";
}

}  // namespace turnpike::commerce
