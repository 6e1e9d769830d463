// Refusals: how an error leaves a host. What its head says is decided here alone, from the error;
// the body has one of several forms, each of them one function, which the row of the route names.
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hosts/reply_fields.h"

namespace turnpike::hosts {

struct RefusalHead {
  int status = 500;
  std::uint32_t retry_after_seconds = 0;  // 0: the caller is not told when
  std::string_view challenge = {};        // WWW-Authenticate, with 401
  std::string_view allow = {};            // with 405
  std::string_view cache_control = "no-store";
};

[[nodiscard]] RefusalHead head_of(const base::Error& error) noexcept;
void add_refusal_fields(const RefusalHead& head, std::string_view content_type,
                        ReplyFields& fields);

struct RefusalBody {
  std::string_view content_type;
  std::string text;
  std::string_view vary = {};  // the header fields of requests that it depends on
};

class RefusalPages;

// What forms know of the request.
struct RefusalAsked {
  std::string_view request_id;
  Headers headers = {};
  const RefusalPages* pages = nullptr;  // null: the host has no site
};

// Refusals as pages of the host's site.
class RefusalPages {
 public:
  virtual ~RefusalPages() = default;
  [[nodiscard]] virtual RefusalBody page(const base::Error& error,
                                         const RefusalAsked& asked) const = 0;
};

using RefusalForm = RefusalBody (*)(const base::Error& error, const RefusalAsked& asked);

// The ErrorEnvelope, which is JSON.
RefusalBody as_envelope(const base::Error& error, const RefusalAsked& asked);
// {"error", "error_description"} of an OAuth token endpoint (RFC 6749 section 5.2).
RefusalBody as_oauth_error(const base::Error& error, const RefusalAsked& asked);
// A page for people: of the host's site, or a plain one.
RefusalBody as_page(const base::Error& error, const RefusalAsked& asked);

}  // namespace turnpike::hosts
