// Accept: what forms of a reply a client takes (RFC 9110 section 12.5). Pure functions; any Thread.
#pragma once

#include <cstdint>

#include <turnpike/message.h>

namespace turnpike::hosts {

// Whether Accept-Encoding names "br" with a weight above 0.
bool takes_brotli(Headers headers) noexcept;

enum class PageForm : std::uint8_t { html, markdown, neither };

// The form of a page that there is as HTML and as Markdown, by all Accept fields (RFC 9110 sections
// 12.4.2 and 12.5.1). Markdown is for those who name it with a weight above 0 that is at least the
// one of HTML, and for those who refuse HTML and take it; HTML is for all others who take it. What
// is no media range, or has a weight that is none, says nothing; so does an Accept without any.
PageForm page_form(Headers headers) noexcept;

}  // namespace turnpike::hosts
