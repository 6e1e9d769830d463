// Checks the requests of a plugin to its Store (sdk/turnpike/store.h) against the limits in
// base/limits.h. Each function returns a description of the fault, or nullopt. Pure; any Thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/store.h>

namespace turnpike::records {

std::optional<std::string> fault_of_key(std::string_view key);
// Checks a `prefix` or an `after`, each of which is a key or empty.
std::optional<std::string> fault_of_bound(std::string_view bound);
std::optional<std::string> fault_of(std::span<const StoreCheck> checks,
                                    std::span<const StoreWrite> writes);

// The size of all keys and values together.
std::size_t bytes_of(std::span<const StoreCheck> checks,
                     std::span<const StoreWrite> writes) noexcept;

}  // namespace turnpike::records
