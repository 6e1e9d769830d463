#include "text/words.h"

#include "text/time_text.h"

namespace turnpike::text {

std::string day_text(std::int64_t unix_ms) { return rfc3339(unix_ms).substr(0, 10); }

std::string minute_text(std::int64_t unix_ms) {
  const std::string text = rfc3339(unix_ms);
  return text.substr(0, 10) + " " + text.substr(11, 5) + " UTC";
}

std::string second_text(std::int64_t unix_ms) {
  const std::string text = rfc3339(unix_ms);
  return text.substr(0, 10) + " " + text.substr(11, 8) + " UTC";
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string counted(std::int64_t number, std::string_view one) {
  return grouped(number).append(" ").append(one).append(number == 1 ? "" : "s");
}

std::string_view credits_word(std::int64_t credits) noexcept {
  return credits == 1 ? "Credit" : "Credits";
}

std::string credits_text(std::int64_t credits) {
  return grouped(credits).append(" ").append(credits_word(credits));
}

}  // namespace turnpike::text
