#include "base/ids.h"

#include <algorithm>

namespace turnpike::base {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

}  // namespace

UuidText UuidSource::next() noexcept {
  // A 26-bit counter, started at a random low value each millisecond, keeps the order; the 48 bits
  // after it are random (RFC 9562 section 6.2, method 1).
  if (entropy_used_ + 8 > entropy_.size()) {
    random_.fill(entropy_);
    entropy_used_ = 0;
  }
  const std::uint8_t* random = entropy_.data() + entropy_used_;
  entropy_used_ += 8;
  const std::int64_t now = clock_.now_ms();
  if (now > last_ms_) {
    last_ms_ = now;
    counter_ = (std::uint32_t{random[6]} << 8 | random[7]);
  } else if (++counter_ >> 26 != 0) {
    ++last_ms_;  // the counter is exhausted: run ahead of the clock instead of repeating
    counter_ = 0;
  }
  std::uint8_t bytes[16];
  for (int at = 0; at < 6; ++at) bytes[at] = static_cast<std::uint8_t>(last_ms_ >> (40 - 8 * at));
  bytes[6] = static_cast<std::uint8_t>(0x70 | (counter_ >> 22 & 0x0F));
  bytes[7] = static_cast<std::uint8_t>(counter_ >> 14);
  bytes[8] = static_cast<std::uint8_t>(0x80 | (counter_ >> 8 & 0x3F));
  bytes[9] = static_cast<std::uint8_t>(counter_);
  std::copy_n(random, 6, bytes + 10);

  UuidText text;
  std::size_t at = 0;
  for (std::size_t byte = 0; byte < 16; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) text[at++] = '-';
    text[at++] = hex_digits[bytes[byte] >> 4];
    text[at++] = hex_digits[bytes[byte] & 15];
  }
  return text;
}

bool is_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (at == 8 || at == 13 || at == 18 || at == 23) {
      if (c != '-') return false;
    } else if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
      return false;
    }
  }
  return true;
}

std::int64_t unix_ms_of(std::string_view uuid) noexcept {
  std::int64_t ms = 0;
  for (const char c : uuid.substr(0, 13)) {  // 12 digits and a hyphen
    if (c != '-') ms = ms << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return ms;
}

}  // namespace turnpike::base
