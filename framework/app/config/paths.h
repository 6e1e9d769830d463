// The paths whose defaults depend on the installation. Pure functions of the configuration and the
// path of the binary; safe on any Thread.
#pragma once

#include <string>
#include <vector>

#include "app/config/config.h"
#include "plugin/catalog.h"

namespace turnpike::app {

// `plugins.directory`, or the directory beside the binary (in a build tree), or
// ../lib/turnpike/plugins relative to it.
std::vector<std::string> plugin_directories(const Config& config);

plugin::CatalogOptions catalog_options(const Config& config);

// The site: `site.directory`, or ../share/turnpike/site relative to the binary, or the one of the
// source tree beside it; with the overlay and the brand.
site::SiteSettings site_settings(const Config& config);

// `reference_directory`, or ../share/turnpike/reference relative to the binary; empty: neither
// exists.
std::string reference_directory(const Config& config);

std::string control_socket(const Config& config);

}  // namespace turnpike::app
