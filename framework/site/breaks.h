// Where a line may break within a long name, such as a path or a code. A pure function; any Thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace turnpike::site {

// Whether a line may break behind text[at]: behind a slash, an underscore, and a dot between
// letters. REQUIRES: at < text.size().
bool may_break_behind(std::string_view text, std::size_t at) noexcept;

}  // namespace turnpike::site
