// CodeStream: reads the uncompressed bytes of a code blob once from front to back and hashes them.
// Compressed code is decompressed piece by piece and at most up to `bytes_max` bytes, so a
// decompression bomb costs little memory and time.
//
// The blob must outlive the stream. One Thread at a time.
#pragma once

#include <memory>
#include <string_view>

#include "substrate/codec/bytes.h"
#include "substrate/codec/digest.h"

struct ZSTD_DCtx_s;

namespace turnpike::substrate {

// The limit of Substrate's own decompression of runtimes: 50 MiB.
inline constexpr std::uint64_t uncompressed_bytes_max = 52'428'800;

class CodeStream {
 public:
  enum class Kind : std::uint8_t { plain, zstd };

  CodeStream(ByteView bytes, Kind kind, std::uint64_t bytes_max = uncompressed_bytes_max);
  ~CodeStream();
  CodeStream(const CodeStream&) = delete;
  CodeStream& operator=(const CodeStream&) = delete;

  // Fills `into` and returns the number of bytes, which is smaller than `into` only at the end or
  // after a problem.
  std::size_t read(std::span<std::uint8_t> into);
  // Skips `count` bytes. False if fewer are left.
  bool skip(std::uint64_t count);
  // Reads the rest, so that hash() covers the whole stream.
  void drain();

  // A sentence about what is wrong with the bytes read so far; empty if nothing is.
  [[nodiscard]] std::string_view problem() const noexcept { return problem_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }  // decompressed so far
  // BLAKE2-256 of all bytes decompressed so far. May be called once.
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
  ByteView ready_;  // bytes not yet read, in buffer_ or in the blob itself
  Bytes buffer_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  bool is_frame_whole_ = false;
  Blake2Stream blake2_;
  std::uint64_t size_ = 0;
  std::string_view problem_;
};

}  // namespace turnpike::substrate
