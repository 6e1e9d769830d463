#include "base/ids.h"

#include <algorithm>
#include <ctime>

namespace turnpike::base {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";
constexpr char base62_digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr char base64url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int base64url_value(char digit) noexcept {
  if (digit >= 'A' && digit <= 'Z') return digit - 'A';
  if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
  if (digit >= '0' && digit <= '9') return digit - '0' + 52;
  if (digit == '-') return 62;
  if (digit == '_') return 63;
  return -1;
}

// The number in text[from, from+length), or -1 if that is not all digits.
int digits(std::string_view text, std::size_t from, std::size_t length) noexcept {
  int value = 0;
  for (char c : text.substr(from, length)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

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

std::string rfc3339(std::int64_t unix_ms) {
  std::int64_t seconds = unix_ms / 1000;
  std::int64_t milliseconds = unix_ms % 1000;
  if (milliseconds < 0) {
    milliseconds += 1000;
    --seconds;
  }
  std::tm parts{};
  const std::time_t whole = seconds;
  gmtime_r(&whole, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &parts);
  text[length] = static_cast<char>('0' + milliseconds / 100);
  text[length + 1] = static_cast<char>('0' + milliseconds / 10 % 10);
  text[length + 2] = static_cast<char>('0' + milliseconds % 10);
  text[length + 3] = 'Z';
  return {text, length + 4};
}

std::optional<std::int64_t> parse_rfc3339(std::string_view text) noexcept {
  const bool has_milliseconds = text.size() == 24 && text[19] == '.';
  if (!has_milliseconds && text.size() != 20) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text.back() != 'Z') {
    return std::nullopt;
  }
  std::tm parts{};
  parts.tm_year = digits(text, 0, 4) - 1900;
  parts.tm_mon = digits(text, 5, 2) - 1;
  parts.tm_mday = digits(text, 8, 2);
  parts.tm_hour = digits(text, 11, 2);
  parts.tm_min = digits(text, 14, 2);
  parts.tm_sec = digits(text, 17, 2);
  const int milliseconds = has_milliseconds ? digits(text, 20, 3) : 0;
  if (parts.tm_year < -1900 || parts.tm_mon < 0 || parts.tm_mon > 11 || parts.tm_mday < 1 ||
      parts.tm_mday > 31 || parts.tm_hour < 0 || parts.tm_hour > 23 || parts.tm_min < 0 ||
      parts.tm_min > 59 || parts.tm_sec < 0 || parts.tm_sec > 59 || milliseconds < 0) {
    return std::nullopt;
  }
  const int day = parts.tm_mday;
  const std::time_t seconds = timegm(&parts);
  if (parts.tm_mday != day) return std::nullopt;  // timegm turned 31 April into 1 May
  return std::int64_t{seconds} * 1000 + milliseconds;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::uint8_t byte : bytes) {
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
  }
  return text;
}

std::string base62(std::span<const std::uint8_t> bytes, std::size_t width) {
  // Schoolbook division of the big-endian number by 62, one digit at a time.
  std::string number(bytes.begin(), bytes.end());
  std::string text(width, '0');
  for (std::size_t at = width; at-- > 0;) {
    std::uint32_t remainder = 0;
    for (char& digit : number) {
      const std::uint32_t value = remainder << 8 | static_cast<std::uint8_t>(digit);
      digit = static_cast<char>(value / 62);
      remainder = value % 62;
    }
    text[at] = base62_digits[remainder];
  }
  return text;
}

std::string base64url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (char byte : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(byte);
    count += 8;
    for (; count >= 6; count -= 6) text += base64url_digits[bits >> (count - 6) & 63];
  }
  if (count > 0) text += base64url_digits[bits << (6 - count) & 63];
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char digit : text) {
    const int value = base64url_value(digit);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  if ((bits & ((1u << count) - 1)) != 0) return std::nullopt;  // not the canonical form
  return bytes;
}

std::string base64(std::string_view bytes) {
  std::string text = base64url(bytes);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.find_first_of("-_") != text.npos) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string digits(text);
  std::replace(digits.begin(), digits.end(), '+', '-');
  std::replace(digits.begin(), digits.end(), '/', '_');
  return from_base64url(digits);
}

}  // namespace turnpike::base
