// ElfImage: the loader's view of a shared object, read from its bytes without running its code: the
// libraries it needs, the symbols it exports and imports, the bytes of a symbol. It uses the
// program headers and the dynamic section, as the loader does, so missing or false section headers
// do not matter.
//
// Every offset and count of the file is checked against its size; work and memory are linear in it.
// A view of the caller's bytes: valid as long as they are. Plain value; safe on any Thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace turnpike::plugin {

struct ElfSymbol {
  std::string_view name;
  std::uint64_t address = 0;
  bool is_defined = false;  // exported; otherwise imported
};

class ElfImage {
 public:
  // The error is a phrase about the file, such as "is not an ELF file".
  static Result<ElfImage, std::string> parse(std::span<const std::uint8_t> file);

  [[nodiscard]] const std::vector<std::string_view>& needed_libraries() const noexcept {
    return needed_libraries_;
  }
  [[nodiscard]] const std::vector<ElfSymbol>& symbols() const noexcept { return symbols_; }
  [[nodiscard]] const ElfSymbol* find(std::string_view name) const noexcept;

  // The `size` bytes that the loader maps at `address`, if all of them are in the file.
  [[nodiscard]] std::optional<std::span<const std::uint8_t>> bytes_at(
      std::uint64_t address, std::uint64_t size) const noexcept;

 private:
  friend class ElfReader;
  struct Segment {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // in the file
  };

  std::span<const std::uint8_t> file_;
  std::vector<Segment> segments_;
  std::vector<std::string_view> needed_libraries_;
  std::vector<ElfSymbol> symbols_;
};

}  // namespace turnpike::plugin
