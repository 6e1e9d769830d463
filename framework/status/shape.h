// Shape: the learned structure of the replies to one sample: the kinds of values at JSON pointers,
// in which `*` stands for every element of a list and for members whose names are data rather than
// words. A structure that was stable for a while is expected from then on, and a deviating reply is
// reported by pointer and kinds, never by a value.
//
// The kind of a value is expected once looks_to_learn looks saw it, over at least learning_ms. A
// member that was absent or null in one of them is optional: neither is reported. A value of
// several kinds is not checked, and a new member is not reported. A deviating reply is not learned,
// so the alarm stays until the upstream changes back or the operator accepts the change: a higher
// revision of the route, or another `expect`, begins a new shape.
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
  static constexpr std::size_t depth_max = 8;       // tokens of a pointer; deeper ones are ignored
  static constexpr std::size_t pointers_max = 256;  // further ones are ignored
  static constexpr std::size_t members_max = 64;    // larger objects are ignored
  static constexpr std::size_t name_bytes_max = 40;  // of a member name that counts as a word
  static constexpr std::size_t name_digits_max = 4;

  // Identifies what a shape belongs to: a different basis means that the operator accepted a
  // change.
  static std::string basis_of(const registry::Expectation& expect, std::uint32_t revision);

  explicit Shape(std::string basis) : basis_(std::move(basis)) {}
  // Parses the text of canonical(); the error is a sentence.
  static Result<Shape, std::string> read(std::string_view json);

  // Compares a JSON reply with the learned shape and, if it does not differ, learns from it.
  // Returns the difference, such as "/data/*/id was string, is number"; empty: none.
  std::string look(std::string_view body, std::int64_t now_ms);

  [[nodiscard]] const std::string& basis() const noexcept { return basis_; }
  [[nodiscard]] std::string canonical() const;  // RFC 8785
  // The number of pointers that are expected by now.
  [[nodiscard]] std::size_t learned(std::int64_t now_ms) const noexcept;
  // True if the shape changed since it was made, read or last queried.
  [[nodiscard]] bool take_changed() noexcept { return std::exchange(has_changed_, false); }

 private:
  class Seen;
  struct Member {
    std::uint8_t kinds = 0;     // bits by JsonKind, without null
    bool is_optional = false;   // was absent or null in a reply
    std::uint32_t looks = 0;    // that saw a value there, up to looks_to_learn
    std::int64_t since_ms = 0;  // time of the first of them

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
