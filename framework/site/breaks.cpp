#include "site/breaks.h"

namespace turnpike::site {

bool may_break_behind(std::string_view text, std::size_t at) noexcept {
  const auto is_letter = [&](std::size_t place) {
    return place < text.size() && ((text[place] >= 'a' && text[place] <= 'z') ||
                                   (text[place] >= 'A' && text[place] <= 'Z'));
  };
  const char character = text[at];
  if (character == '/' || character == '_') return true;
  return character == '.' && at > 0 && is_letter(at - 1) && is_letter(at + 1);
}

}  // namespace turnpike::site
