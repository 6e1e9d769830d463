// A text that only holders of the key can have written: base64url(text) "."
// base64url(HMAC-SHA-256). Its content is readable by anyone. Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace turnpike::crypto {

inline constexpr std::size_t signed_text_bytes_max = 8192;

// `context` separates the signatures of different uses of a key.
std::string sign_text(std::string_view text, std::string_view context, std::string_view key);

// The text, if the signature is valid; nullopt also for texts longer than the limit.
std::optional<std::string> verified_text(std::string_view signed_text, std::string_view context,
                                         std::string_view key);

}  // namespace turnpike::crypto
