// The custom sections of a wasm module that say what runtime it is, found without running or even
// validating the code. Every length is checked against what holds it. One Thread at a time.
#pragma once

#include <optional>
#include <string_view>

#include "substrate/codec/code_stream.h"

namespace turnpike::substrate {

struct WasmSections {
  std::string_view problem = {};  // empty: the module is well formed as far as its sections go
  std::optional<Bytes> runtime_version = std::nullopt;
};

// Reads the module from its first byte; on a problem the rest is left in the stream.
WasmSections read_wasm_sections(CodeStream& stream);

}  // namespace turnpike::substrate
