// Counts every allocation of the program by replacing operator new. It has its own translation unit
// because GCC 12 warns about the new/delete pair where both are inlined. Counts on any Thread.
#pragma once

#include <cstdint>

namespace turnpike {

std::uint64_t allocations_so_far() noexcept;

}  // namespace turnpike
