// Brand: the operator's name and look in pages, mails and documents. Callers see no other name,
// except in "powered by", if the operator enables that. Values; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::site {

// Each is in the form "#0B5D3B".
struct BrandColours {
  std::string sign = "#0B5D3B";     // background of signs and buttons
  std::string on_sign = "#FFFFFF";  // text on `sign`
  std::string lane = "#F2B705";     // stripes, and the focus ring
  std::string link_light = "#0B5D3B";
  std::string link_dark = "#5FCF9A";
};

struct BrandLink {
  std::string label;
  std::string url;
};

struct Brand {
  std::string name = "Turnpike";
  std::string legal_name = {};  // the liable entity; empty: not configured
  std::string tagline = "Pay-per-call access to third-party data.";
  std::string logo = {};  // path of an SVG file; empty: only the name
  BrandColours colours = {};
  std::string contact = {};  // e-mail address or URL; empty: not configured
  std::vector<BrandLink> links = {};  // in the footer of every page
  bool powered_by = false;
};

// Returns a sentence on the first pair of colours with too little contrast, with the colour and its
// contrast (WCAG 2.2: 4.5:1 for text, 3:1 for edges); none: all are readable.
std::optional<std::string> unreadable_colour(const BrandColours& colours);

// Returns the contrast ratio of WCAG 2.2, 1 to 21; 0: one is not a colour such as "#0B5D3B".
double contrast_of(std::string_view one, std::string_view other) noexcept;

// Returns a style sheet that overrides colours; empty: all are the defaults.
std::string theme_css(const BrandColours& colours);

}  // namespace turnpike::site
