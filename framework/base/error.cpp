#include "base/error.h"

namespace turnpike::base {

const ErrorInfo* find_error(std::string_view name) noexcept {
  for (const ErrorInfo& info : error_infos) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace turnpike::base
