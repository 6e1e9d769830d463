// The tools by which the holder of an API key reads its own account: the Credits that are left, the
// Credits that were spent, and the outcome of one call. They cost nothing and give the same answers
// as the HTTP routes.
#pragma once

#include <memory>
#include <vector>

#include "hosts/account_reads.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/tool.h"

namespace turnpike::hosts::mcp {

// The tools in the order of the list, for the endpoint of accounts alone. Both outlive the tools.
std::vector<std::shared_ptr<const Tool>> make_account_tools(const AccountReads& reads,
                                                            const Executions& executions);

}  // namespace turnpike::hosts::mcp
