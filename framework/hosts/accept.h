// Accept: the forms of a reply that a client accepts (RFC 9110 section 12.5). Pure functions; any
// Thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <turnpike/message.h>

#include "hosts/reply_fields.h"

namespace turnpike::hosts {

// Whether Accept-Encoding names "br" with a weight above 0.
bool takes_brotli(Headers headers) noexcept;

// Whether to send `brotli`, the compressed form of a body, to this client; adds Content-Encoding to
// the reply if so. An empty form is never sent.
bool choose_brotli(Headers headers, std::string_view brotli, ReplyFields& more);

enum class PageForm : std::uint8_t { html, markdown, neither };

// Chooses the form of a page that exists as HTML and as Markdown, by all Accept fields (RFC 9110
// sections 12.4.2 and 12.5.1). Markdown goes to clients that name it with a weight above 0 that is
// at least the weight of HTML, and to clients that refuse HTML but accept Markdown. All other
// clients that accept HTML get HTML. Malformed media ranges and weights are ignored; so is an
// Accept field without any valid range.
PageForm page_form(Headers headers) noexcept;

}  // namespace turnpike::hosts
