// patient_write(): bytes for standard error when the process is about to end, which must not hang
// because nobody reads them. Async-signal-safe; any Thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace turnpike::base {

// The moment in `patience_ms` from now, on CLOCK_MONOTONIC, in ms.
std::int64_t patience_until(int patience_ms) noexcept;

// Writes until that moment; returns how many bytes were taken.
std::size_t patient_write(int descriptor, std::string_view bytes, std::int64_t until_ms) noexcept;

}  // namespace turnpike::base
