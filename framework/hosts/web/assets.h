// The style sheet and the script of the pages. Constants; any Thread.
#pragma once

#include <string_view>

namespace turnpike::hosts::web {

std::string_view site_css() noexcept;
std::string_view passkeys_js() noexcept;

}  // namespace turnpike::hosts::web
