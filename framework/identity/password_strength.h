// Estimates how hard a password is to guess, by zxcvbn: common passwords, names and words, their
// repetitions, sequences and keyboard patterns, and the given words. Its time grows faster than
// linearly with the password's length. Pure function; safe on any plain Thread.
#pragma once

#include <span>
#include <string>

namespace turnpike::identity {

inline constexpr std::size_t password_bytes_max = 256;

// Returns the base-2 logarithm of the estimated number of guesses. `known_words`: words that an
// attacker would try first. REQUIRES: `password` has at most password_bytes_max bytes.
[[nodiscard]] double password_bits(const std::string& password,
                                   std::span<const std::string> known_words);

}  // namespace turnpike::identity
