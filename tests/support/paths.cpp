#include "support/paths.h"

namespace turnpike::support {

std::string source_path(std::string_view below) {
  return TURNPIKE_SOURCE_DIR "/" + std::string(below);
}

std::string build_path(std::string_view below) {
  return TURNPIKE_BINARY_DIR "/" + std::string(below);
}

}  // namespace turnpike::support
