// compile_with_notes(): compile() for those who ask what a sound program hardly means as it stands:
// definitions that no route uses. Pure, as compile() is; any Thread.
#pragma once

#include <vector>

#include "registry/compile.h"

namespace turnpike::registry {

// Appends to `notes` only when the program is sound in itself.
Compiled compile_with_notes(const CompileInput& input, std::vector<Problem>& notes);

}  // namespace turnpike::registry
