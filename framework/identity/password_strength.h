// How hard a password is to guess, by zxcvbn: it knows common passwords, names and words, their
// repetitions, sequences and keyboard patterns, and the words that it is given. Its time grows
// faster than the password. Pure function; any plain Thread.
#pragma once

#include <span>
#include <string>

namespace turnpike::identity {

inline constexpr std::size_t password_bytes_max = 256;

// The logarithm to base 2 of the guesses that it takes. `known_words`: what a guesser would try
// first. REQUIRES: `password` has at most password_bytes_max bytes.
[[nodiscard]] double password_bits(const std::string& password,
                                   std::span<const std::string> known_words);

}  // namespace turnpike::identity
