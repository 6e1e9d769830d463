// Bearer: reads the Authorization field of a request by one rule for every host: the scheme in any
// case, one or more spaces, one token68 (RFC 9110 section 11.4, RFC 6750 section 2.1). The
// Authenticator decides whether the token is valid.
//
// Values with views into the request; pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <string_view>

#include <turnpike/message.h>

namespace turnpike::identity {

enum class Authorization : std::uint8_t {
  none,
  bearer,
  other_scheme,
  malformed,
  repeated,  // the request has more than one such field
};

struct Bearer {
  Authorization form = Authorization::none;
  std::string_view token = {};  // set with Authorization::bearer

  // Reads one more Authorization field of the request.
  void take(std::string_view field_value) noexcept;
};

[[nodiscard]] Bearer read_bearer(Headers headers) noexcept;

}  // namespace turnpike::identity
