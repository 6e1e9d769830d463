// The program that the exchange's tests run: one provider with a route for every rule. Immutable;
// any Thread.
#pragma once

#include <memory>

#include "registry/program.h"

namespace turnpike::exchange {

inline constexpr std::uint64_t items_reply_bytes_max = 3'000'000;
inline constexpr std::uint32_t search_body_bytes_max = 1'024;

std::shared_ptr<const registry::Program> program_fixture();

}  // namespace turnpike::exchange
