#include "text/json_pointer.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>

#include "text/canonical_json.h"
#include "text/encoding.h"

namespace turnpike::text {
namespace {

// Parses "0", "17": a token that may be a list index (RFC 6901, section 4).
std::optional<std::uint64_t> index_of(std::string_view token) noexcept {
  if (token.empty() || (token.front() == '0' && token.size() > 1)) return std::nullopt;
  std::uint64_t index = 0;
  const char* const end = token.data() + token.size();
  const auto [rest, problem] = std::from_chars(token.data(), end, index);
  return problem == std::errc{} && rest == end ? std::optional(index) : std::nullopt;
}

// `out` has room for 4 bytes.
std::size_t encode_utf8(std::uint32_t point, char* out) noexcept {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) {
    out[0] = byte(point);
    return 1;
  }
  if (point < 0x800) {
    out[0] = byte(0xC0 | point >> 6);
    out[1] = byte(0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = byte(0xE0 | point >> 12);
    out[1] = byte(0x80 | (point >> 6 & 0x3F));
    out[2] = byte(0x80 | (point & 0x3F));
    return 3;
  }
  out[0] = byte(0xF0 | point >> 18);
  out[1] = byte(0x80 | (point >> 12 & 0x3F));
  out[2] = byte(0x80 | (point >> 6 & 0x3F));
  out[3] = byte(0x80 | (point & 0x3F));
  return 4;
}

// Reads the document once. `depth_` containers are open; the outermost `matched_` of them, and no
// others, are on the pointer's path.
class Scanner {
 public:
  Scanner(std::string_view json, const JsonPointer& pointer) noexcept
      : at_(json.data()), end_(json.data() + json.size()), tokens_(pointer.tokens()) {}

  Pointed run() noexcept {
    bool is_on_path = true;  // whether the next value is on the path
    do {
      skip_blanks();
      if (!read_value(is_on_path) || !close_and_go_on(is_on_path)) return Pointed::malformed;
    } while (depth_ > 0);
    skip_blanks();
    return at_ == end_ ? result_ : Pointed::malformed;
  }

  // After run(): the value at the pointer. REQUIRES: there is one.
  [[nodiscard]] std::string_view value() const noexcept {
    return {value_begin_, static_cast<std::size_t>(value_end_ - value_begin_)};
  }

 private:
  // Reads a whole scalar, or the opening of a container. close_and_go_on() closes an empty
  // container.
  bool read_value(bool is_on_path) noexcept {
    if (at_ == end_) return false;
    const bool is_target = is_on_path && depth_ == tokens_.size();
    if (is_target) {
      result_ = *at_ == 'n' ? Pointed::null : Pointed::other;
      value_begin_ = at_;
    }
    has_opened_ = *at_ == '{' || *at_ == '[';
    if (has_opened_) return open(is_on_path, is_target);
    const bool is_sound = read_scalar();
    if (is_target) value_end_ = at_;
    return is_sound;
  }

  bool read_scalar() noexcept {
    switch (*at_) {
      case '"':
        ++at_;
        return skip_string();
      case 't':
        return skip_word("true");
      case 'f':
        return skip_word("false");
      case 'n':
        return skip_word("null");
      default:
        return skip_number();
    }
  }

  bool open(bool is_on_path, bool is_target) noexcept {
    if (depth_ == json_depth_max) return false;
    const bool is_object = *at_++ == '{';
    is_object_[depth_] = is_object;
    if (is_on_path) matched_ = depth_ + 1;
    if (is_on_path && !is_target) index_[depth_] = 0;
    ++depth_;
    is_value_open_ = is_value_open_ || is_target;
    skip_blanks();
    if (is_target && !is_object && at_ != end_ && *at_ == ']') result_ = Pointed::empty_list;
    return true;
  }

  // Reads the text between two values: ends of containers, a comma, a name. Stops at the next
  // value, or when no container is open.
  bool close_and_go_on(bool& is_on_path) noexcept {
    bool is_first = has_opened_;
    while (depth_ > 0) {
      skip_blanks();
      if (at_ == end_) return false;
      const bool is_object = is_object_[depth_ - 1];
      if (*at_ == (is_object ? '}' : ']')) {
        ++at_;
        --depth_;
        if (is_value_open_ && depth_ == tokens_.size()) {
          is_value_open_ = false;
          value_end_ = at_;
        }
        matched_ = std::min(matched_, depth_);
        is_first = false;
        continue;
      }
      if (!is_first) {
        if (*at_++ != ',') return false;
        skip_blanks();
      }
      return is_object ? read_name(is_on_path) : next_item(is_first, is_on_path);
    }
    return true;
  }

  // The token to compare the members of the innermost container with; null: none.
  [[nodiscard]] const JsonPointer::Token* token() const noexcept {
    return matched_ == depth_ && depth_ <= tokens_.size() ? &tokens_[depth_ - 1] : nullptr;
  }

  bool next_item(bool is_first, bool& is_on_path) noexcept {
    const JsonPointer::Token* wanted = token();
    if (wanted != nullptr && !is_first) ++index_[depth_ - 1];
    is_on_path = wanted != nullptr && wanted->index == index_[depth_ - 1];
    return true;
  }

  bool read_name(bool& is_on_path) noexcept {
    if (at_ == end_ || *at_++ != '"') return false;
    const JsonPointer::Token* wanted = token();
    bool is_equal = wanted != nullptr;
    const bool is_string = is_equal ? compare_string(wanted->name, is_equal) : skip_string();
    if (!is_string) return false;
    is_on_path = is_equal;
    if (is_equal) result_ = Pointed::missing;  // overrides an earlier member of this name
    skip_blanks();
    return at_ != end_ && *at_++ == ':';
  }

  void skip_blanks() noexcept {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool skip_word(std::string_view word) noexcept {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) !=
        word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  bool skip_digits() noexcept {
    const char* const first = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != first;
  }

  bool skip_number() noexcept {
    if (*at_ == '-') ++at_;
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!skip_digits()) {
      return false;
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      if (!skip_digits()) return false;
    }
    if (at_ == end_ || (*at_ != 'e' && *at_ != 'E')) return true;
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    return skip_digits();
  }

  // Reads from after the opening quote past the closing one.
  bool skip_string() noexcept {
    char unused[4];
    while (at_ != end_) {
      const char c = *at_++;
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && read_escape(unused) == 0) return false;
    }
    return false;
  }

  bool compare_string(std::string_view wanted, bool& is_equal) noexcept {
    char bytes[4];
    while (at_ != end_) {
      bytes[0] = *at_++;
      if (bytes[0] == '"') {
        is_equal = is_equal && wanted.empty();
        return true;
      }
      if (static_cast<unsigned char>(bytes[0]) < 0x20) return false;
      const std::size_t size = bytes[0] == '\\' ? read_escape(bytes) : 1;
      if (size == 0) return false;
      if (!is_equal) continue;
      is_equal = wanted.starts_with(std::string_view(bytes, size));
      if (is_equal) wanted.remove_prefix(size);
    }
    return false;
  }

  // Reads the rest of an escape after the backslash: writes its bytes and returns their number; 0:
  // invalid.
  std::size_t read_escape(char* out) noexcept {
    if (at_ == end_) return 0;
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const char c = *at_++;
    if (const std::size_t known = letters.find(c); known != letters.npos) {
      out[0] = meanings[known];
      return 1;
    }
    if (c != 'u') return 0;
    const std::optional<std::uint32_t> first = read_hex4();
    if (!first || (*first >= 0xDC00 && *first <= 0xDFFF)) return 0;
    if (*first < 0xD800 || *first > 0xDFFF) return encode_utf8(*first, out);
    if (!skip_word("\\u")) return 0;
    const std::optional<std::uint32_t> second = read_hex4();
    if (!second || *second < 0xDC00 || *second > 0xDFFF) return 0;
    return encode_utf8(0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00), out);
  }

  std::optional<std::uint32_t> read_hex4() noexcept {
    if (end_ - at_ < 4) return std::nullopt;
    std::uint32_t value = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const int hex = hex_value(*at_++);
      if (hex < 0) return std::nullopt;
      value = value << 4 | static_cast<std::uint32_t>(hex);
    }
    return value;
  }

  const char* at_;
  const char* const end_;
  const std::vector<JsonPointer::Token>& tokens_;
  std::bitset<json_depth_max> is_object_;
  std::array<std::uint64_t, JsonPointer::tokens_max> index_{};  // of open lists on the path
  std::size_t depth_ = 0;
  std::size_t matched_ = 0;
  bool has_opened_ = false;  // the last value read was the opening of a container
  Pointed result_ = Pointed::missing;
  const char* value_begin_ = nullptr;  // of the value at the pointer
  const char* value_end_ = nullptr;
  bool is_value_open_ = false;  // that value is a container that is still open
};

}  // namespace

std::optional<JsonPointer> JsonPointer::parse(std::string_view text) {
  if (text.size() > bytes_max || !is_utf8(text)) return std::nullopt;
  JsonPointer pointer;
  pointer.text_ = text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/') {
      if (pointer.tokens_.size() == tokens_max) return std::nullopt;
      pointer.tokens_.emplace_back();
      continue;
    }
    if (at == 0) return std::nullopt;
    char c = text[at];
    if (c == '~') {
      ++at;
      if (at == text.size() || (text[at] != '0' && text[at] != '1')) return std::nullopt;
      c = text[at] == '0' ? '~' : '/';
    }
    pointer.tokens_.back().name += c;
  }
  for (Token& token : pointer.tokens_) token.index = index_of(token.name);
  return pointer;
}

Pointed point(std::string_view json, const JsonPointer& pointer) noexcept {
  return is_utf8(json) ? Scanner(json, pointer).run() : Pointed::malformed;
}

std::optional<std::string_view> text_at(std::string_view json,
                                        const JsonPointer& pointer) noexcept {
  if (!is_utf8(json)) return std::nullopt;
  Scanner scanner(json, pointer);
  const Pointed found = scanner.run();
  if (found == Pointed::malformed || found == Pointed::missing) return std::nullopt;
  return scanner.value();
}

}  // namespace turnpike::text
