// What the configuration says of the site: where its files are, whose overlay lies over them, and
// the brand. Used by read_config() alone.
#pragma once

#include "app/config/config_section.h"
#include "site/site.h"

namespace turnpike::app {

void read_site(Section& top, site::SiteSettings& settings);

}  // namespace turnpike::app
