// ReplyFields: the header fields of one reply, collected without allocation while they are few.
// Names and values are borrowed, except for numbers and timings, which are stored inside. Used by
// the fiber of the request alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <turnpike/message.h>

namespace turnpike::hosts {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view cache_control_field = "Cache-Control";

class ReplyFields {
 public:
  ReplyFields() = default;
  ReplyFields(const ReplyFields&) = delete;
  ReplyFields& operator=(const ReplyFields&) = delete;

  void add(std::string_view name, std::string_view value);
  void add_number(std::string_view name, std::uint64_t value);
  // Server-Timing: gateway;dur=1.234, upstream;dur=5.678
  void add_timing(std::uint32_t gateway_us, std::uint32_t upstream_us);

  [[nodiscard]] bool has(std::string_view name) const noexcept;
  [[nodiscard]] Headers view() const noexcept {
    return overflow_.empty() ? Headers(few_.data(), count_) : Headers(overflow_);
  }

 private:
  [[nodiscard]] std::string_view keep(std::size_t length) noexcept;

  std::array<HeaderField, 32> few_;
  std::size_t count_ = 0;
  std::vector<HeaderField> overflow_;  // all fields, when fields_ is too small
  std::array<char, 192> text_;         // three numbers and a timing at most
  std::size_t text_used_ = 0;
};

}  // namespace turnpike::hosts
