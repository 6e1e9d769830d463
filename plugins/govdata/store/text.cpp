#include "govdata/store/text.h"

#include <algorithm>

#include <utf8proc.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace turnpike::govdata {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool is_word_category(utf8proc_int32_t code_point) {
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

void append_code_point(std::string& text, std::int32_t code_point) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  if (!utf8proc_codepoint_valid(code_point) || code_point == 0) code_point = 0xFFFD;
  const auto length = utf8proc_encode_char(code_point, bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

// Appends the meaning of the entity that begins with the '&' at `at`; returns the position after
// it.
std::size_t append_entity(std::string& text, std::string_view html, std::size_t at) {
  constexpr std::size_t entity_bytes_max = 12;
  const std::size_t end = html.substr(at, entity_bytes_max).find(';');
  if (end == std::string_view::npos) {
    text += '&';
    return at + 1;
  }
  const std::string name(html.substr(at + 1, end - 1));
  if (name.size() > 1 && name[0] == '#') {
    const bool is_hex = name[1] == 'x' || name[1] == 'X';
    const long value = std::strtol(name.c_str() + (is_hex ? 2 : 1), nullptr, is_hex ? 16 : 10);
    append_code_point(text, static_cast<std::int32_t>(value));
    return at + end + 1;
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 13> named = {{
      {"amp", "&"},
      {"lt", "<"},
      {"gt", ">"},
      {"quot", "\""},
      {"apos", "'"},
      {"nbsp", " "},
      {"hellip", "…"},
      {"ndash", "–"},
      {"mdash", "—"},
      {"rsquo", "’"},
      {"lsquo", "‘"},
      {"ldquo", "“"},
      {"rdquo", "”"},
  }};
  for (const auto& [known, value] : named) {
    if (known != name) continue;
    text += value;
    return at + end + 1;
  }
  text += '&';
  return at + 1;
}

std::string collapsed(std::string_view text) {
  std::string line;
  bool pending_blank = false;
  for (const char c : text) {
    if (is_blank(c)) {
      pending_blank = !line.empty();
      continue;
    }
    if (pending_blank) line += ' ';
    pending_blank = false;
    line += c;
  }
  return line;
}

bool has_word(std::string_view text) {
  for (const char c : text) {
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
    if (is_word) return true;
  }
  return false;
}

}  // namespace

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if ((text[at] & 0x80) == 0) {
      ++at;
      continue;
    }
    utf8proc_int32_t code_point = 0;
    const auto length = utf8proc_iterate(
        bytes_of(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
    if (length <= 0) return false;
    at += static_cast<std::size_t>(length);
  }
  return true;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (text[bytes_max] & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

std::string_view cut_code_points(std::string_view text, std::size_t count) {
  std::size_t seen = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((text[at] & 0xC0) == 0x80) continue;
    if (seen++ == count) return text.substr(0, at);
  }
  return text;
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (c & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string normal_title(std::string_view title) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE |
                                                      UTF8PROC_COMPAT | UTF8PROC_CASEFOLD);
  const auto length =
      utf8proc_map(bytes_of(title), static_cast<utf8proc_ssize_t>(title.size()), &mapped, options);
  if (length < 0) return {};
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
  std::string normal;
  bool pending_blank = false;
  for (utf8proc_ssize_t at = 0; at < length;) {
    utf8proc_int32_t code_point = 0;
    const auto size = utf8proc_iterate(mapped + at, length - at, &code_point);
    if (size <= 0) break;
    if (is_word_category(code_point)) {
      if (pending_blank) normal += ' ';
      pending_blank = false;
      normal.append(reinterpret_cast<const char*>(mapped + at), static_cast<std::size_t>(size));
    } else {
      pending_blank = !normal.empty();
    }
    at += size;
  }
  return normal;
}

std::string text_of_html(std::string_view html) {
  std::string text;
  std::size_t at = 0;
  while (at < html.size()) {
    if (html[at] == '<') {
      const std::size_t close = html.find('>', at);
      if (close == std::string_view::npos) break;
      text += ' ';
      at = close + 1;
    } else if (html[at] == '&') {
      at = append_entity(text, html, at);
    } else {
      text += html[at++];
    }
  }
  return collapsed(text);
}

std::string one_line(std::string_view text, std::size_t count) {
  // Reads only so many bytes, which give `count` code points unless most of them are blanks.
  const std::string line = collapsed(cut_utf8(text, count * 8));
  if (code_points(line) <= count) return line;
  std::string_view cut = cut_code_points(line, count - 1);
  if (const std::size_t blank = cut.rfind(' '); blank != std::string_view::npos && blank > 0) {
    cut = cut.substr(0, blank);
  }
  return std::string(cut) + "…";
}

std::string title_of_markdown(std::string_view markdown) {
  constexpr std::size_t lines_read = 200;
  std::string first_line;
  for (std::size_t line_number = 0; line_number < lines_read && !markdown.empty(); ++line_number) {
    // Some Governors have the two characters "\n" in the place of a line break.
    const std::size_t real = std::min(markdown.find('\n'), markdown.size());
    const std::size_t written = std::min(markdown.find("\\n"), markdown.size());
    const std::size_t end = std::min(real, written);
    std::string_view line = trimmed(markdown.substr(0, end));
    markdown.remove_prefix(std::min(markdown.size(), end + (written < real ? 2 : 1)));
    if (!has_word(line)) continue;
    const bool is_heading = line[0] == '#';
    while (!line.empty() && line[0] == '#') line.remove_prefix(1);
    line = trimmed(line);
    if (is_heading && !line.empty()) return collapsed(line);
    if (first_line.empty()) first_line = collapsed(line);
  }
  return first_line;
}

std::vector<std::string> urls_in(std::string_view text, std::size_t count) {
  std::vector<std::string> urls;
  std::size_t at = 0;
  while (urls.size() < count && (at = text.find("http", at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at);
    if (rest.substr(0, 7) != "http://" && rest.substr(0, 8) != "https://") {
      at += 4;
      continue;
    }
    std::size_t end = rest.find_first_of(" \t\r\n<>\"'`)]}|\\^");
    if (end == std::string_view::npos) end = rest.size();
    std::string_view url = rest.substr(0, end);
    while (!url.empty() && std::string_view(".,;:!*_").find(url.back()) != std::string_view::npos) {
      url.remove_suffix(1);
    }
    constexpr std::size_t url_bytes_max = 2048;
    if (url.size() <= url_bytes_max) urls.emplace_back(url);
    at += std::max<std::size_t>(end, 4);
  }
  return urls;
}

bool is_dao_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

std::string minted_dao_id(std::string_view space) {
  std::string id = lower_ascii(space);
  std::replace(id.begin(), id.end(), '.', '-');
  return id;
}

}  // namespace turnpike::govdata
