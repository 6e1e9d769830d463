// Brand: whose gateway the pages, mails and documents speak for. Set by the operator; nothing shown
// to callers has another name in it, unless the operator wants "powered by" there. Values; any
// Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::site {

// "#0B5D3B" each.
struct BrandColours {
  std::string sign = "#0B5D3B";     // the ground of signs and buttons
  std::string on_sign = "#FFFFFF";  // text on it
  std::string lane = "#F2B705";     // paint: stripes and the ring around what has the focus
  std::string link_light = "#0B5D3B";
  std::string link_dark = "#5FCF9A";
};

struct BrandLink {
  std::string label;
  std::string url;
};

struct Brand {
  std::string name = "Turnpike";
  std::string legal_name = {};  // who is liable; empty: not said yet
  std::string tagline = "Pay-per-call access to third-party data.";
  std::string logo = {};  // the path of an SVG file; empty: the name alone
  BrandColours colours = {};
  std::string contact = {};  // an e-mail address or a URL; empty: not said yet
  std::vector<BrandLink> links = {};  // at the foot of every page
  bool powered_by = false;
};

// The first pair of colours that people could not tell apart or read, as a sentence that names the
// colour and its contrast (WCAG 2.2: 4.5:1 for text, 3:1 for edges); none: all are good.
std::optional<std::string> unreadable_colour(const BrandColours& colours);

// The ratio of WCAG 2.2, 1 to 21; 0: one of them is no colour such as "#0B5D3B".
double contrast_of(std::string_view one, std::string_view other) noexcept;

// Style sheet that sets what the colours of the brand replace; empty: all are the defaults.
std::string theme_css(const BrandColours& colours);

}  // namespace turnpike::site
