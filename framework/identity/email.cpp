#include "identity/email.h"

#include <algorithm>

namespace turnpike::identity {
namespace {

constexpr std::size_t email_bytes_max = 254;  // RFC 5321 section 4.5.3.1.3, without < and >

bool is_email(std::string_view text) noexcept {
  constexpr std::string_view reserved = "<>()[],;:\\\"";
  const std::size_t at = text.find('@');
  if (at == text.npos || at == 0 || at + 1 == text.size()) return false;
  if (text.size() > email_bytes_max || text.find('@', at + 1) != text.npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return c > 0x20 && c < 0x7F && reserved.find(c) == reserved.npos;
  });
}

char folded(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<base::Error> fault_in_email(std::string_view text) {
  if (is_email(text)) return std::nullopt;
  return base::Error{base::ErrorCode::request_malformed,
                     "The e-mail address is not in its form, such as name@example.org."};
}

bool is_same_email(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char one, char other) { return folded(one) == folded(other); });
}

}  // namespace turnpike::identity
