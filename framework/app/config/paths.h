// The paths that the configuration leaves to defaults which depend on the installation. Pure
// functions of the configuration and the path of the binary; safe on any Thread.
#pragma once

#include <string>
#include <vector>

#include "app/config/config.h"
#include "plugin/catalog.h"

namespace turnpike::app {

// `plugins.directory`, or beside the binary (a build tree), or ../lib/turnpike/plugins of it.
std::vector<std::string> plugin_directories(const Config& config);

plugin::CatalogOptions catalog_options(const Config& config);

// The site: `site.directory`, or ../share/turnpike/site of the binary, or the one beside it, which
// is that of the source tree; with the overlay and the brand.
site::SiteSettings site_settings(const Config& config);

// `reference_directory`, or ../share/turnpike/reference of the binary; empty when neither exists.
std::string reference_directory(const Config& config);

std::string control_socket(const Config& config);

}  // namespace turnpike::app
