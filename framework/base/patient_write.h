// patient_write(): writes to standard error when the process is about to end, without hanging if
// the reader has stopped. Async-signal-safe; any Thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace turnpike::base {

// The time `patience_ms` from now, on CLOCK_MONOTONIC, in ms.
std::int64_t patience_until(int patience_ms) noexcept;

// Writes until that time; returns the number of bytes written.
std::size_t patient_write(int descriptor, std::string_view bytes, std::int64_t until_ms) noexcept;

}  // namespace turnpike::base
