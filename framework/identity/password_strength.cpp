#include "identity/password_strength.h"

#include <zxcvbn.h>

#include <cassert>
#include <vector>

namespace turnpike::identity {

// zxcvbn stops at a NUL, so a password with one is rated by the part before the NUL.
double password_bits(const std::string& password, std::span<const std::string> known_words) {
  assert(password.size() <= password_bytes_max);
  std::vector<const char*> words;
  for (const std::string& word : known_words) {
    if (!word.empty()) words.push_back(word.c_str());
  }
  words.push_back(nullptr);
  return ZxcvbnMatch(password.c_str(), words.data(), nullptr);
}

}  // namespace turnpike::identity
