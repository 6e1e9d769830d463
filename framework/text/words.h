// Formatting of times, numbers and Credits for people, the same on every page, in mails and in
// messages. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::text {

// In UTC, from milliseconds since 1970: "2026-11-24", "2026-11-24 14:05 UTC",
// "2026-11-24 14:05:09 UTC".
std::string day_text(std::int64_t unix_ms);
std::string minute_text(std::int64_t unix_ms);
std::string second_text(std::int64_t unix_ms);

// "12,000", "-12,000".
std::string grouped(std::int64_t number);

// "1 call", "12,000 calls": for nouns whose plural ends in s.
std::string counted(std::int64_t number, std::string_view one);

// "Credit" for 1, else "Credits"; and with the number: "1 Credit", "12,000 Credits".
std::string_view credits_word(std::int64_t credits) noexcept;
std::string credits_text(std::int64_t credits);

}  // namespace turnpike::text
