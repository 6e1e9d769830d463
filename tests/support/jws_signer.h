// JwsSigner: an issuer of signed tokens, on OpenSSL and not on the library that checks them: its
// key as JWK, and compact JWS with any header. Keys are made anew each time. Used by one Thread.
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

  // The public key, with `more` members: R"(,"use":"sig")".
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
