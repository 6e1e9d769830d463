// JsonPointer: RFC 6901, parsed once; and point() and text_at(), which find the value at a pointer
// in a JSON text without building a tree: one pass over the bytes, no allocation, no recursion, so
// the cost of hostile texts is linear. The whole text is checked, since a document that is not JSON
// has no value at any pointer. If a member occurs twice the last one counts, as for most readers.
//
// Values and pure functions; safe on any Thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::text {

class JsonPointer {
 public:
  static constexpr std::size_t bytes_max = 256;
  static constexpr std::size_t tokens_max = 32;

  struct Token {
    std::string name;                    // ~0 and ~1 decoded
    std::optional<std::uint64_t> index;  // set if it may be a list index
  };

  // nullopt for a text that is not a pointer or exceeds the limits. "" is the whole document.
  static std::optional<JsonPointer> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<Token>& tokens() const noexcept { return tokens_; }

  friend bool operator==(const JsonPointer& left, const JsonPointer& right) noexcept {
    return left.text_ == right.text_;
  }
  friend std::strong_ordering operator<=>(const JsonPointer& left,
                                          const JsonPointer& right) noexcept {
    return left.text_ <=> right.text_;
  }

 private:
  std::string text_;
  std::vector<Token> tokens_;
};

// Deeper documents count as malformed.
inline constexpr std::size_t json_depth_max = 512;

enum class Pointed : std::uint8_t {
  malformed,   // the text is not JSON (RFC 8259), or too deep
  missing,     // there is no value at the pointer
  null,        // the value null
  empty_list,  // a list without items
  other,
};
Pointed point(std::string_view json, const JsonPointer& pointer) noexcept;

// The text of the value at `pointer`, byte for byte as in `json`; nullopt if the document is
// malformed or has no value there.
std::optional<std::string_view> text_at(std::string_view json, const JsonPointer& pointer) noexcept;

}  // namespace turnpike::text
