// The badge of a provider: a small SVG 1.1 image that shows its state by word, shape and colour.
// The image contains no script and loads nothing, and its title gives the same text to screen
// readers.
#include <array>

#include "status/board_documents.h"
#include "text/xml_text.h"

namespace turnpike::status {
namespace {

constexpr int badge_height = 20;
constexpr int badge_character_width = 7;
constexpr int badge_margin = 6;
constexpr int badge_mark_width = 14;
constexpr std::size_t name_characters_max = 40;

// Appearance by level. The shapes differ for colour-blind readers; white text has a contrast of at
// least 4.5 on each colour (WCAG 2.2, 1.4.3).
struct BadgeLook {
  std::string_view colour;
  std::string_view word;
  std::string_view mark;  // SVG in a square of 10 by 10
};
constexpr std::array<BadgeLook, 4> badge_looks = {{
    {"#1a7f37", "operational", R"(<path d="M1 5.5 4 8.5 9 2" fill="none" stroke="#fff" stroke-width="2"/>)"},
    {"#57606a", "unknown", R"(<circle cx="5" cy="5" r="4" fill="none" stroke="#fff" stroke-width="2"/>)"},
    {"#9a6700", "degraded", R"(<path d="M5 1 9.5 9h-9z" fill="#fff"/>)"},
    {"#b31d28", "major outage", R"(<path d="M1.5 1.5 8.5 8.5M8.5 1.5 1.5 8.5" stroke="#fff" stroke-width="2"/>)"},
}};

// Cuts the name to the number of characters that a badge has room for.
std::string shortened(std::string_view name) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool begins_one = (static_cast<unsigned char>(name[at]) & 0xC0) != 0x80;
    if (begins_one && ++characters > name_characters_max) {
      return std::string(name.substr(0, at)) + "\xE2\x80\xA6";  // an ellipsis
    }
  }
  return std::string(name);
}

int width_of(std::string_view text) {
  int characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return characters * badge_character_width;
}

std::string xml_of(std::string_view text) {
  std::string out;
  text::append_xml(out, text);
  return out;
}

std::string text_element(int x, int width, const std::string& shown) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"14\" textLength=\"" + std::to_string(width) +
         "\" lengthAdjust=\"spacingAndGlyphs\">" + shown + "</text>";
}

std::string rect_element(int x, int width, std::string_view colour) {
  return "<rect x=\"" + std::to_string(x) + "\" width=\"" + std::to_string(width) +
         "\" height=\"" + std::to_string(badge_height) + "\" fill=\"" + std::string(colour) +
         "\"/>";
}

std::string badge_text(std::string_view provider_name, Level level) {
  const BadgeLook& look = badge_looks[static_cast<std::size_t>(level)];
  const std::string name = shortened(provider_name);
  const int name_width = width_of(name);
  const int word_width = width_of(look.word);
  const int left = name_width + 2 * badge_margin;
  const int right = word_width + badge_mark_width + 2 * badge_margin;
  const std::string shown_name = xml_of(name);
  const std::string says = shown_name + ": " + std::string(look.word);
  const std::string width = std::to_string(left + right);
  std::string out = R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + width + "\" height=\"" +
                    std::to_string(badge_height) + R"(" role="img" aria-label=")" + says + "\"><title>" +
                    says + "</title>";
  out += rect_element(0, left, "#24292f") + rect_element(left, right, look.colour);
  out += "<g transform=\"translate(" + std::to_string(left + badge_margin) + " 5)\">";
  out.append(look.mark).append("</g>");
  out += R"(<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">)";
  out += text_element(badge_margin, name_width, shown_name);
  out += text_element(left + badge_margin + badge_mark_width, word_width, std::string(look.word));
  return out += "</g></svg>\n";
}

}  // namespace

BoardDocument badge_document(const BoardFacts& facts, std::uint32_t provider) {
  const registry::Provider& shown = facts.program().providers()[provider];
  return facts.document(facts.valid_until_ms_of_provider(shown.key), [&](Reading reading) {
    return badge_text(shown.name, facts.scope("provider:" + shown.key, reading).level);
  });
}

}  // namespace turnpike::status
