// NodeContent: one node's report of one round: its sentinels' looks and the results of its calls.
// The store keeps it as JSON until the leader has turned it into records. Values; any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "status/look.h"
#include "status/traffic.h"

namespace turnpike::status {

struct SentinelLook {
  std::string target;
  std::int64_t due_at_ms = 0;
  std::int64_t started_at_ms = 0;
  Look look;
};

struct NodeContent {
  std::vector<SentinelLook> looks;
  TrafficSums traffic;
};

std::string write_node_content(const NodeContent& content);
// The error is a sentence.
Result<NodeContent, std::string> read_node_content(std::string_view json);

}  // namespace turnpike::status
