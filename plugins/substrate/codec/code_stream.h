// CodeStream: the uncompressed bytes of a code blob, read once from front to back while they are
// hashed. What is compressed is decompressed piece by piece, so a bomb costs no memory, and never
// more than `bytes_max` bytes of work.
//
// Looks into the blob, which outlives it. One Thread at a time.
#pragma once

#include <memory>
#include <string_view>

#include "substrate/codec/bytes.h"
#include "substrate/codec/digest.h"

struct ZSTD_DCtx_s;

namespace turnpike::substrate {

// What the runtime's own decompression allows.
inline constexpr std::uint64_t uncompressed_bytes_max = 52'428'800;

class CodeStream {
 public:
  enum class Kind : std::uint8_t { plain, zstd };

  CodeStream(ByteView bytes, Kind kind, std::uint64_t bytes_max = uncompressed_bytes_max);
  ~CodeStream();
  CodeStream(const CodeStream&) = delete;
  CodeStream& operator=(const CodeStream&) = delete;

  // Fills `into`; fewer bytes than it holds come at the end alone, or when something is wrong.
  std::size_t read(std::span<std::uint8_t> into);
  // Passes over as many bytes; false when there are fewer.
  bool skip(std::uint64_t count);
  // Reads what is left, for its hash.
  void drain();

  // Empty: nothing is wrong with what was read so far; a sentence otherwise.
  [[nodiscard]] std::string_view problem() const noexcept { return problem_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }  // read so far
  // Of all that was read. Once.
  [[nodiscard]] Hash hash() noexcept { return blake2_.finish(); }

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  bool refill();
  void inflate();

  const Kind kind_;
  const std::uint64_t bytes_max_;
  ByteView input_;
  ByteView ready_;  // of buffer_, or of the blob itself
  Bytes buffer_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  bool is_frame_whole_ = false;
  Blake2Stream blake2_;
  std::uint64_t size_ = 0;
  std::string_view problem_;
};

}  // namespace turnpike::substrate
