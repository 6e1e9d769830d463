// Stack and StackPool: the memory of a fiber, 64 KiB, with 256 KiB of reserved address space below,
// so that an overflow ends the process instead of writing into a neighbour, even if a large frame
// skips many pages at once. Each takes two memory maps.
//
// A pool is owned by one loop and used by its Thread only.
#pragma once

#include <cstddef>
#include <vector>

namespace turnpike::runtime {

inline constexpr std::size_t stack_guard_bytes = 256 * 1024;

struct Stack {
  void* bottom = nullptr;  // lowest usable address
  std::size_t bytes = 0;

  // True if an access to `address` is an overflow.
  [[nodiscard]] bool guards(const void* address) const noexcept {
    const auto below = static_cast<const char*>(bottom) - static_cast<const char*>(address);
    return below > 0 && below <= static_cast<std::ptrdiff_t>(stack_guard_bytes);
  }

  [[nodiscard]] void* top() const noexcept { return static_cast<char*>(bottom) + bytes; }
  explicit operator bool() const noexcept { return bottom != nullptr; }
};

// Sanitizers enlarge frames several times.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t stack_bytes = 256 * 1024;
#else
inline constexpr std::size_t stack_bytes = 64 * 1024;
#endif

class StackPool {
 public:
  // Keeps at most `idle_max` unused stacks and frees the others.
  explicit StackPool(std::size_t idle_max);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Empty when the system grants no more memory maps.
  [[nodiscard]] Stack take();
  void give_back(Stack stack) noexcept;
  [[nodiscard]] std::size_t idle() const noexcept { return idle_.size(); }

 private:
  std::size_t idle_max_;
  std::vector<Stack> idle_;
};

}  // namespace turnpike::runtime
