// The way through the pages of a billing account, in the order in which it stands beside each of
// them. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "site/frame.h"

namespace turnpike::hosts::dashboard {

inline constexpr std::string_view dashboard_path = "/dashboard";

// "/dashboard/ACCOUNT".
std::string overview_path(std::string_view account_id);
// "/dashboard/ACCOUNT/calls"; `page` is "" or such as "/calls".
std::string path_of(std::string_view account_id, std::string_view page);

// `here`: the page that is shown, as path_of() takes it; "" is the overview.
std::vector<site::Link> side_of(std::string_view account_id, std::string_view here);

}  // namespace turnpike::hosts::dashboard
