// The configuration of the site: the directory of its files, the overlay over them, and the brand.
// Used by read_config() alone.
#pragma once

#include "app/config/config_section.h"
#include "site/site.h"

namespace turnpike::app {

void read_site(Section& top, site::SiteSettings& settings);

}  // namespace turnpike::app
