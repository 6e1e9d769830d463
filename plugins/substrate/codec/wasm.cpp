#include "substrate/codec/wasm.h"

#include <algorithm>
#include <array>
#include <string>

namespace turnpike::substrate {
namespace {

constexpr std::array<std::uint8_t, 8> header = {0x00, 0x61, 0x73, 0x6D, 0x01, 0x00, 0x00, 0x00};
constexpr std::uint8_t custom_section = 0;
constexpr std::uint8_t section_ids_max = 13;
constexpr std::size_t version_bytes_max = 16 * 1024;
constexpr std::string_view version_name = "runtime_version";

struct Leb {
  std::uint32_t value = 0;
  std::uint32_t bytes = 0;
};

// An unsigned LEB128 of 32 bits: at most five bytes, of which the last holds four bits.
std::optional<Leb> read_leb(CodeStream& stream) {
  Leb leb;
  for (; leb.bytes < 5;) {
    std::uint8_t byte = 0;
    if (stream.read({&byte, 1}) != 1) return std::nullopt;
    if (leb.bytes == 4 && byte > 0x0F) return std::nullopt;
    leb.value |= std::uint32_t{byte & 0x7Fu} << (7 * leb.bytes);
    ++leb.bytes;
    if ((byte & 0x80) == 0) return leb;
  }
  return std::nullopt;
}

constexpr std::string_view cut_short = "a section is longer than the module";

// Reads the content of a custom section of `size` bytes. Returns a sentence about what is wrong
// with it, or empty.
std::string_view read_custom(CodeStream& stream, std::uint32_t size, WasmSections& found) {
  const auto name_size = read_leb(stream);
  if (!name_size || name_size->bytes > size || name_size->value > size - name_size->bytes) {
    return "a custom section has a name that is longer than the section";
  }
  std::uint32_t rest = size - name_size->bytes;
  if (name_size->value != version_name.size()) return stream.skip(rest) ? "" : cut_short;
  Bytes name(name_size->value);
  if (stream.read(name) != name.size()) return cut_short;
  rest -= name_size->value;
  if (text_of(name) != version_name) return stream.skip(rest) ? "" : cut_short;
  if (found.runtime_version) return "it has two sections of the name runtime_version";
  if (rest > version_bytes_max) return "its section runtime_version is too long";
  Bytes section(rest);
  if (stream.read(section) != section.size()) return cut_short;
  found.runtime_version = std::move(section);
  return {};
}

}  // namespace

WasmSections read_wasm_sections(CodeStream& stream) {
  WasmSections found;
  std::array<std::uint8_t, header.size()> begin{};
  if (stream.read(begin) != begin.size() || begin != header) {
    found.problem = "it does not begin as a wasm module of version 1 does";
    return found;
  }
  while (found.problem.empty()) {
    std::uint8_t id = 0;
    if (stream.read({&id, 1}) != 1) break;  // the end
    const auto size = read_leb(stream);
    if (!size || id > section_ids_max) {
      found.problem = "it has something where a section should begin";
    } else if (id == custom_section) {
      found.problem = read_custom(stream, size->value, found);
    } else if (!stream.skip(size->value)) {
      found.problem = cut_short;
    }
  }
  return found;
}

}  // namespace turnpike::substrate
