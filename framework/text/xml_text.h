// Appends text to XML 1.0, between tags or in a quoted attribute. The result is well-formed for any
// bytes: markup characters are escaped, and whatever is not an XML character (bytes that are not
// UTF-8, most controls; XML 1.0 section 2.2) becomes U+FFFD.
//
// Pure function; any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::text {

void append_xml(std::string& out, std::string_view text);

}  // namespace turnpike::text
