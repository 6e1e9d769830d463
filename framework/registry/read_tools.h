// Tools: operations that a host lists as tools of their own (`tools:`).
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

// The operations of a draft by what they are called: "GET /v1/gateway/...".
class OperationNames {
 public:
  struct Named {
    std::string name;
    std::uint32_t route = 0;  // in the draft
    std::uint32_t method = 0;
  };

  // `are_sound`: nothing is wrong with the routes. Where something is, operations may be missing
  // or lack parameters, and complaints about that would mislead.
  OperationNames(const std::vector<DraftRoute>& routes, bool are_sound);

  // The operation that `cursor` names, reported when there is none; null, too, unless the routes
  // are sound.
  [[nodiscard]] const Named* resolve(const Cursor& cursor) const;

 private:
  std::vector<Named> sorted_;
  bool are_sound_;
};

// The top-level section of one file. All routes are read before.
void read_tools(const Cursor& section, const OperationNames& operations, Draft& draft);

}  // namespace turnpike::registry
