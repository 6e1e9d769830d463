// Identifiers of requests and messages: UUIDv7 (RFC 9562 section 5.7). The functions are pure and
// safe on any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <turnpike/host.h>

namespace turnpike::base {

// 36 characters, lower case, no allocation.
using UuidText = std::array<char, 36>;
inline std::string_view view(const UuidText& uuid) noexcept { return {uuid.data(), uuid.size()}; }

// Makes UUIDv7s that increase strictly within this object, also within one millisecond and when the
// clock steps back. One per loop or committer: not safe for concurrent use by several Threads.
class UuidSource {
 public:
  UuidSource(const Clock& clock, Random& random) : clock_(clock), random_(random) {}
  UuidText next() noexcept;

 private:
  const Clock& clock_;
  Random& random_;
  std::array<std::uint8_t, 512> entropy_{};
  std::size_t entropy_used_ = sizeof(entropy_);
  std::int64_t last_ms_ = 0;
  std::uint32_t counter_ = 0;  // rand_a and the top of rand_b: 26 bits
};

bool is_uuid(std::string_view text) noexcept;
// The time at which the UUIDv7 was made. REQUIRES: is_uuid(uuid).
std::int64_t unix_ms_of(std::string_view uuid) noexcept;

}  // namespace turnpike::base
