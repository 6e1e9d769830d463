#include "crypto/signed_text.h"

#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

std::string signature_of(std::string_view text, std::string_view context, std::string_view key) {
  const Sha256 mac = hmac_sha256(key, std::string(context) + "\n" + std::string(text));
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

}  // namespace

std::string sign_text(std::string_view text, std::string_view context, std::string_view key) {
  return text::base64url(text) + "." + text::base64url(signature_of(text, context, key));
}

std::optional<std::string> verified_text(std::string_view signed_text, std::string_view context,
                                         std::string_view key) {
  if (signed_text.size() > signed_text_bytes_max) return std::nullopt;
  const std::size_t dot = signed_text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto text = text::from_base64url(signed_text.substr(0, dot));
  const auto mac = text::from_base64url(signed_text.substr(dot + 1));
  if (!text || !mac) return std::nullopt;
  if (!equal_in_constant_time(*mac, signature_of(*text, context, key))) return std::nullopt;
  return text;
}

}  // namespace turnpike::crypto
