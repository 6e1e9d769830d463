#include "stripe/form.h"

namespace turnpike::stripe {
namespace {

// RFC 3986, section 2.3.
bool is_unreserved(char each) noexcept {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9') || each == '-' || each == '.' || each == '_' || each == '~';
}

// A blank becomes %20, which means a blank both in forms and in queries. A '+' does not.
void append_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char each : text) {
    if (is_unreserved(each)) {
      out += each;
      continue;
    }
    const auto byte = static_cast<unsigned char>(each);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 0x0F];
  }
}

}  // namespace

Form& Form::add(std::string_view name, std::string_view value) {
  if (!text_.empty()) text_ += '&';
  append_encoded(text_, name);
  text_ += '=';
  append_encoded(text_, value);
  return *this;
}

Form& Form::add(std::string_view name, std::int64_t value) {
  return add(name, std::string_view(std::to_string(value)));
}

Form& Form::add_if_any(std::string_view name, std::string_view value) {
  return value.empty() ? *this : add(name, value);
}

}  // namespace turnpike::stripe
