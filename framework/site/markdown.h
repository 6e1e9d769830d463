// Markdown (CommonMark 0.29 with GitHub's tables and plain URLs as links): renders HTML, and finds
// links. Raw HTML is dropped, and so are links of schemes that execute code. Pure functions; any
// Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/templates.h"

namespace turnpike::site {

// Renders HTML. Headings have ids derived from their texts, as on GitHub; wide tables and listings
// scroll by themselves; code may break behind a slash.
Markup html_of(std::string_view markdown);

struct MarkdownLink {
  std::string url;
  int line = 0;  // from 1
};
std::vector<MarkdownLink> links_of(std::string_view markdown);

struct Heading {
  int level = 0;
  std::string text;
  std::string anchor;  // id of the heading
};
std::vector<Heading> headings_of(std::string_view markdown);
// Returns the ids of the headings.
std::vector<std::string> anchors_of(std::string_view markdown);

// Returns Markdown that shows `text`: special characters are escaped, and a line break becomes a
// blank. For texts of providers and operators in tables and headings.
std::string escaped_markdown(std::string_view text);

}  // namespace turnpike::site
