#include "base/log_line.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "text/canonical_json.h"

namespace turnpike::base {
namespace {

constexpr std::size_t escaped_bytes_max = 6;  // \u00XX
constexpr std::size_t number_bytes_max = 20;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
// Size of braces, time and severity, with reserve.
constexpr std::size_t fixed_bytes = 96;

constexpr std::uint64_t in_each_byte(unsigned char byte) noexcept {
  return 0x0101010101010101ull * byte;
}

// True if one of eight bytes needs escaping or a check: a quote, a backslash, a control character,
// or a byte beyond ASCII. False positives are possible.
constexpr bool needs_care(std::uint64_t word) noexcept {
  const auto has_zero = [](std::uint64_t bytes) { return (bytes - in_each_byte(1)) & ~bytes; };
  const std::uint64_t found = word | ((word - in_each_byte(0x20)) & ~word) |
                              has_zero(word ^ in_each_byte('"')) |
                              has_zero(word ^ in_each_byte('\\'));
  return (found & in_each_byte(0x80)) != 0;
}

std::uint64_t word_at(const char* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, word_bytes);
  return word;
}

char* put(char* to, std::string_view text) noexcept {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// Keys are short: a few words are copied faster than by a call of memcpy.
char* put_key(char* to, std::string_view key) noexcept {
  std::size_t at = 0;
  for (; key.size() - at >= word_bytes; at += word_bytes) {
    const std::uint64_t word = word_at(key.data() + at);
    std::memcpy(to + at, &word, word_bytes);
  }
  for (; at < key.size(); ++at) to[at] = key[at];
  return to + key.size();
}

// Callers choose the bytes of paths: a text that is not UTF-8 is escaped byte by byte, since an
// invalid JSON line is lost to readers of the log. `from`: the first byte that needs the check.
char* put_with_care(char* to, std::string_view text, std::size_t from) noexcept {
  constexpr char digits[] = "0123456789abcdef";
  std::optional<bool> is_valid;  // computed at the first byte beyond ASCII
  for (std::size_t at = from; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    bool is_plain = byte >= 0x20;
    if (byte >= 0x80) {
      if (!is_valid) is_valid = text::is_utf8(text);
      is_plain = *is_valid;
    }
    if (byte == '"' || byte == '\\') {
      *to++ = '\\';
      *to++ = text[at];
    } else if (is_plain) {
      *to++ = text[at];
    } else {
      to = put(to, "\\u00");
      *to++ = digits[byte >> 4];
      *to++ = digits[byte & 15];
    }
  }
  return to;
}

// Fewer than eight bytes, as most keys and many values: two overlapping halves make a word.
char* put_short_text(char* to, std::string_view text) noexcept {
  constexpr std::size_t half_bytes = word_bytes / 2;
  if (text.size() < half_bytes) return put_with_care(to, text, 0);
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  const std::size_t last_at = text.size() - half_bytes;
  std::memcpy(&first, text.data(), half_bytes);
  std::memcpy(&last, text.data() + last_at, half_bytes);
  if (needs_care(std::uint64_t{last} << 32 | first)) return put_with_care(to, text, 0);
  std::memcpy(to, &first, half_bytes);
  std::memcpy(to + last_at, &last, half_bytes);
  return to + text.size();
}

// Copies eight bytes at a time while none needs escaping, as almost always.
char* put_text(char* to, std::string_view text) noexcept {
  if (text.size() < word_bytes) return put_short_text(to, text);
  std::size_t at = 0;
  for (; text.size() - at >= word_bytes; at += word_bytes) {
    const std::uint64_t word = word_at(text.data() + at);
    if (needs_care(word)) return put_with_care(to, text, at);
    std::memcpy(to, &word, word_bytes);
    to += word_bytes;
  }
  if (at == text.size()) return to;
  // The last eight bytes, some of them for the second time.
  const std::uint64_t word = word_at(text.data() + text.size() - word_bytes);
  if (needs_care(word)) return put_with_care(to, text, at);
  to += text.size() - at;
  std::memcpy(to - word_bytes, &word, word_bytes);
  return to;
}

char* put_quoted(char* to, std::string_view text) noexcept {
  *to++ = '"';
  to = put_text(to, text);
  *to++ = '"';
  return to;
}

}  // namespace

std::size_t log_line_bytes_max(std::string_view event, std::span<const LogField> fields) noexcept {
  std::size_t bytes = fixed_bytes + escaped_bytes_max * event.size();
  for (const LogField& field : fields) {
    constexpr std::size_t marks = sizeof(R"(,"":"")");
    const auto* text = std::get_if<std::string_view>(&field.value);
    bytes += marks + field.key.text().size() +
             (text == nullptr ? number_bytes_max : escaped_bytes_max * text->size());
  }
  return bytes;
}

char* render_log_line(char* to, std::string_view time, Severity severity, std::string_view event,
                      std::span<const LogField> fields) noexcept {
  to = put(to, R"({"time":")");
  to = put(to, time.substr(0, log_time_bytes));
  to = put(to, R"(","severity":")");
  to = put(to, name_of(severity));
  to = put(to, R"(","event":)");
  to = put_quoted(to, event);
  for (const LogField& field : fields) {
    const auto* const text = std::get_if<std::string_view>(&field.value);
    if (text != nullptr && text->empty()) continue;
    to = put(to, R"(,")");
    to = put_key(to, field.key.text());
    to = put(to, R"(":)");
    if (text != nullptr) {
      to = put_quoted(to, *text);
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      to = std::to_chars(to, to + number_bytes_max, *number).ptr;
    } else {
      to = put(to, std::get<bool>(field.value) ? "true" : "false");
    }
  }
  *to++ = '}';
  return to;
}

std::string render_log_line(std::string_view time, Severity severity, std::string_view event,
                            std::initializer_list<LogField> fields) {
  const std::span<const LogField> all(fields.begin(), fields.size());
  std::string line(log_line_bytes_max(event, all), '\0');
  const char* const end = render_log_line(line.data(), time, severity, event, all);
  line.resize(static_cast<std::size_t>(end - line.data()));
  return line;
}

}  // namespace turnpike::base
