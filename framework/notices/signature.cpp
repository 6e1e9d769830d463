#include "notices/signature.h"

#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::notices {

std::string new_secret(Random& random) {
  std::string secret(secret_bytes, '\0');
  random.fill({reinterpret_cast<std::uint8_t*>(secret.data()), secret.size()});
  return secret;
}

std::string secret_text(std::string_view secret) {
  return std::string(secret_prefix) + text::base64(secret);
}

std::string signature_of(std::string_view id, std::int64_t sent_at_s, std::string_view body,
                         std::span<const std::string_view> secrets) {
  std::string content(id);
  content.append(".").append(std::to_string(sent_at_s)).append(".").append(body);
  std::string signatures;
  for (const std::string_view secret : secrets) {
    const crypto::Sha256 mac = crypto::hmac_sha256(secret, content);
    if (!signatures.empty()) signatures += ' ';
    signatures += "v1,";
    signatures +=
        text::base64({reinterpret_cast<const char*>(mac.data()), mac.size()});
  }
  return signatures;
}

}  // namespace turnpike::notices
