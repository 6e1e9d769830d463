// Accept: the forms of a reply that a client accepts (RFC 9110 section 12.5). Pure functions; any
// Thread.
#pragma once

#include <cstdint>

#include <turnpike/message.h>

namespace turnpike::hosts {

// Whether Accept-Encoding names "br" with a weight above 0.
bool takes_brotli(Headers headers) noexcept;

enum class PageForm : std::uint8_t { html, markdown, neither };

// Chooses the form of a page that exists as HTML and as Markdown, by all Accept fields (RFC 9110
// sections 12.4.2 and 12.5.1). Markdown goes to clients that name it with a weight above 0 that is
// at least the weight of HTML, and to clients that refuse HTML but accept Markdown. All other
// clients that accept HTML get HTML. Malformed media ranges and weights are ignored; so is an
// Accept field without any valid range.
PageForm page_form(Headers headers) noexcept;

}  // namespace turnpike::hosts
