#include "text/time_text.h"

#include <ctime>

namespace turnpike::text {
namespace {

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

}  // namespace turnpike::text
