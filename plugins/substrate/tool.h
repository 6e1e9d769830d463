// The verifier as a tool that models may call: its name, what it is for, and the schemas of its
// arguments and of its result. Constants; any Thread.
#pragma once

#include <string_view>

#include <turnpike/provider.h>

namespace turnpike::substrate {

const OperationTool& verifier_tool() noexcept;

// input_schema.json and output_schema.json, compiled in. Nothing is required at the root of the
// second: clients hold refusals of a call against it, too.
std::string_view input_schema() noexcept;
std::string_view output_schema() noexcept;

}  // namespace turnpike::substrate
