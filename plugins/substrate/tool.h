// The verifier as a tool that models may call: its name, its description and the schemas of its
// arguments and of its result. Constants; any Thread may read them.
#pragma once

#include <string_view>

#include <turnpike/provider.h>

namespace turnpike::substrate {

const OperationTool& verifier_tool() noexcept;

// The contents of input_schema.json and output_schema.json. The output schema requires no member at
// its root, since clients validate error replies against it, too.
std::string_view input_schema() noexcept;
std::string_view output_schema() noexcept;

}  // namespace turnpike::substrate
