// Reads `tools:`: operations that a host lists as separate tools.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "registry/draft.h"
#include "registry/reader.h"

namespace turnpike::registry {

// The operations of a draft by name: "GET /v1/gateway/...".
class OperationNames {
 public:
  struct Named {
    std::string name;
    std::uint32_t route = 0;  // in the draft
    std::uint32_t method = 0;
  };

  // `are_sound`: the routes have no problems. Otherwise operations may be missing or lack
  // parameters, and reports about that would mislead.
  OperationNames(const std::vector<DraftRoute>& routes, bool are_sound);

  // The operation that `cursor` names; a missing one is reported. Also null if the routes have
  // problems.
  [[nodiscard]] const Named* resolve(const Cursor& cursor) const;

 private:
  std::vector<Named> sorted_;
  bool are_sound_;
};

// The top-level section of one file. Call it after all routes are read.
void read_tools(const Cursor& section, const OperationNames& operations, Draft& draft);

}  // namespace turnpike::registry
