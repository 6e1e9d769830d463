// JwsSigner: an issuer of signed tokens. It uses OpenSSL directly, independent of the library that
// verifies them, and gives its key as a JWK and compact JWS with any header. Each object generates
// a new key. Used by one Thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crypto/jwks.h"

namespace turnpike::support {

class JwsSigner {
 public:
  explicit JwsSigner(crypto::JwsAlgorithm algorithm, std::string kid = "k",
                     unsigned rsa_bits = 2'048);

  // The public key; `more` is appended to its members, e.g. R"(,"use":"sig")".
  [[nodiscard]] std::string jwk(std::string_view more = {}) const;
  [[nodiscard]] std::string key_set() const { return R"({"keys":[)" + jwk() + "]}"; }
  [[nodiscard]] std::string sign(std::string_view payload) const;
  [[nodiscard]] std::string sign(std::string_view header_json, std::string_view payload) const;

 private:
  const crypto::JwsAlgorithm algorithm_;
  const std::string kid_;
  std::shared_ptr<void> key_;
};

}  // namespace turnpike::support
