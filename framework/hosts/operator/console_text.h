// How the console writes times, ages, numbers and states. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "site/templates.h"

namespace turnpike::hosts::operators {

std::string time_text(std::int64_t time_ms);  // "2026-11-24 14:05 UTC"; of 0: "never"
std::string day_text(std::int64_t day);       // since 1970 UTC: "2026-11-24"
std::string age_text(std::int64_t age_ms);    // "42 s", "3 min", "5 h", "12 days"
std::string count_text(std::int64_t number);  // "1,234,567"
std::string share_text(double part, double whole);  // "99.95 %", rounded down; of 0: "-"
std::string rate_text(double per_second);           // "0.25", "120"

// The CSS class for a state of the status documents: "ok", "warn", "bad", "unknown".
std::string_view class_of(std::string_view level) noexcept;
// "major outage" for "major_outage".
std::string words_of(std::string_view name);

// Bars for a row of days, each with its day and number; the table beside the bars has the same
// values.
site::Markup bars(std::span<const std::pair<std::string, std::int64_t>> values,
                  std::string_view label);

}  // namespace turnpike::hosts::operators
