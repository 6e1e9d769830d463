// Refusals: how an error leaves a host. The head follows from the error, by this file alone. The
// row of the route names the form of the body; each form is one function. Pure functions; any
// Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hosts/reply_fields.h"

namespace turnpike::hosts {

struct RefusalHead {
  int status = 500;
  std::uint32_t retry_after_seconds = 0;  // 0: no Retry-After
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
  std::string_view vary = {};  // request fields that the refusal depends on
};

class RefusalPages;

// What the form functions know of the request.
struct RefusalAsked {
  std::string_view request_id;
  Headers headers = {};
  const RefusalPages* pages = nullptr;  // null: the host has no site
};

// Renders refusals as pages of the host's site.
class RefusalPages {
 public:
  virtual ~RefusalPages() = default;
  [[nodiscard]] virtual RefusalBody page(const base::Error& error,
                                         const RefusalAsked& asked) const = 0;
};

using RefusalForm = RefusalBody (*)(const base::Error& error, const RefusalAsked& asked);

// The ErrorEnvelope, in JSON.
RefusalBody as_envelope(const base::Error& error, const RefusalAsked& asked);
// {"error", "error_description"} of an OAuth token endpoint (RFC 6749 section 5.2).
RefusalBody as_oauth_error(const base::Error& error, const RefusalAsked& asked);
// A page for people: a page of the host's site, or a plain one where the host has no site.
RefusalBody as_page(const base::Error& error, const RefusalAsked& asked);

}  // namespace turnpike::hosts
