// Bearer: the Authorization field of a request, read by one rule for every host: the scheme in any
// case, one or more spaces, one token68 (RFC 9110 section 11.4, RFC 6750 section 2.1). What the
// token is worth is the Authenticator's to say.
//
// Values whose views are into the request; pure functions; any Thread.
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
  repeated,  // the field came more than once
};

struct Bearer {
  Authorization form = Authorization::none;
  std::string_view token = {};  // with Authorization::bearer

  // Reads one more Authorization field.
  void take(std::string_view field_value) noexcept;
};

[[nodiscard]] Bearer read_bearer(Headers headers) noexcept;

}  // namespace turnpike::identity
