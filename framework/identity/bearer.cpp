#include "identity/bearer.h"

#include <algorithm>

namespace turnpike::identity {
namespace {

bool is_one_of(char c, std::string_view marks) noexcept {
  const bool is_alphanumeric =
      (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return is_alphanumeric || marks.find(c) != marks.npos;
}

bool is_token68(std::string_view text) noexcept {
  const std::size_t end = std::min(text.find('='), text.size());
  const std::string_view padding = text.substr(end);
  text = text.substr(0, end);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_one_of(c, "-._~+/"); }) &&
         std::all_of(padding.begin(), padding.end(), [](char c) { return c == '='; });
}

// An authentication scheme's name: a token of RFC 9110.
bool is_scheme(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return is_one_of(c, "!#$%&'*+-.^_`|~"); });
}

}  // namespace

void Bearer::take(std::string_view field_value) noexcept {
  token = {};
  if (form != Authorization::none) {
    form = Authorization::repeated;
    return;
  }
  form = Authorization::malformed;
  const std::size_t blank = std::min(field_value.find(' '), field_value.size());
  const std::string_view scheme = field_value.substr(0, blank);
  if (!is_scheme(scheme)) return;
  if (!same_header_name(scheme, "bearer")) {  // compared as ASCII without case
    form = Authorization::other_scheme;
    return;
  }
  field_value.remove_prefix(blank);
  field_value.remove_prefix(std::min(field_value.find_first_not_of(' '), field_value.size()));
  if (!is_token68(field_value)) return;
  form = Authorization::bearer;
  token = field_value;
}

Bearer read_bearer(Headers headers) noexcept {
  Bearer bearer;
  for (const HeaderField& field : headers) {
    if (same_header_name(field.name, "authorization")) bearer.take(field.value);
  }
  return bearer;
}

}  // namespace turnpike::identity
