// How a page of Markdown becomes the bytes of both its forms: the Markdown in the layout that the
// page names, with the parts of layouts that are no text: the table of contents, the calculator of
// prices, the bars of the status. These hold no fact that the Markdown lacks. Pure functions; they
// take time, so they are run on the pool; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hosts/named_values.h"
#include "hosts/site/page_cache.h"
#include "site/page_source.h"

namespace turnpike::hosts::public_site {

inline constexpr std::string_view markdown_type = "text/markdown; charset=utf-8";
inline constexpr std::string_view text_type = "text/plain; charset=utf-8";

struct PageContext {
  const site::Site& site;
  const site::Facts& facts;
};

// The path of a page's other form: "/pricing.md", "/index.md".
std::string markdown_path(std::string_view path);

// `asked`: what the form on the page was sent with; empty: nothing.
std::string html_of(const site::MarkdownPage& page, const PageContext& context,
                    const NamedValues& asked);
// Both forms, as they are kept.
CachedPage rendered(const site::MarkdownPage& page, const PageContext& context);
CachedPage rendered_text(std::string text, std::string_view content_type);

// The body, compressed and with its validators.
PageBytes bytes_of(std::string body, std::string_view content_type);

}  // namespace turnpike::hosts::public_site
