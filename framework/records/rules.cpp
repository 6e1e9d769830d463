#include "records/rules.h"

#include <algorithm>
#include <array>

#include "base/limits.h"

namespace turnpike::records {
namespace {

namespace limits = base::limits;

bool is_visible(char letter) noexcept { return letter >= '!' && letter <= '~'; }

template <class Item>
bool names_a_key_twice(std::span<const Item> items) {
  std::array<std::string_view, limits::store_keys_max> keys;
  const auto end = std::transform(items.begin(), items.end(), keys.begin(),
                                  [](const Item& item) { return item.key; });
  std::sort(keys.begin(), end);
  return std::adjacent_find(keys.begin(), end) != end;
}

}  // namespace

std::optional<std::string> fault_of_bound(std::string_view bound) {
  if (bound.size() > limits::store_key_bytes_max) {
    return "a key of " + std::to_string(bound.size()) + " bytes";
  }
  if (!std::all_of(bound.begin(), bound.end(), is_visible)) {
    return "a key with a byte that is not visible ASCII";
  }
  return std::nullopt;
}

std::optional<std::string> fault_of_key(std::string_view key) {
  if (key.empty()) return "an empty key";
  return fault_of_bound(key);
}

std::optional<std::string> fault_of(std::span<const StoreCheck> checks,
                                    std::span<const StoreWrite> writes) {
  if (checks.size() + writes.size() > limits::store_keys_max) {
    return "an apply that names " + std::to_string(checks.size() + writes.size()) + " keys";
  }
  for (const StoreCheck& check : checks) {
    if (auto fault = fault_of_key(check.key)) return fault;
  }
  for (const StoreWrite& write : writes) {
    if (auto fault = fault_of_key(write.key)) return fault;
    if (write.value && write.value->size() > limits::store_value_bytes_max) {
      return "a value of " + std::to_string(write.value->size()) + " bytes";
    }
  }
  if (names_a_key_twice(checks)) return "a key twice in the checks of one apply";
  if (names_a_key_twice(writes)) return "a key twice in the writes of one apply";
  if (const std::size_t bytes = bytes_of(checks, writes); bytes > limits::store_apply_bytes_max) {
    return "an apply of " + std::to_string(bytes) + " bytes";
  }
  return std::nullopt;
}

std::size_t bytes_of(std::span<const StoreCheck> checks,
                     std::span<const StoreWrite> writes) noexcept {
  std::size_t bytes = 0;
  for (const StoreCheck& check : checks) bytes += check.key.size();
  for (const StoreWrite& write : writes) {
    bytes += write.key.size() + write.value.value_or(std::string_view()).size();
  }
  return bytes;
}

}  // namespace turnpike::records
