// The navigation through the pages of a billing account, in display order. Pure functions; any
// Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/frame.h"

namespace turnpike::hosts::dashboard {

inline constexpr std::string_view dashboard_path = "/dashboard";

// Returns "/dashboard/ACCOUNT".
std::string overview_path(std::string_view account_id);
// Returns "/dashboard/ACCOUNT/calls"; `page`: "" or a path such as "/calls".
std::string path_of(std::string_view account_id, std::string_view page);

// `here`: the current page, as path_of() takes it; "" is the overview.
std::vector<site::Link> side_of(std::string_view account_id, std::string_view here);

}  // namespace turnpike::hosts::dashboard
