// compile_with_notes(): compile() that also reports parts of a valid program that are probably
// mistakes: definitions that no route uses. Pure, as compile() is; any Thread.
#pragma once

#include <vector>

#include "registry/compile.h"

namespace turnpike::registry {

// Appends to `notes` only when the program is valid.
Compiled compile_with_notes(const CompileInput& input, std::vector<Problem>& notes);

}  // namespace turnpike::registry
