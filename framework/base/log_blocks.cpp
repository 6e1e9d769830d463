#include "base/log_blocks.h"

#include <bit>

namespace turnpike::base {

static_assert(log_blocks_max == 64, "one bit each");

LogBlocks::LogBlocks()
    : memory_(new char[log_blocks_max * log_block_bytes]), unused_(~std::uint64_t{1}) {}

// Takes the lowest free block: when the reader keeps up, few blocks are in use and stay in the
// cache.
bool LogBlocks::begin_block(bool is_urgent) noexcept {
  const std::uint64_t unused = unused_.load(std::memory_order_acquire);
  const auto left = static_cast<std::uint32_t>(std::popcount(unused));
  if (left <= (is_urgent ? 0 : log_blocks_kept)) return false;
  const auto block = static_cast<std::uint32_t>(std::countr_zero(unused));
  unused_.fetch_and(~(std::uint64_t{1} << block), std::memory_order_relaxed);
  blocks_[block].bytes.store(0, std::memory_order_relaxed);
  blocks_[block].next.store(none, std::memory_order_relaxed);
  blocks_[written_block_].next.store(block, std::memory_order_release);
  written_block_ = block;
  written_bytes_ = 0;
  ++filled_;
  return true;
}

void LogBlocks::committed(std::size_t bytes) noexcept {
  written_bytes_ += static_cast<std::uint32_t>(bytes);
  blocks_[written_block_].bytes.store(written_bytes_, std::memory_order_release);
}

std::string_view LogBlocks::next_bytes() noexcept {
  for (;;) {
    Block& block = blocks_[taken_block_];
    // Reads `next` first: once there is a next block, no more bytes are added to this one.
    const std::uint32_t next = block.next.load(std::memory_order_acquire);
    const std::size_t bytes = block.bytes.load(std::memory_order_acquire);
    if (taken_bytes_ < bytes) {
      return {bytes_of(taken_block_) + taken_bytes_, bytes - taken_bytes_};
    }
    if (next == none) return {};
    unused_.fetch_or(std::uint64_t{1} << taken_block_, std::memory_order_release);
    taken_block_ = next;
    taken_bytes_ = 0;
  }
}

}  // namespace turnpike::base
