#include "notices/store.h"

namespace turnpike::notices {

std::string_view name_of(Scan scan) noexcept {
  switch (scan) {
    case Scan::accounts: return "accounts";
    case Scan::sweep: return "sweep";
  }
  return "";
}

}  // namespace turnpike::notices
