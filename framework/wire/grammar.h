// Grammar functions that requests and replies share. Pure functions; safe on any Thread, no
// allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::wire {

enum class Coding : std::uint8_t { chunked, unknown, malformed };
// The value of a Transfer-Encoding field. Only `chunked`, once and alone, is supported.
Coding judge_transfer_coding(std::string_view value) noexcept;

// Compares ASCII letters without case.
bool same_text(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::wire
