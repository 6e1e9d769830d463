// The tools by which the holder of an API key reads its own account: the remaining Credits, the
// spent Credits, and the outcome of one call. They cost nothing and return the same data as the
// HTTP routes.
#pragma once

#include <memory>
#include <vector>

#include "hosts/account_reads.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/tool.h"

namespace turnpike::hosts::mcp {

// Makes the tools in the order of the list, for the endpoint of accounts only. Both arguments
// outlive the tools.
std::vector<std::shared_ptr<const Tool>> make_account_tools(const AccountReads& reads,
                                                            const Executions& executions);

}  // namespace turnpike::hosts::mcp
