// RowText: appends one row of a JSON array, `{"key":value,...},`, to a reused text buffer. Batches
// go to the database as such arrays; a JSON library would take longer to build them than the
// database to read them. Keys are one letter each. Texts must be UTF-8 if the database reads them
// as such.
//
// Lives on the stack while its row is written. Private to storage/.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::storage {

class RowText {
 public:
  explicit RowText(std::string& out) : out_(out), start_(out.size()) {}
  void add(char key, std::int64_t value) {
    begin(key);
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, end);
  }
  void add(char key, std::string_view text) {
    begin(key);
    out_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        out_ += "\\u00";
        out_ += digits[c >> 4];
        out_ += digits[c & 15];
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }
  ~RowText() {
    out_[start_] = '{';
    out_ += "},";
  }

 private:
  void begin(char key) {
    out_ += ",\"";
    out_ += key;
    out_ += "\":";
  }
  std::string& out_;
  const std::size_t start_;
};

// Call after the last row of an array that began with "[".
inline void close_array(std::string& out) {
  if (out.size() > 1) out.pop_back();  // the trailing comma
  out += ']';
}

}  // namespace turnpike::storage
