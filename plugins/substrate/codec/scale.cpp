#include "substrate/codec/scale.h"

#include <algorithm>

namespace turnpike::substrate {
namespace {

// Whether `text` is well-formed UTF-8 without control characters. Names of runtimes are shown to
// people.
bool is_plain_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[at]);
    if (lead < 0x80) {
      if (lead < 0x20 || lead == 0x7F) return false;
      ++at;
      continue;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (length == 0 || lead > 0xF4 || text.size() - at < length) return false;
    std::uint32_t point = lead & (0xFFu >> (length + 1));
    for (std::size_t next = 1; next < length; ++next) {
      const auto byte = static_cast<std::uint8_t>(text[at + next]);
      if ((byte & 0xC0) != 0x80) return false;
      point = point << 6 | (byte & 0x3Fu);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
      return false;
    }
    at += length;
  }
  return true;
}

std::uint64_t little_endian(ByteView bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t at = bytes.size(); at > 0; --at) value = value << 8 | bytes[at - 1];
  return value;
}

}  // namespace

std::optional<ByteView> ScaleReader::take(std::size_t count) noexcept {
  if (failed_ || count > rest_.size()) {
    failed_ = true;
    return std::nullopt;
  }
  const ByteView taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::optional<std::uint8_t> ScaleReader::u8() noexcept {
  const auto bytes = take(1);
  return bytes ? std::optional((*bytes)[0]) : std::nullopt;
}

std::optional<std::uint32_t> ScaleReader::u32() noexcept {
  const auto bytes = take(4);
  if (!bytes) return std::nullopt;
  return static_cast<std::uint32_t>(little_endian(*bytes));
}

std::optional<std::uint64_t> ScaleReader::u64() noexcept {
  const auto bytes = take(8);
  if (!bytes) return std::nullopt;
  return little_endian(*bytes);
}

std::optional<bool> ScaleReader::boolean() noexcept {
  const auto byte = u8();
  if (byte && *byte > 1) failed_ = true;
  if (failed_) return std::nullopt;
  return *byte == 1;
}

std::optional<Hash> ScaleReader::hash() noexcept {
  const auto bytes = take(Hash().size());
  if (!bytes) return std::nullopt;
  Hash hash{};
  std::copy(bytes->begin(), bytes->end(), hash.begin());
  return hash;
}

std::optional<std::uint32_t> ScaleReader::compact() noexcept {
  if (failed_ || rest_.empty()) {
    failed_ = true;
    return std::nullopt;
  }
  const std::uint8_t mode = rest_[0] & 3;
  if (mode == 3) {  // the upper bits are the number of bytes that follow, minus four
    const auto lead = take(1);
    const auto value = (*lead)[0] == 3 ? u32() : std::nullopt;
    failed_ = failed_ || !value || *value < 1u << 30;
    return failed_ ? std::nullopt : value;
  }
  const std::size_t size = std::size_t{1} << mode;
  const auto bytes = take(size);
  if (!bytes) return std::nullopt;
  const auto value = static_cast<std::uint32_t>(little_endian(*bytes) >> 2);
  constexpr std::uint32_t least[] = {0, 1u << 6, 1u << 14};
  if (value < least[mode]) {
    failed_ = true;
    return std::nullopt;
  }
  return value;
}

std::optional<std::string> ScaleReader::text(std::size_t bytes_max) {
  const auto length = compact();
  if (!length || *length > bytes_max) {
    failed_ = true;
    return std::nullopt;
  }
  const auto bytes = take(*length);
  if (!bytes) return std::nullopt;
  if (!is_plain_utf8(text_of(*bytes))) {
    failed_ = true;
    return std::nullopt;
  }
  return std::string(text_of(*bytes));
}

Bytes compact_of(std::uint32_t value) {
  const auto low = [](std::uint64_t number, std::size_t count) {
    Bytes bytes(count);
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(number);
      number >>= 8;
    }
    return bytes;
  };
  if (value < 1u << 6) return low(std::uint64_t{value} << 2, 1);
  if (value < 1u << 14) return low(std::uint64_t{value} << 2 | 1, 2);
  if (value < 1u << 30) return low(std::uint64_t{value} << 2 | 2, 4);
  return low(std::uint64_t{value} << 8 | 3, 5);
}

}  // namespace turnpike::substrate
