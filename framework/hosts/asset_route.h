// The route of the files that pages load (scripts, styles, images), for every host that has pages.
// Stateless; called on the fibers of requests.
#pragma once

#include "hosts/pages.h"
#include "hosts/route.h"

namespace turnpike::hosts {

inline constexpr Parameter asset_query[] = {
    {.name = "v",
     .description = "The version that a page was made with.",
     .schema = R"({"type": "string"})"},
};

inline constexpr RouteFacts asset_facts{.method = "GET",
                                        .path = "/assets/{name...}",
                                        .endpoint = "asset",
                                        .query = asset_query,
                                        .answers_head = true,
                                        .has_etag = true};

// Pages name the version of a file, so browsers keep that version for good; a request without a
// version gets a short lifetime.
void send_asset(const Pages& pages, Turn& turn, const Asked& asked);

}  // namespace turnpike::hosts
