#include "commerce/due.h"

#include <algorithm>
#include <array>
#include <span>

namespace turnpike::commerce {
namespace {

std::int64_t pause_of(std::span<const std::int64_t> first, std::int64_t times,
                      std::int64_t later_ms) noexcept {
  const auto at = static_cast<std::size_t>(times);
  return at < first.size() ? first[at] : later_ms;
}

}  // namespace

std::int64_t pause_before_begin_ms(std::int64_t tries) noexcept {
  constexpr std::int64_t first[] = {5 * second_ms, 15 * second_ms, minute_ms, 5 * minute_ms};
  return pause_of(first, std::max<std::int64_t>(tries - 1, 0), hour_ms);
}

std::int64_t pause_before_look_ms(std::int64_t looks) noexcept {
  constexpr std::int64_t first[] = {10 * second_ms, 30 * second_ms, minute_ms, 2 * minute_ms,
                                    5 * minute_ms};
  return pause_of(first, looks, 10 * minute_ms);
}

std::int64_t pause_before_charge_look_ms(std::int64_t tries) noexcept {
  constexpr std::int64_t first[] = {5 * second_ms, 15 * second_ms, minute_ms, 5 * minute_ms,
                                    15 * minute_ms};
  return pause_of(first, std::max<std::int64_t>(tries - 1, 0), hour_ms);
}

std::int64_t due_in(std::int64_t pause_ms, std::int64_t now_ms, Random& random) {
  std::array<std::uint8_t, 2> chance{};
  random.fill(chance);
  const std::int64_t fifth = pause_ms / 5;
  const std::int64_t share = (chance[0] << 8) | chance[1];
  return now_ms + pause_ms - fifth + 2 * fifth * share / 0xffff;
}

std::string code_from(std::string_view code) {
  constexpr std::size_t code_characters_max = 60;
  const bool is_word =
      !code.empty() && code.size() <= code_characters_max &&
      std::all_of(code.begin(), code.end(), [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '_';
      });
  return is_word ? std::string(code) : "declined";
}

}  // namespace turnpike::commerce
