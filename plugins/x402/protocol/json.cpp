#include "x402/protocol/json.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::optional<std::uint32_t> hex4(std::string_view digits) noexcept {
  std::uint32_t value = 0;
  const auto [end, fault] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 4 || fault != std::errc() || end != digits.data() + 4) return std::nullopt;
  return value;
}

bool is_high_surrogate(std::uint32_t unit) noexcept { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_surrogate(std::uint32_t unit) noexcept { return unit >= 0xDC00 && unit < 0xE000; }

void append_utf8(std::string& out, std::uint32_t point) {
  const auto continuation = [&](int shift) {
    out += static_cast<char>(0x80 | (point >> shift & 0x3F));
  };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    continuation(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    continuation(6);
    continuation(0);
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

// Returns the content of a string that the reader has accepted; `text` lacks the quotes.
std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  constexpr std::string_view letters = "bfnrt", controls = "\b\f\n\r\t";
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char kind = text[1];
    if (kind != 'u') {
      const std::size_t control = letters.find(kind);
      out += control == letters.npos ? kind : controls[control];
      text.remove_prefix(2);
      continue;
    }
    std::uint32_t point = *hex4(text.substr(2, 4));
    text.remove_prefix(6);
    if (is_high_surrogate(point)) {
      point = 0x10000 + ((point - 0xD800) << 10) + (*hex4(text.substr(2, 4)) - 0xDC00);
      text.remove_prefix(6);
    }
    append_utf8(out, point);
  }
  return out;
}

// Returns the length of the well-formed UTF-8 sequence that `text` begins with (RFC 3629 section
// 4), or 0 if there is none.
std::size_t utf8_sequence(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const auto continues = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from) {
      if (byte(from) >> 6 != 2) return false;
    }
    return true;
  };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return continues(1, 2) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    const bool is_overlong = lead == 0xE0 && second < 0xA0;
    const bool is_surrogate = lead == 0xED && second >= 0xA0;
    return continues(1, 3) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    const bool is_overlong = lead == 0xF0 && second < 0x90;
    const bool is_too_large = lead == 0xF4 && second >= 0x90;
    return continues(1, 4) && !is_overlong && !is_too_large ? 4 : 0;
  }
  return 0;
}

// ASCII bytes that may stand unescaped in a string and do not end it.
constexpr auto ordinary_bytes = [] {
  std::array<bool, 256> ordinary{};
  for (int byte = 0x20; byte < 0x80; ++byte) ordinary[byte] = byte != '"' && byte != '\\';
  return ordinary;
}();

}  // namespace

// A recursive-descent reader. It writes what it has read back without whitespace; the write
// position never passes the read position.
class JsonReader {
 public:
  JsonReader(JsonText& json, const JsonLimits& limits) : json_(json), limits_(limits) {}

  std::optional<JsonFault> read() {
    if (value(0)) {
      skip_blanks();
      if (read_ == json_.text_.size()) {
        json_.text_.resize(write_);
        return std::nullopt;
      }
      fault_ = JsonFault::syntax;
    }
    return fault_;
  }

 private:
  using Node = JsonText::Node;

  bool fail(JsonFault fault) noexcept {
    fault_ = fault;
    return false;
  }

  [[nodiscard]] char peek() const noexcept {
    return read_ < json_.text_.size() ? json_.text_[read_] : '\0';
  }

  void skip_blanks() noexcept {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++read_;
  }

  // Copies the text from the read position up to `end` to the write position.
  void take(std::size_t end) noexcept {
    char* const text = json_.text_.data();
    if (read_ != write_) std::copy(text + read_, text + end, text + write_);
    write_ += end - read_;
    read_ = end;
  }

  // Skips whitespace and takes `c` if it comes next.
  bool take_char(char c) noexcept {
    skip_blanks();
    if (peek() != c) return false;
    take(read_ + 1);
    return true;
  }

  // Adds a value that begins here and returns its index, or nullopt beyond the limit.
  std::optional<std::uint32_t> open(JsonKind kind) {
    if (json_.nodes_.size() == limits_.values) {
      fault_ = JsonFault::too_many;
      return std::nullopt;
    }
    const auto index = static_cast<std::uint32_t>(json_.nodes_.size());
    json_.nodes_.push_back({static_cast<std::uint32_t>(write_), 0, index + 1, kind, false});
    return index;
  }

  void close(std::uint32_t index) noexcept {
    json_.nodes_[index].end = static_cast<std::uint32_t>(write_);
    json_.nodes_[index].next = static_cast<std::uint32_t>(json_.nodes_.size());
  }

  bool value(int depth) {
    skip_blanks();
    switch (peek()) {
      case '{':
      case '[':
        return depth == limits_.depth ? fail(JsonFault::too_deep) : container(depth + 1);
      case '"':
        return string();
      case 't':
        return word(JsonKind::boolean, "true");
      case 'f':
        return word(JsonKind::boolean, "false");
      case 'n':
        return word(JsonKind::null, "null");
      default:
        return number();
    }
  }

  bool container(int depth) {
    const bool is_object = peek() == '{';
    const auto index = open(is_object ? JsonKind::object : JsonKind::array);
    if (!index) return false;
    take(read_ + 1);
    const char end = is_object ? '}' : ']';
    if (!take_char(end)) {
      std::size_t members = 0;
      do {
        if (is_object && !name(*index, members++)) return false;
        if (!value(depth)) return false;
      } while (take_char(','));
      if (!take_char(end)) return fail(JsonFault::syntax);
    }
    close(*index);
    return true;
  }

  // Reads the name of a member of `object` and its colon.
  bool name(std::uint32_t object, std::size_t members_before) {
    if (members_before == limits_.members) return fail(JsonFault::too_many);
    skip_blanks();
    const auto added = static_cast<std::uint32_t>(json_.nodes_.size());
    if (peek() != '"') return fail(JsonFault::syntax);
    if (!string()) return false;
    for (std::uint32_t earlier = object + 1; earlier != added;
         earlier = json_.nodes_[earlier + 1].next) {
      if (is_same_name(earlier, added)) return fail(JsonFault::repeated_name);
    }
    return take_char(':') || fail(JsonFault::syntax);
  }

  [[nodiscard]] bool is_same_name(std::uint32_t left, std::uint32_t right) const {
    const auto content = [&](const Node& node) {
      return std::string_view(json_.text_).substr(node.begin + 1, node.end - node.begin - 2);
    };
    const Node &a = json_.nodes_[left], &b = json_.nodes_[right];
    if (!a.has_escapes && !b.has_escapes) return content(a) == content(b);
    return unescape(content(a)) == unescape(content(b));
  }

  bool string() {
    const auto index = open(JsonKind::string);
    if (!index) return false;
    const std::string_view text = json_.text_;
    std::size_t at = read_ + 1;
    for (;;) {
      while (at < text.size() && ordinary_bytes[static_cast<unsigned char>(text[at])]) ++at;
      if (at == text.size() || static_cast<unsigned char>(text[at]) < 0x20) {
        return fail(JsonFault::syntax);
      }
      if (text[at] == '"') break;
      const bool is_escape = text[at] == '\\';
      const std::size_t bytes =
          is_escape ? escape_sequence(text.substr(at)) : utf8_sequence(text.substr(at));
      if (bytes == 0) return fail(is_escape ? JsonFault::syntax : JsonFault::not_utf8);
      json_.nodes_[*index].has_escapes |= is_escape;
      at += bytes;
    }
    take(at + 1);
    close(*index);
    return true;
  }

  // Returns the length of the escape that `text` begins with, or 0 if there is none. A surrogate
  // pair is one escape.
  static std::size_t escape_sequence(std::string_view text) noexcept {
    if (text.size() < 2) return 0;
    constexpr std::string_view short_forms = "\"\\/bfnrt";
    if (text[1] != 'u') return short_forms.find(text[1]) == short_forms.npos ? 0 : 2;
    const auto unit = hex4(text.substr(2, 4));
    if (!unit || is_low_surrogate(*unit)) return 0;
    if (!is_high_surrogate(*unit)) return 6;
    const std::string_view second = text.substr(6, 6);
    if (!second.starts_with("\\u")) return 0;
    const auto low = hex4(second.substr(2));
    return low && is_low_surrogate(*low) ? 12 : 0;
  }

  bool word(JsonKind kind, std::string_view text) {
    if (std::string_view(json_.text_).substr(read_, text.size()) != text) {
      return fail(JsonFault::syntax);
    }
    return scalar(kind, read_ + text.size());
  }

  bool number() {
    const std::string_view text = json_.text_;
    std::size_t at = read_;
    const auto digits = [&] {
      const std::size_t from = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return at - from;
    };
    const auto skip = [&](std::string_view any_of) {
      const bool is_there = at < text.size() && any_of.find(text[at]) != any_of.npos;
      at += is_there ? 1 : 0;
      return is_there;
    };
    skip("-");
    if (!skip("0") && digits() == 0) return fail(JsonFault::syntax);
    if (skip(".") && digits() == 0) return fail(JsonFault::syntax);
    if (skip("eE")) {
      skip("+-");
      if (digits() == 0) return fail(JsonFault::syntax);
    }
    return scalar(JsonKind::number, at);
  }

  bool scalar(JsonKind kind, std::size_t end) {
    const auto index = open(kind);
    if (!index) return false;
    take(end);
    close(*index);
    return true;
  }

  JsonText& json_;
  const JsonLimits& limits_;
  std::size_t read_ = 0;
  std::size_t write_ = 0;
  JsonFault fault_ = JsonFault::syntax;
};

Result<JsonText, JsonFault> JsonText::parse(std::string text, const JsonLimits& limits) {
  JsonText json;
  json.text_ = std::move(text);
  if (json.text_.size() > std::numeric_limits<std::uint32_t>::max()) return JsonFault::too_many;
  // In what clients send, a value takes about twenty bytes.
  json.nodes_.reserve(std::min(limits.values, json.text_.size() / 16 + 8));
  if (const auto fault = JsonReader(json, limits).read()) return *fault;
  return json;
}

JsonKind JsonValue::kind() const noexcept {
  return json_ == nullptr ? JsonKind::absent : json_->nodes_[index_].kind;
}

std::string_view JsonValue::text() const noexcept {
  if (json_ == nullptr) return {};
  const JsonText::Node& node = json_->nodes_[index_];
  return std::string_view(json_->text_).substr(node.begin, node.end - node.begin);
}

JsonValue JsonValue::operator[](std::string_view name) const noexcept {
  if (!is(JsonKind::object)) return {};
  for (const Member member : *this) {
    if (member.name.equals(name)) return member.value;
  }
  return {};
}

std::string_view JsonValue::plain() const noexcept {
  if (!is(JsonKind::string) || json_->nodes_[index_].has_escapes) return {};
  return text().substr(1, text().size() - 2);
}

std::string JsonValue::string() const {
  if (!is(JsonKind::string)) return {};
  if (!json_->nodes_[index_].has_escapes) return std::string(plain());
  return unescape(text().substr(1, text().size() - 2));
}

bool JsonValue::equals(std::string_view content) const {
  if (!is(JsonKind::string)) return false;
  return json_->nodes_[index_].has_escapes ? string() == content : plain() == content;
}

std::optional<std::uint64_t> JsonValue::natural() const noexcept {
  return is(JsonKind::number) ? parse_uint64(text()) : std::nullopt;
}

std::optional<double> JsonValue::number() const noexcept {
  if (!is(JsonKind::number)) return std::nullopt;
  double value = 0;
  const std::string_view digits = text();
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // from_chars does not say whether the value is too large or too small.
    const bool is_small = digits.find("e-") != digits.npos || digits.find("E-") != digits.npos;
    value = is_small ? 0 : std::numeric_limits<double>::infinity();
    if (digits[0] == '-') value = -value;
  }
  return value;
}

JsonValue::Iterator JsonValue::begin() const noexcept {
  const bool has_children = is(JsonKind::array) || is(JsonKind::object);
  return has_children ? Iterator(json_, index_ + 1, is(JsonKind::object)) : end();
}

JsonValue::Iterator JsonValue::end() const noexcept {
  const std::uint32_t next = json_ == nullptr ? 0 : json_->nodes_[index_].next;
  return {json_, next, is(JsonKind::object)};
}

JsonValue::Member JsonValue::Iterator::operator*() const noexcept {
  if (!is_object_) return {{}, {json_, index_}};
  return {{json_, index_}, {json_, index_ + 1}};
}

JsonValue::Iterator& JsonValue::Iterator::operator++() noexcept {
  index_ = json_->nodes_[is_object_ ? index_ + 1 : index_].next;
  return *this;
}

bool json_equal(JsonValue left, JsonValue right) {
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case JsonKind::number:
      return left.text() == right.text() || left.number() == right.number();
    case JsonKind::string:
      return left.text() == right.text() || left.string() == right.string();
    case JsonKind::array:
      return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                        [](auto a, auto b) { return json_equal(a.value, b.value); });
    case JsonKind::object: {
      if (std::distance(left.begin(), left.end()) != std::distance(right.begin(), right.end())) {
        return false;
      }
      return std::all_of(left.begin(), left.end(), [&](auto member) {
        return json_equal(member.value, right[member.name.string()]);
      });
    }
    default:
      return left.text() == right.text();
  }
}

void append_json_string(std::string& out, std::string_view value) {
  constexpr std::string_view controls = "\b\f\n\r\t\"\\", letters = "bfnrt\"\\";
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  for (const char c : value) {
    const std::size_t known = controls.find(c);
    if (known != controls.npos) {
      out += '\\';
      out += letters[known];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").append({digits[c >> 4], digits[c & 15]});
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace turnpike::x402
