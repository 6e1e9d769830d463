// Small pieces of the grammar that requests and replies share: what a field may hold and how a
// Transfer-Encoding is judged. Pure functions; safe on any Thread, no allocation.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::wire {

// field-name: a token (RFC 9110 section 5.6.2).
bool is_field_name(std::string_view name) noexcept;
// field-value: no control byte but the tab (RFC 9110 section 5.5).
bool is_field_value(std::string_view value) noexcept;

enum class Coding : std::uint8_t { chunked, unknown, malformed };
// The value of a Transfer-Encoding field. Only `chunked`, once and alone, is supported.
Coding judge_transfer_coding(std::string_view value) noexcept;

// ASCII letters without regard to case.
bool same_text(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::wire
