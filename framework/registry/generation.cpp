#include "registry/generation.h"

namespace turnpike::registry {

std::string generation_id(std::string_view payload_hash) {
  return "gen_" + std::string(payload_hash.substr(payload_hash.find(':') + 1).substr(0, 16));
}

}  // namespace turnpike::registry
