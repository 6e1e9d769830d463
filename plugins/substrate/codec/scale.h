// SCALE, the encoding of Substrate: integers little-endian, lengths compact.
// The reader takes bytes of anybody: it never reads past their end, and after the first thing that
// is not there every answer is nothing. Plain values; one Thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "substrate/codec/bytes.h"

namespace turnpike::substrate {

class ScaleReader {
 public:
  explicit ScaleReader(ByteView bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] ByteView rest() const noexcept { return rest_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  std::optional<ByteView> take(std::size_t count) noexcept;
  std::optional<std::uint8_t> u8() noexcept;
  std::optional<std::uint32_t> u32() noexcept;
  std::optional<std::uint64_t> u64() noexcept;
  std::optional<bool> boolean() noexcept;
  std::optional<Hash> hash() noexcept;
  // Up to 2^32 - 1, in the shortest form, as encoders write it.
  std::optional<std::uint32_t> compact() noexcept;
  // A compact length and UTF-8 of at most `bytes_max` bytes.
  std::optional<std::string> text(std::size_t bytes_max);

 private:
  ByteView rest_;
  bool failed_ = false;
};

Bytes compact_of(std::uint32_t value);

}  // namespace turnpike::substrate
