// Text as XML 1.0 shows it, between tags or in a quoted attribute. Whatever the bytes are, what is
// appended is well-formed: characters of markup are escaped, and what is no character of XML (bytes
// that are not UTF-8, most controls; XML 1.0 section 2.2) becomes U+FFFD.
//
// Pure function; any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::base {

void append_xml(std::string& out, std::string_view text);

}  // namespace turnpike::base
