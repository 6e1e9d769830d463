// LogBlocks: the lines of one Thread on their way to the log's Thread. A fixed number of blocks:
// the writer fills one and continues with a free one; the reader takes their bytes in the order of
// writing and frees them. Neither waits for the other, and there is no lock. Nothing is ever moved
// or freed, so a signal handler can read it too.
//
// Owned by the log. One Thread writes (or several, one at a time under a lock of theirs); one
// Thread at a time reads: the one that has the log's turn to write.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace turnpike::base {

inline constexpr std::size_t log_block_bytes = 64 * 1024;
inline constexpr std::uint32_t log_blocks_max = 64;  // per Thread
// Written together: a wake-up and the switch to the log's Thread cost as much as many lines.
inline constexpr std::uint32_t log_blocks_at_once = 4;
// Reserved for warnings and errors, when a flood of other lines has filled the rest.
inline constexpr std::uint32_t log_blocks_kept = 4;

class LogBlocks {
 public:
  LogBlocks();
  LogBlocks(const LogBlocks&) = delete;
  LogBlocks& operator=(const LogBlocks&) = delete;

  // For the writer: the address of its next bytes, the room there, and the commit that makes
  // written bytes readable.
  [[nodiscard]] char* place() noexcept { return bytes_of(written_block_) + written_bytes_; }
  [[nodiscard]] std::size_t room() const noexcept { return log_block_bytes - written_bytes_; }
  void committed(std::size_t bytes) noexcept;
  // Continues with another block if necessary; false: all are full. REQUIRES: bytes <=
  // log_block_bytes.
  [[nodiscard]] bool make_room(std::size_t bytes, bool is_urgent) noexcept {
    return bytes <= room() || begin_block(is_urgent);
  }
  // True if log_blocks_at_once blocks were filled since it last was.
  bool has_filled_some() noexcept {
    if (filled_ < log_blocks_at_once) return false;
    filled_ = 0;
    return true;
  }

  // For the reader: contiguous bytes, or none. taken() tells how many of them were used.
  std::string_view next_bytes() noexcept;
  void taken(std::size_t bytes) noexcept { taken_bytes_ += bytes; }

 private:
  static constexpr std::uint32_t none = log_blocks_max;
  struct Block {
    std::atomic<std::uint32_t> bytes{0};
    std::atomic<std::uint32_t> next{none};
  };

  char* bytes_of(std::uint32_t block) noexcept { return memory_.get() + block * log_block_bytes; }
  bool begin_block(bool is_urgent) noexcept;

  const std::unique_ptr<char[]> memory_;  // pages are allocated by the system at first use
  std::array<Block, log_blocks_max> blocks_;

  // One bit per free block: the reader sets it, the writer clears it.
  alignas(64) std::atomic<std::uint64_t> unused_;
  // Used by the writer only.
  alignas(64) std::uint32_t written_block_ = 0;
  std::uint32_t written_bytes_ = 0;
  std::uint32_t filled_ = 0;
  // Used by the reader only.
  alignas(64) std::uint32_t taken_block_ = 0;
  std::size_t taken_bytes_ = 0;
};

}  // namespace turnpike::base
