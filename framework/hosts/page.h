// Pages: replies of HTML, and the header fields that keep a page from running, sending or being
// framed by what is not its own. A row with a content security policy answers with them whatever
// it answers. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>

#include "hosts/reply_fields.h"

namespace turnpike::hosts {

inline constexpr std::string_view page_type = "text/html; charset=utf-8";

// Scripts, styles and images of the page's own origin, in files; nothing in the page itself.
inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'";

inline constexpr std::string_view policy_field = "Content-Security-Policy";

// `policy` unless the reply has one of its own.
void add_page_fields(std::string_view policy, ReplyFields& fields);

// Appends text as HTML shows it, between tags or in a quoted attribute.
void append_html(std::string& out, std::string_view text);

}  // namespace turnpike::hosts
