#include "hosts/dashboard/chart.h"

#include <algorithm>

#include "hosts/dashboard/words.h"
#include "hosts/page.h"

namespace turnpike::hosts::dashboard {

namespace {

constexpr int chart_width = 720;
constexpr int chart_height = 150;
constexpr int top = 16;      // y of the highest bar's top
constexpr int bottom = 130;  // y of the bars' base
constexpr std::int64_t titles_max = 100;  // with more bars none has a title

void append_rect(std::string& svg, double x, double y, double width, double height,
                 std::string_view kind, const std::string& title) {
  const auto number = [](double value) {  // one decimal
    const auto tenths = static_cast<std::int64_t>(value * 10 + 0.5);
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
    return text;
  };
  svg += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
         "\" height=\"" + number(height) + "\"";
  if (!kind.empty()) svg.append(" class=\"").append(kind).append("\"");
  if (title.empty()) {
    svg += "/>";
    return;
  }
  svg += "><title>";
  append_html(svg, title);
  svg += "</title></rect>";
}

void append_text(std::string& svg, int x, int y, std::string_view anchor, std::string_view text) {
  svg += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"";
  if (!anchor.empty()) svg.append(" text-anchor=\"").append(anchor).append("\"");
  svg += ">";
  append_html(svg, text);
  svg += "</text>";
}

std::string begun(int width, int height, std::string_view description) {
  const std::string size = std::to_string(width) + "\" height=\"" + std::to_string(height);
  std::string svg = "<svg class=\"bars\" role=\"img\" width=\"" + size + "\" viewBox=\"0 0 " +
                    std::to_string(width) + " " + std::to_string(height) + "\" aria-label=\"";
  append_html(svg, description);
  return svg + "\">";
}

}  // namespace

site::Markup bars(std::span<const Bar> all, std::string_view description) {
  if (all.empty()) return {};
  std::int64_t highest = 1;
  for (const Bar& bar : all) highest = std::max(highest, bar.good + bar.failed);
  const double step = static_cast<double>(chart_width) / static_cast<double>(all.size());
  const double width = std::max(0.5, step * 0.8);
  const auto tall = [&](std::int64_t value) {
    return static_cast<double>(value) * (bottom - top) / static_cast<double>(highest);
  };
  const bool has_titles = static_cast<std::int64_t>(all.size()) <= titles_max;
  std::string svg = begun(chart_width, chart_height, description);
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Bar& bar = all[at];
    const double x = step * static_cast<double>(at) + (step - width) / 2;
    const double good = tall(bar.good);
    const double failed = tall(bar.failed);
    std::string title;
    if (has_titles) {
      title = bar.label + ": " + figure(bar.good) + " charged, " + figure(bar.failed) + " not";
    }
    if (bar.good > 0) append_rect(svg, x, bottom - good, width, good, "", title);
    if (bar.failed > 0) {
      append_rect(svg, x, bottom - good - failed, width, failed, "warn", title);
    }
  }
  append_text(svg, 0, 11, "", figure(highest));
  append_text(svg, 0, chart_height - 4, "", all.front().label);
  if (all.size() > 1) append_text(svg, chart_width, chart_height - 4, "end", all.back().label);
  return {svg + "</svg>"};
}

site::Markup meter(std::uint64_t used, std::uint64_t limit, std::string_view description) {
  constexpr int meter_width = 240;
  constexpr int meter_height = 16;
  const std::uint64_t shown = std::min(used, limit);
  const double part =
      limit == 0 ? 1.0 : static_cast<double>(shown) / static_cast<double>(limit);
  const std::string_view kind = part >= 1 ? "bad" : part >= 0.8 ? "warn" : "";
  std::string svg = begun(meter_width, meter_height, description);
  append_rect(svg, 0, 0, meter_width, meter_height, "rest", {});
  if (part > 0) append_rect(svg, 0, 0, meter_width * part, meter_height, kind, {});
  return {svg + "</svg>"};
}

}  // namespace turnpike::hosts::dashboard
