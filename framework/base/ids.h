// Identifiers and their text forms: UUIDv7 (RFC 9562 section 5.7) for requests and messages, base62
// for tokens, RFC 3339 for times. Pure functions of their arguments; safe on any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

// "2026-11-21T06:29:00.123Z" from milliseconds since 1970 UTC, and back (offsets are refused).
std::string rfc3339(std::int64_t unix_ms);
std::optional<std::int64_t> parse_rfc3339(std::string_view text) noexcept;

// Lower-case hex, base62 (0-9A-Za-z, fixed width, most significant first), base64url without
// padding, base64 with padding. The decoders accept the canonical form only.
std::string hex(std::span<const std::uint8_t> bytes);
std::string base62(std::span<const std::uint8_t> bytes, std::size_t width);
std::string base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);
std::string base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace turnpike::base
