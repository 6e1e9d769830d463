// Finds the custom section of a wasm module that holds the runtime's version, without running or
// validating the code. Every length is checked against the part that contains it. One Thread at a
// time.
#pragma once

#include <optional>
#include <string_view>

#include "substrate/codec/code_stream.h"

namespace turnpike::substrate {

struct WasmSections {
  std::string_view problem = {};  // empty: the division into sections is well formed
  std::optional<Bytes> runtime_version = std::nullopt;
};

// Reads the module from its first byte. Stops at the first problem and leaves the rest in `stream`.
WasmSections read_wasm_sections(CodeStream& stream);

}  // namespace turnpike::substrate
