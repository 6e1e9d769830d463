#include "runtime/stack.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace turnpike::runtime {
namespace {

void unmap(const Stack& stack) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  // Poisoned frames that were left without return: the addresses may be mapped again for others.
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
#endif
  ::munmap(static_cast<char*>(stack.bottom) - stack_guard_bytes, stack.bytes + stack_guard_bytes);
}

}  // namespace

StackPool::StackPool(std::size_t idle_max) : idle_max_(idle_max) { idle_.reserve(idle_max); }

StackPool::~StackPool() {
  for (const Stack& stack : idle_) unmap(stack);
}

Stack StackPool::take() {
  if (!idle_.empty()) {
    const Stack stack = idle_.back();
    idle_.pop_back();
    return stack;
  }
  void* const memory = ::mmap(nullptr, stack_bytes + stack_guard_bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return {};
  const Stack stack{static_cast<char*>(memory) + stack_guard_bytes, stack_bytes};
  if (::mprotect(stack.bottom, stack.bytes, PROT_READ | PROT_WRITE) != 0) {
    unmap(stack);
    return {};
  }
  return stack;
}

void StackPool::give_back(Stack stack) noexcept {
  if (idle_.size() < idle_max_) {
    idle_.push_back(stack);
  } else {
    unmap(stack);
  }
}

}  // namespace turnpike::runtime
