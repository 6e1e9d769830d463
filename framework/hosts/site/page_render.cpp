#include "hosts/site/page_render.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "catalog/rendering.h"
#include "hosts/page.h"
#include "site/markdown.h"
#include "site/terms_text.h"
#include "text/brotli.h"
#include "text/json_text.h"
#include "text/words.h"

namespace turnpike::hosts::public_site {

namespace {

using site::Slots;

// ---- the table of contents

constexpr std::size_t headings_of_long_pages = 4;

void fill_contents(const site::MarkdownPage& page, Slots slots) {
  std::vector<site::Heading> headings = site::headings_of(page.markdown);
  std::erase_if(headings, [](const site::Heading& heading) { return heading.level != 2; });
  if (headings.size() < headings_of_long_pages) return;
  slots.show("CONTENTS");
  for (const site::Heading& heading : headings) {
    Slots row = slots.add("HEADING");
    row.set("ANCHOR", "#" + heading.anchor);
    row.set("TEXT", heading.text);
  }
}

// ---- the calculator of prices

constexpr std::uint64_t calls_max = 1'000'000'000'000;

std::optional<std::uint64_t> number_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [at, problem] = std::from_chars(text->data(), end, number);
  if (problem != std::errc() || at != end) return std::nullopt;
  return number;
}

struct OfferedPrice {
  std::size_t operations = 0;
  std::string example;
};

std::map<std::uint32_t, OfferedPrice> offered_prices(const site::Facts& facts) {
  std::map<std::uint32_t, OfferedPrice> prices;
  if (facts.view == nullptr) return prices;
  const registry::Program& program = facts.view->program();
  for (const registry::Operation& operation : program.operations()) {
    if (!operation.price) continue;
    OfferedPrice& price = prices[program.prices()[*operation.price].credit_cost];
    if (++price.operations == 1) price.example = operation.summary;
  }
  return prices;
}

std::string label_of(std::uint32_t credits, const OfferedPrice& price) {
  std::string label = site::credits_text(credits) + ", " +
                      text::counted(price.operations, "operation");
  if (!price.example.empty()) label += ": " + price.example;
  return label;
}

void fill_calculator(const PageContext& context, const NamedValues& asked, Slots slots) {
  const auto prices = offered_prices(context.facts);
  if (prices.empty()) return;
  slots.show("CALCULATOR");
  const auto calls = number_of(asked.find("calls"));
  const auto chosen = number_of(asked.find("price"));
  for (const auto& [credits, price] : prices) {
    Slots row = slots.add("PRICE");
    row.set("CREDITS", static_cast<std::int64_t>(credits));
    row.set("LABEL", label_of(credits, price));
    row.show_if(chosen == credits, "IS_CHOSEN");
  }
  slots.set("CALLS", calls ? std::to_string(*calls) : "1000");
  if (asked.size() == 0) return;
  const bool is_known = chosen && *chosen <= UINT32_MAX &&
                        prices.contains(static_cast<std::uint32_t>(*chosen));
  if (!is_known || !calls || *calls > calls_max) {
    slots.show("CALCULATOR_PROBLEM");
    return;
  }
  slots.show("RESULT");
  slots.set("CALLS_TEXT", site::grouped(*calls));
  slots.set("CREDITS_TEXT", site::credits_text(*calls * *chosen));
}

// ---- the bars of the status

constexpr int bar_days = 90;
constexpr int bar_step = 8;
constexpr int bar_width = 6;
constexpr int bars_height = 40;

struct Bar {
  std::string_view name;
  std::string_view state;  // a class of the style sheet; empty: all is well
  int height;              // the height repeats the state without colour
};
constexpr Bar bar_kinds[] = {{"operational", "", 40},
                             {"degraded", "warn", 26},
                             {"major_outage", "bad", 14},
                             {"unknown", "unknown", 6}};

const Bar& bar_of(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(bar_kinds), std::end(bar_kinds),
                                  [&](const Bar& bar) { return bar.name == name; });
  return found == std::end(bar_kinds) ? std::end(bar_kinds)[-1] : *found;
}

site::Markup bars_of(const nlohmann::json& document) {
  const auto history = document.value("health_history", nlohmann::json::object());
  const auto days = history.value("segments", nlohmann::json::array());
  std::string svg = "<svg class=\"bars\" viewBox=\"0 0 720 40\" width=\"720\" height=\"40\" "
                    "role=\"img\" aria-label=\"The last 90 days, oldest first; the table has the "
                    "same figures\">";
  const int missing = bar_days - static_cast<int>(std::min<std::size_t>(days.size(), bar_days));
  const std::size_t left_out = days.size() > bar_days ? days.size() - bar_days : 0;
  for (int day = 0; day < bar_days; ++day) {
    const bool is_known = day >= missing;
    const std::size_t at = left_out + static_cast<std::size_t>(is_known ? day - missing : 0);
    const Bar& bar =
        bar_of(is_known ? text::text_member(days[at], "status").value_or("") : std::string());
    svg += "<rect x=\"" + std::to_string(day * bar_step) + "\" y=\"" +
           std::to_string(bars_height - bar.height) + "\" width=\"" + std::to_string(bar_width) +
           "\" height=\"" + std::to_string(bar.height) + "\"";
    if (!bar.state.empty()) svg.append(" class=\"").append(bar.state).append("\"");
    svg += "/>";
  }
  return {svg + "</svg>"};
}

void fill_status(const PageContext& context, Slots slots) {
  if (context.facts.board == nullptr) return;
  const auto document =
      text::parse_json(context.facts.board->gateway().at(context.facts.now_ms));
  const std::string level = text::text_member(document, "status").value_or("unknown");
  const Bar& bar = bar_of(level);
  slots.show("STATUS");
  slots.set("STATE_CLASS", bar.state.empty() ? "ok" : bar.state);
  std::string words = level;
  std::replace(words.begin(), words.end(), '_', ' ');
  slots.set("STATE", words);
  slots.set("BARS_SVG", bars_of(document));
}

// Removes and returns the leading heading of the page: the bars go below it.
site::Markup heading_off(site::Markup& body) {
  constexpr std::string_view end_of_heading = "</h1>\n";
  const std::size_t at = body.text.find(end_of_heading);
  if (at == body.text.npos) return {};
  const std::size_t end = at + end_of_heading.size();
  site::Markup heading{body.text.substr(0, end)};
  body.text.erase(0, end);
  return heading;
}

// ---- the frame

site::Frame frame_of(const site::MarkdownPage& page, const PageContext& context) {
  site::Frame frame{.title = page.title};
  if (page.is_indexed) frame.description = page.description;
  if (!context.facts.urls.web.empty()) frame.canonical = context.facts.urls.web + page.path;
  frame.markdown = markdown_path(page.path);
  frame.menu = context.site.menu(page.path);
  frame.sign_in = "/login";
  frame.foot = site::foot_of(context.facts);
  return frame;
}

std::string link_of(const site::MarkdownPage& page, const PageContext& context) {
  std::string link =
      "<" + markdown_path(page.path) + ">; rel=\"alternate\"; type=\"text/markdown\"";
  if (!page.previous.empty()) link += ", <" + page.previous + ">; rel=\"prev\"";
  if (!page.next.empty()) link += ", <" + page.next + ">; rel=\"next\"";
  if (page.path != "/") return link;
  link += ", </.well-known/api-catalog>; rel=\"api-catalog\", </.well-known/ard.json>; "
          "rel=\"ard\", </.well-known/ai-catalog.json>; rel=\"ai-catalog\", </developers>; "
          "rel=\"service-doc\"";
  const std::string& api = context.facts.urls.api;
  if (!api.empty()) {
    link += ", <" + api + "/openapi.json>; rel=\"service-desc\"; type=\"application/openapi+json\"";
  }
  return link;
}

}  // namespace

std::string markdown_path(std::string_view path) {
  return path == "/" ? "/index.md" : std::string(path) + ".md";
}

std::string html_of(const site::MarkdownPage& page, const PageContext& context,
                    const NamedValues& asked) {
  return context.site.page(frame_of(page, context), page.layout, [&](Slots slots) {
    const bool is_status = page.layout == "status.html";
    site::Markup body = site::html_of(page.markdown);
    if (is_status) slots.set("HEADING_HTML", heading_off(body));
    slots.set("BODY_HTML", std::move(body));
    slots.set_if("UPDATED", page.updated);
    fill_contents(page, slots);
    if (page.layout == "pricing.html") fill_calculator(context, asked, slots);
    if (is_status) fill_status(context, slots);
  });
}

PageBytes bytes_of(std::string body, std::string_view content_type) {
  PageBytes form;
  form.content_type = content_type;
  form.etag = catalog::etag_of(body);
  form.brotli = text::brotli_of(body);
  form.brotli_etag = "\"br-" + form.etag.substr(1);
  form.body = std::move(body);
  return form;
}

CachedPage rendered(const site::MarkdownPage& page, const PageContext& context) {
  CachedPage cached;
  cached.is_negotiated = page.is_negotiated;
  cached.html = bytes_of(html_of(page, context, {}), page_type);
  cached.html.link = link_of(page, context);
  cached.html.location = page.path;
  cached.markdown = bytes_of(page.markdown, markdown_type);
  cached.markdown.location = markdown_path(page.path);
  return cached;
}

CachedPage rendered_text(std::string text, std::string_view content_type) {
  CachedPage cached;
  cached.is_text = true;
  cached.markdown = bytes_of(std::move(text), content_type);
  return cached;
}

}  // namespace turnpike::hosts::public_site
