// Look: the result of one health check of a target, before it becomes a record. Values; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "status/record.h"

namespace turnpike::status {

struct Look {
  LookResult result = LookResult::unknown;
  Reason reason = Reason::none;
  std::uint32_t status = 0;  // HTTP status; 0: none
  std::optional<std::uint32_t> latency_ms;
  std::string expect_hash;  // see Record
  std::string body_sha256;
  std::string difference;
};

}  // namespace turnpike::status
