// Renders a page of Markdown into the bytes of both its forms. The HTML form puts the Markdown into
// the layout that the page names, with the elements that are not text: the table of contents, the
// price calculator, the status bars. These hold no fact that the Markdown lacks. Pure functions;
// they are slow, so they run on the pool; any Thread.
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

// Returns the path of a page's Markdown form: "/pricing.md", "/index.md".
std::string markdown_path(std::string_view path);

// `asked`: the values sent with the form on the page; empty: none.
std::string html_of(const site::MarkdownPage& page, const PageContext& context,
                    const NamedValues& asked);
// Returns both forms, as the cache keeps them.
CachedPage rendered(const site::MarkdownPage& page, const PageContext& context);
CachedPage rendered_text(std::string text, std::string_view content_type);

// Returns the body with its compressed form and validators.
PageBytes bytes_of(std::string body, std::string_view content_type);

}  // namespace turnpike::hosts::public_site
