// Short turns on the processor, for a Thread that many others wait for and that mostly waits
// itself, such as for a disk: the scheduler (Linux 6.12 and later, EEVDF) lets such a Thread run
// sooner after it wakes, for the same share of the processor. No privilege is needed; elsewhere it
// has no effect.
//
// Each Thread calls it for itself.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace turnpike::base {

inline constexpr std::uint64_t short_turn_ns = 100'000;  // the minimum that the kernel grants

// The kernel's `struct sched_attr` (sched_setattr(2)); its header conflicts with glibc's.
struct Scheduling {
  std::uint32_t size = sizeof(Scheduling);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t turn_ns = 0;  // `sched_runtime`
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};

inline Scheduling scheduling_of_this_thread() noexcept {
  Scheduling now;
  if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return {};
  return now;
}

inline void take_short_turns() noexcept {
  Scheduling wanted = scheduling_of_this_thread();
  if (wanted.policy != SCHED_OTHER) return;  // another policy was set on purpose
  wanted.turn_ns = short_turn_ns;
  (void)::syscall(SYS_sched_setattr, 0, &wanted, 0);
}

}  // namespace turnpike::base
