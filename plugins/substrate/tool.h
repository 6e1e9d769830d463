// The verifier as a tool that models may call: its name, what it is for, and the schemas of its
// arguments and of its result. Constants; any Thread.
#pragma once

#include <turnpike/provider.h>

namespace turnpike::substrate {

const OperationTool& verifier_tool() noexcept;

}  // namespace turnpike::substrate
