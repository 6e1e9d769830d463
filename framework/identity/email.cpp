#include "identity/email.h"

namespace turnpike::identity {

bool is_email(std::string_view text) noexcept {
  constexpr std::size_t email_bytes_max = 254;
  const std::size_t at = text.find('@');
  if (at == text.npos || at == 0 || at + 1 == text.size()) return false;
  if (text.size() > email_bytes_max || text.find('@', at + 1) != text.npos) return false;
  for (const char c : text) {
    if (c <= 0x20 || c >= 0x7F || c == '<' || c == '>' || c == ',' || c == '"') return false;
  }
  return true;
}

}  // namespace turnpike::identity
