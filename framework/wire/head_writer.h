// HeadWriter: appends the head of a message to a string whose room is made once: a head has dozens
// of pieces, and growing for each takes longer than copying it.
//
// Lives on a stack for the time of the writing. Header-only.
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
  // REQUIRES: no more than `bytes_max` are put.
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
  // Gives back the room that is left. Nothing is put after it.
  void finish() { out_.resize(out_.size() - left()); }

 private:
  [[nodiscard]] std::size_t left() const noexcept {
    return static_cast<std::size_t>(out_.data() + out_.size() - at_);
  }
  std::string& out_;
  char* at_;
};

}  // namespace turnpike::wire
