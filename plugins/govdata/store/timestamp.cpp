#include "govdata/store/timestamp.h"

#include <charconv>
#include <chrono>
#include <cstdio>

namespace turnpike::govdata {
namespace {

namespace chrono = std::chrono;

// Removes exactly `length` digits from the front of `text` and returns their value.
std::optional<int> take_digits(std::string_view& text, std::size_t length) {
  if (text.size() < length) return std::nullopt;
  int value = 0;
  for (std::size_t at = 0; at < length; ++at) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  text.remove_prefix(length);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text[0] != expected) return false;
  text.remove_prefix(1);
  return true;
}

// Milliseconds of ".5" or ".123456". Digits after the third are dropped; more than nine are
// refused.
std::optional<int> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  int milliseconds = 0;
  int places = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    if (places < 3) milliseconds = milliseconds * 10 + (text[0] - '0');
    ++places;
    text.remove_prefix(1);
  }
  if (places == 0 || places > 9) return std::nullopt;
  for (; places < 3; ++places) milliseconds *= 10;
  return milliseconds;
}

// Minutes east of UTC of "", "Z", "+02:00" or "-0500".
std::optional<int> take_offset(std::string_view& text) {
  if (text.empty() || take(text, 'Z') || take(text, 'z')) return 0;
  const int sign = text[0] == '+' ? 1 : text[0] == '-' ? -1 : 0;
  if (sign == 0) return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  take(text, ':');
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

}  // namespace

std::string iso_time(std::int64_t time_ms) {
  const chrono::sys_time<chrono::milliseconds> time{chrono::milliseconds(time_ms)};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss<chrono::milliseconds> clock{time - day};
  char text[64];
  std::snprintf(
      text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  const auto year_number = take_digits(text, 4);
  if (!year_number || *year_number < 1 || !take(text, '-')) return std::nullopt;
  const auto month_number = take_digits(text, 2);
  if (!month_number || !take(text, '-')) return std::nullopt;
  const auto day_number = take_digits(text, 2);
  if (!day_number) return std::nullopt;
  const chrono::year_month_day date{chrono::year{*year_number},
                                    chrono::month{static_cast<unsigned>(*month_number)},
                                    chrono::day{static_cast<unsigned>(*day_number)}};
  if (!date.ok()) return std::nullopt;
  const std::int64_t midnight =
      chrono::milliseconds(chrono::sys_days{date}.time_since_epoch()).count();
  if (text.empty()) return midnight;
  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  const auto fraction = second ? take_fraction(text) : std::nullopt;
  const auto offset = fraction ? take_offset(text) : std::nullopt;
  if (!offset || !text.empty() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return midnight + ((*hour * 60LL + *minute - *offset) * 60 + *second) * 1000 + *fraction;
}

std::optional<std::int64_t> ms_of_seconds(std::string_view seconds) {
  std::int64_t value = 0;
  const char* end = seconds.data() + seconds.size();
  const auto [rest, problem] = std::from_chars(seconds.data(), end, value);
  if (problem != std::errc{} || rest != end) return std::nullopt;
  if (value < time_min_ms / 1000 || value > time_max_ms / 1000) return std::nullopt;
  return value * 1000;
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  const auto seconds = ms_of_seconds(text);
  return seconds ? seconds : parse_iso_time(text);
}

}  // namespace turnpike::govdata
