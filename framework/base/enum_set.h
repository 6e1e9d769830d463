// EnumSet: a set of the values of a small enum, as bits. A value; any Thread.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace turnpike::base {

template <class Enum>  // with values below 32
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<Enum> values) {
    for (const Enum value : values) add(value);
  }
  constexpr void add(Enum value) noexcept { bits_ |= bit(value); }
  [[nodiscard]] constexpr bool has(Enum value) const noexcept { return (bits_ & bit(value)) != 0; }
  [[nodiscard]] constexpr bool has_any(EnumSet others) const noexcept {
    return (others.bits_ & bits_) != 0;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(Enum value) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(value);
  }
  std::uint32_t bits_ = 0;
};

}  // namespace turnpike::base
