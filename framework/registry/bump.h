// bump(): raises, in the text of the registry's files, the revisions and versions of definitions
// that differ from the installed ones. Nothing else of a file changes: comments, order and layout
// stay. Pure; safe on any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "registry/compile.h"

namespace turnpike::registry {

struct Raised {
  std::string file;
  int line = 0;              // of the definition, before the change
  std::string path;          // "routes[3]"
  std::string_view counter;  // "revision" or "version"
  std::uint32_t to = 0;
};

struct Bumped {
  std::vector<Source> changed;  // the files whose text changed
  std::vector<Raised> raised;
};

// Problems are those of compile(), except redefinitions. `lane` as in CompileInput.
Result<Bumped, std::vector<Problem>> bump(std::span<const Source> files,
                                          std::span<const InstalledFact> installed,
                                          const Lane* lane = nullptr);

}  // namespace turnpike::registry
