// bytes_of(): converts text to the byte pointers of OpenSSL's C interface. Private to crypto/; any
// Thread.
#pragma once

#include <string_view>

namespace turnpike::crypto {

inline const unsigned char* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace turnpike::crypto
