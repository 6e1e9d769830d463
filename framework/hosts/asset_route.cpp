#include "hosts/asset_route.h"

#include "hosts/accept.h"

namespace turnpike::hosts {

void send_asset(const Pages& pages, Turn& turn, const Asked& asked) {
  const auto site = pages.site();
  const site::Asset* const found = site->assets().find(asked.parameters[0]);
  if (found == nullptr) {
    turn.refuse({base::ErrorCode::request_not_found, "There is no such file."});
    return;
  }
  const bool is_versioned = asked.query.find("v").value_or("") == found->version;
  ReplyFields more;
  more.add("Vary", "Accept-Encoding");
  more.add("X-Content-Type-Options", "nosniff");
  const bool is_compressed = choose_brotli(turn.request.headers(), found->brotli, more);
  turn.reply({.content_type = found->content_type,
              .body = is_compressed ? found->brotli : found->body,
              .etag = is_compressed ? found->brotli_etag : found->etag,
              .cache_control = is_versioned ? "public, max-age=31536000, immutable"
                                            : "public, max-age=300"},
             more);
}

}  // namespace turnpike::hosts
