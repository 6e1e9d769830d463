// Parses text that a test knows to be valid JSON. Any Thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

inline JsonText parsed(std::string text) {
  auto value = JsonText::parse(std::move(text));
  EXPECT_TRUE(value.ok());
  return std::move(*value);
}

}  // namespace turnpike::x402
