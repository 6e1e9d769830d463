// Pages: replies of HTML, and the header fields that keep a page from running foreign code, sending
// data elsewhere, or being framed. A row with a content security policy adds these fields to every
// reply. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>

#include "hosts/reply_fields.h"

namespace turnpike::hosts {

inline constexpr std::string_view page_type = "text/html; charset=utf-8";

// Allows scripts, styles, fonts and images from the page's own origin, and images in data URLs;
// forbids inline scripts and styles.
inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'";

inline constexpr std::string_view policy_field = "Content-Security-Policy";

// Adds `policy`, unless the reply has a policy of its own.
void add_page_fields(std::string_view policy, ReplyFields& fields);

// Appends text with HTML escapes, valid between tags and in a quoted attribute.
void append_html(std::string& out, std::string_view text);

}  // namespace turnpike::hosts
