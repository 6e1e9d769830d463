#include "site/brand.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace turnpike::site {

namespace {

constexpr double text_contrast_min = 4.5;
constexpr double edge_contrast_min = 3.0;

// The background colours in site/assets/site.css.
constexpr std::string_view light_grounds[] = {"#F7F6F2", "#FFFFFF", "#ECEAE3"};
constexpr std::string_view dark_grounds[] = {"#121517", "#1A1E21", "#0C0E10"};

// Relative luminance (WCAG 2.2); negative: `colour` is not a colour.
double luminance_of(std::string_view colour) noexcept {
  if (colour.size() != 7 || colour.front() != '#') return -1;
  std::array<double, 3> parts{};
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const std::string_view digits = colour.substr(1 + 2 * at, 2);
    std::uint8_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, value, 16);
    if (error != std::errc() || end != digits.data() + 2) return -1;
    const double part = value / 255.0;
    parts[at] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

std::string ratio_text(double ratio) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f:1", ratio);
  return text;
}

std::optional<std::string> problem_of(std::string_view name, const std::string& colour,
                                      std::string_view ground, std::string_view ground_name,
                                      double contrast_min) {
  if (luminance_of(colour) < 0) {
    return "colours." + std::string(name) + ": expected a colour such as \"#0B5D3B\"; found \"" +
           colour + "\"";
  }
  const double contrast = contrast_of(colour, ground);
  if (contrast >= contrast_min) return std::nullopt;
  return "colours." + std::string(name) + ": " + colour + " on " + std::string(ground_name) + " (" +
         std::string(ground) + ") has a contrast of " + ratio_text(contrast) + "; people need " +
         ratio_text(contrast_min) + " at least";
}

}  // namespace

double contrast_of(std::string_view one, std::string_view other) noexcept {
  const double first = luminance_of(one);
  const double second = luminance_of(other);
  if (first < 0 || second < 0) return 0;
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

std::optional<std::string> unreadable_colour(const BrandColours& colours) {
  const auto first_of = [](auto&&... problems) {
    std::optional<std::string> found;
    ((found ? void() : void(found = problems)), ...);
    return found;
  };
  std::optional<std::string> found =
      first_of(problem_of("sign", colours.sign, "#000000", "black", 1.0),
               problem_of("on_sign", colours.on_sign, colours.sign, "the sign", text_contrast_min),
               problem_of("lane", colours.lane, dark_grounds[0], "the dark page",
                          edge_contrast_min));
  for (const std::string_view ground : light_grounds) {
    if (found) return found;
    found = problem_of("link_light", colours.link_light, ground, "a light page", text_contrast_min);
  }
  for (const std::string_view ground : dark_grounds) {
    if (found) return found;
    found = problem_of("link_dark", colours.link_dark, ground, "a dark page", text_contrast_min);
  }
  return found;
}

std::string theme_css(const BrandColours& colours) {
  const BrandColours own;
  std::string css;
  const auto add = [&css](const char* name, const std::string& value) {
    css += std::string("  --") + name + ": " + value + ";\n";
  };
  if (colours.sign != own.sign) add("sign", colours.sign);
  if (colours.on_sign != own.on_sign) add("on-sign", colours.on_sign);
  if (colours.lane != own.lane) add("lane", colours.lane);
  if (colours.link_light != own.link_light || colours.link_dark != own.link_dark) {
    add("link", "light-dark(" + colours.link_light + ", " + colours.link_dark + ")");
  }
  return css.empty() ? css : ":root {\n" + css + "}\n";
}

}  // namespace turnpike::site
