// Cross-origin access for browsers (the CORS protocol of the Fetch standard), by configuration.
// Preflights are answered here and never reach an upstream. Immutable; any Thread.
#pragma once

#include <string_view>

#include "hosts/origins.h"
#include "hosts/reply_fields.h"

namespace turnpike::hosts {

// `exposed`: the fields of replies that pages may read; `requested`: the fields that pages may
// send.
struct CorsHeaders {
  std::string_view exposed;
  std::string_view requested;
};

class Cors {
 public:
  // Credentials in the sense of the Fetch standard (cookies) are never allowed, since none are
  // used.
  Cors(Origins origins, CorsHeaders headers);

  // Adds the fields of a reply to a request from `origin`; empty: the request had no Origin field.
  void add_reply_fields(std::string_view origin, ReplyFields& fields) const;
  // The same for a preflight.
  void add_preflight_fields(std::string_view origin, std::string_view methods,
                            ReplyFields& fields) const;

 private:
  [[nodiscard]] bool add_origin(std::string_view origin, ReplyFields& fields) const;

  Origins origins_;
  CorsHeaders headers_;
};

}  // namespace turnpike::hosts
