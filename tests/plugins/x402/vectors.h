// The published vectors of x402, which are not part of the tree. A test that needs them is skipped
// with a message if they are absent. Every test also has its own cases.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "support/paths.h"

namespace turnpike::x402 {

// Null if the file is absent.
inline nlohmann::json vectors(const std::string& file) {
  std::ifstream stream(support::source_path("../shared/reference/x402-vectors/" + file));
  return stream ? nlohmann::json::parse(stream) : nlohmann::json();
}

}  // namespace turnpike::x402

#define TURNPIKE_VECTORS(name, file)                           \
  const nlohmann::json name = ::turnpike::x402::vectors(file); \
  if (name.is_null()) GTEST_SKIP() << "the vectors of x402 are absent: " << (file)
