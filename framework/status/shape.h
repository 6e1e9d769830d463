// Shape: what the replies to one sample look like, as looks have learned it: the kinds of values at
// JSON pointers, in which `*` stands for every element of a list and for members whose names are
// data rather than words. What was the same for a while is expected from then on, and a reply that
// differs is told by pointer and kinds, never by a value.
//
// A value is expected to be of its kind once looks_to_learn looks saw it, over learning_ms at
// least. A member that was absent or null in one of them is optional: neither is told of it. A
// value of several kinds is not judged, and a member that is new alarms nobody. A reply that
// differs is not learned from, so the alarm stays until the upstream changes back or the operator
// accepts the change: a raised revision of the route, or another `expect`, begins a new shape.
//
// Not thread-safe. Reads untrusted texts in one pass, within bounds, without recursion.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "registry/program.h"

namespace turnpike::status {

class Shape {
 public:
  static constexpr std::uint32_t looks_to_learn = 20;
  static constexpr std::int64_t learning_ms = 3'600'000;
  static constexpr std::size_t depth_max = 8;       // tokens of a pointer; deeper ones are not seen
  static constexpr std::size_t pointers_max = 256;  // further ones are not seen
  static constexpr std::size_t members_max = 64;    // objects with more are not looked into
  static constexpr std::size_t name_bytes_max = 40;  // of a member whose name is a word
  static constexpr std::size_t name_digits_max = 4;

  // What a shape belongs to: another one means that the operator has accepted what is there.
  static std::string basis_of(const registry::Expectation& expect, std::uint32_t revision);

  explicit Shape(std::string basis) : basis_(std::move(basis)) {}
  // What canonical() wrote; the error is a sentence.
  static Result<Shape, std::string> read(std::string_view json);

  // Compares a reply, which is JSON, with what was learned, and learns from it unless it differs.
  // The difference, such as "/data/*/id was string, is number"; empty: there is none.
  std::string look(std::string_view body, std::int64_t now_ms);

  [[nodiscard]] const std::string& basis() const noexcept { return basis_; }
  [[nodiscard]] std::string canonical() const;  // RFC 8785
  // How many pointers are expected by now.
  [[nodiscard]] std::size_t learned(std::int64_t now_ms) const noexcept;
  // Whether looks changed it since it was made, read or last asked so.
  [[nodiscard]] bool take_changed() noexcept { return std::exchange(has_changed_, false); }

 private:
  class Seen;
  struct Member {
    std::uint8_t kinds = 0;     // bits by JsonKind, without null
    bool is_optional = false;   // it was absent or null
    std::uint32_t looks = 0;    // that saw it with a value, up to looks_to_learn
    std::int64_t since_ms = 0;  // the first of them

    friend bool operator==(const Member&, const Member&) = default;
  };

  [[nodiscard]] static bool is_learned(const Member& member, std::int64_t now_ms) noexcept;
  [[nodiscard]] std::string difference(const Seen& seen, std::int64_t now_ms) const;
  void learn(const Seen& seen, std::int64_t now_ms);

  std::string basis_;
  std::map<std::string, Member, std::less<>> members_;  // by pointer
  bool has_changed_ = false;
};

}  // namespace turnpike::status
