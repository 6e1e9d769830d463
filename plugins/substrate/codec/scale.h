// SCALE, the encoding of Substrate: integers are little-endian, lengths are compact. The bytes may
// be hostile: the reader never reads past their end, and after the first error every result is
// empty. The bytes must outlive the reader. One Thread at a time.
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
  // A compact integer up to 2^32 - 1. Refuses forms that are not the shortest.
  std::optional<std::uint32_t> compact() noexcept;
  // A compact length, then UTF-8 without control characters, at most `bytes_max` bytes.
  std::optional<std::string> text(std::size_t bytes_max);

 private:
  ByteView rest_;
  bool failed_ = false;
};

Bytes compact_of(std::uint32_t value);

}  // namespace turnpike::substrate
