// The tools, resources and prompts that the official conformance suite calls by name (bar B of
// tests/e2e/test_mcp_conformance.py). They give what its scenarios say; what is judged is the host
// around them.
//
// Owned by the server of the suite; called on the fibers of all loop Threads.
#pragma once

#include <memory>

#include "hosts/mcp/features.h"
#include "mcp/request_state.h"

namespace turnpike::tests {

class SuiteFeatures {
 public:
  // `state` outlives the object.
  explicit SuiteFeatures(const RequestState& state);
  ~SuiteFeatures();

  [[nodiscard]] const hosts::mcp::Features& features() const noexcept { return *features_; }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<hosts::mcp::Features> features_;
};

}  // namespace turnpike::tests
