// HeadWriter: appends the head of a message to a string that is enlarged once: a head has dozens of
// pieces, and growing for each would take longer than copying it.
//
// Lives on a stack while the head is written. Header-only.
#pragma once

#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace turnpike::wire {

class HeadWriter {
 public:
  // REQUIRES: at most `bytes_max` bytes are appended.
  HeadWriter(std::string& out, std::size_t bytes_max) : out_(out) {
    const std::size_t begin = out.size();
    out.resize(begin + bytes_max);
    at_ = out.data() + begin;
  }
  HeadWriter(const HeadWriter&) = delete;
  HeadWriter& operator=(const HeadWriter&) = delete;

  HeadWriter& put(std::string_view text) noexcept {
    assert(text.size() <= left());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  HeadWriter& put_number(std::uint64_t number) noexcept {
    at_ = std::to_chars(at_, at_ + left(), number).ptr;
    return *this;
  }
  HeadWriter& put_field(std::string_view name, std::string_view value) noexcept {
    return put(name).put(": ").put(value).put("\r\n");
  }
  // Trims the unused space. Nothing may be appended afterwards.
  void finish() { out_.resize(out_.size() - left()); }

 private:
  [[nodiscard]] std::size_t left() const noexcept {
    return static_cast<std::size_t>(out_.data() + out_.size() - at_);
  }
  std::string& out_;
  char* at_;
};

}  // namespace turnpike::wire
