// Arbitrary cookies: a value that is found can be sent in a header field unchanged, and a cookie
// that is set has exactly its own attributes, whatever its value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "hosts/cookie.h"
#include "text/uri.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;

const hosts::Cookie cookie({.name = "__Host-s"});
constexpr std::string_view attributes = "; Path=/; Secure; HttpOnly; SameSite=Lax";

void check_read(std::string_view field_value) {
  const HeaderField fields[] = {{"Cookie", field_value}};
  const auto found = cookie.read(fields);
  if (!found.ok() || !*found) return;
  const std::string_view value = **found;
  check(std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 0x7F; }));
  check(value.find_first_of("\",;\\") == value.npos);
  check(field_value.find("__Host-s=" + std::string(value)) != field_value.npos);
}

void check_set(std::string_view value) {
  const std::string set = cookie.set(value);
  check(set.ends_with(attributes));
  const std::string pair = set.substr(0, set.size() - attributes.size());
  check(pair.find(';') == pair.npos);
  // The field as a browser sends it.
  const std::string field = "a=1; " + pair + "; b=2";
  const HeaderField fields[] = {{"Cookie", field}};
  const auto found = cookie.read(fields);
  check(found.ok() && *found);
  check(text::percent_decoded(**found) == value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_read(bytes);
  check_read("__Host-s=" + std::string(bytes));
  check_set(bytes);
  return 0;
}
