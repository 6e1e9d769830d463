#include "hosts/operator/console_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hosts/page.h"
#include "text/words.h"

namespace turnpike::hosts::operators {
namespace {

constexpr std::int64_t ms_per_day = 86'400'000;

std::string with_digits(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

std::string time_text(std::int64_t time_ms) {
  return time_ms == 0 ? "never" : text::minute_text(time_ms);
}

std::string day_text(std::int64_t day) { return text::day_text(day * ms_per_day); }

std::string age_text(std::int64_t age_ms) {
  const std::int64_t seconds = std::max<std::int64_t>(age_ms, 0) / 1'000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + " min";
  if (seconds < 48 * 3'600) return std::to_string(seconds / 3'600) + " h";
  return std::to_string(seconds / 86'400) + " days";
}

std::string count_text(std::int64_t number) { return text::grouped(number); }

std::string share_text(double part, double whole) {
  if (whole <= 0) return "-";
  return with_digits(std::floor(part / whole * 10'000) / 100, 2) + " %";
}

std::string rate_text(double per_second) {
  return with_digits(per_second, per_second < 10 ? 2 : per_second < 100 ? 1 : 0);
}

std::string_view class_of(std::string_view level) noexcept {
  if (level == "operational") return "ok";
  if (level == "degraded") return "warn";
  if (level == "major_outage") return "bad";
  return "unknown";
}

std::string words_of(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

site::Markup bars(std::span<const std::pair<std::string, std::int64_t>> values,
                  std::string_view label) {
  constexpr std::int64_t height = 80;
  constexpr std::size_t step = 20;
  std::int64_t most = 1;
  for (const auto& [day, value] : values) most = std::max(most, value);
  const std::string width = std::to_string(std::max<std::size_t>(values.size(), 1) * step);
  std::string svg = "<svg class=\"bars\" role=\"img\" width=\"" + width +
                    "\" height=\"82\" viewBox=\"0 0 " + width + " 82\" aria-label=\"";
  append_html(svg, label);
  svg += "\">";
  std::size_t at = 0;
  for (const auto& [day, value] : values) {
    const std::int64_t tall = std::max<std::int64_t>(
        value * height / most, value > 0 ? 2 : 1);  // zero is still visible
    svg += "<rect x=\"" + std::to_string(at * step) + "\" y=\"" + std::to_string(81 - tall) +
           "\" width=\"" + std::to_string(step - 4) + "\" height=\"" + std::to_string(tall) +
           "\"" + (value == 0 ? " class=\"unknown\"" : "") + "><title>";
    append_html(svg, day + ": " + count_text(value));
    svg += "</title></rect>";
    ++at;
  }
  return {svg + "</svg>"};
}

}  // namespace turnpike::hosts::operators
