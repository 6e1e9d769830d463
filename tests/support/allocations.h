// Counts every allocation of the program by replacing operator new; in a translation unit of its
// own, since GCC 12 warns of the pair where both are inlined. Counts on any Thread.
#pragma once

#include <cstdint>

namespace turnpike {

std::uint64_t allocations_so_far() noexcept;

}  // namespace turnpike
