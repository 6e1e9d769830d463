// The text files of the web host that are made from the list of its pages: llms.txt and related
// files, the sitemap, robots.txt. Pure functions; they are slow, so they run on the pool; any
// Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/site/page_render.h"
#include "site/page_source.h"

namespace turnpike::hosts::public_site {

using PageSources = std::vector<const site::PageSource*>;

// Nothing: there is no such file, or it needs the URL of the host, which is not configured.
std::optional<CachedPage> text_file(std::string_view path, const PageSources& sources,
                                    const PageContext& context);

}  // namespace turnpike::hosts::public_site
