// Markdown (CommonMark 0.29 with GitHub's tables and plain URLs as links): to HTML, and the links
// in it. Raw HTML in it is dropped, and so are links of schemes that run something. Pure functions;
// any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/templates.h"

namespace turnpike::site {

// Headings have ids made of their texts, as GitHub makes them, so they can be linked to; tables and
// listings that are too wide for the screen scroll by themselves; code breaks behind a slash.
Markup html_of(std::string_view markdown);

struct MarkdownLink {
  std::string url;
  int line = 0;  // from 1
};
std::vector<MarkdownLink> links_of(std::string_view markdown);

struct Heading {
  int level = 0;
  std::string text;
  std::string anchor;  // its id
};
std::vector<Heading> headings_of(std::string_view markdown);
// The ids of the headings.
std::vector<std::string> anchors_of(std::string_view markdown);

// The text as Markdown that shows it: what means something in Markdown is escaped, and a line break
// is a blank. For texts of providers and operators in tables and headings.
std::string escaped_markdown(std::string_view text);

}  // namespace turnpike::site
