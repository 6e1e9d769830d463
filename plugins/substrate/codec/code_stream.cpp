#include "substrate/codec/code_stream.h"

#include <zstd.h>

#include <algorithm>
#include <new>

namespace turnpike::substrate {
namespace {

constexpr std::size_t piece_bytes = 128 * 1024;
// A window of 64 MiB, which holds the longest code. zstd refuses larger windows before it allocates
// memory for them.
constexpr int window_log_max = 26;

}  // namespace

void CodeStream::Free::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

CodeStream::CodeStream(ByteView bytes, Kind kind, std::uint64_t bytes_max)
    : kind_(kind), bytes_max_(bytes_max), input_(bytes) {
  if (kind_ == Kind::plain) return;
  context_.reset(ZSTD_createDCtx());
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log_max);
  buffer_.resize(piece_bytes);
}

CodeStream::~CodeStream() = default;

// Fills ready_. False at the end or after a problem.
bool CodeStream::refill() {
  if (!problem_.empty()) return false;
  if (kind_ == Kind::plain) {
    ready_ = input_.first(std::min(piece_bytes, input_.size()));
    input_ = input_.subspan(ready_.size());
  } else {
    inflate();
  }
  if (!problem_.empty() || ready_.empty()) return false;
  if (size_ + ready_.size() > bytes_max_) {
    problem_ = "it is longer than 50 MiB once it is decompressed";
    ready_ = {};
    return false;
  }
  size_ += ready_.size();
  blake2_.add(ready_);
  return true;
}

void CodeStream::inflate() {
  ready_ = {};
  if (is_frame_whole_) {
    if (!input_.empty()) problem_ = "bytes follow the end of the zstd stream";
    return;
  }
  ZSTD_inBuffer in = {input_.data(), input_.size(), 0};
  ZSTD_outBuffer out = {buffer_.data(), buffer_.size(), 0};
  std::size_t left = 1;
  while (out.pos < out.size && left != 0) {
    const std::size_t taken = in.pos;
    const std::size_t given = out.pos;
    left = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      problem_ = "it is no valid zstd stream";
      return;
    }
    if (left != 0 && in.pos == taken && out.pos == given) {
      problem_ = "the zstd stream ends before its end";
      return;
    }
  }
  input_ = input_.subspan(in.pos);
  ready_ = ByteView(buffer_).first(out.pos);
  is_frame_whole_ = left == 0;
  if (is_frame_whole_ && !input_.empty()) problem_ = "bytes follow the end of the zstd stream";
}

std::size_t CodeStream::read(std::span<std::uint8_t> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    if (ready_.empty() && !refill()) break;
    const std::size_t count = std::min(ready_.size(), into.size() - filled);
    std::copy_n(ready_.begin(), count, into.begin() + static_cast<std::ptrdiff_t>(filled));
    ready_ = ready_.subspan(count);
    filled += count;
  }
  return filled;
}

bool CodeStream::skip(std::uint64_t count) {
  while (count > 0) {
    if (ready_.empty() && !refill()) return false;
    const std::size_t passed = std::min<std::uint64_t>(ready_.size(), count);
    ready_ = ready_.subspan(passed);
    count -= passed;
  }
  return true;
}

void CodeStream::drain() {
  do {
    ready_ = {};
  } while (refill());
}

}  // namespace turnpike::substrate
