// Arbitrary bytes: a pointer, a newline and a JSON text. point() must agree with a walk of the
// parsed document. The library may reject more only because of numbers that it cannot hold.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "fuzz/check.h"
#include "text/json_pointer.h"

using turnpike::fuzz::check;

namespace {

using turnpike::text::Pointed;

Pointed slow_point(const nlohmann::json& document, const turnpike::text::JsonPointer& pointer) {
  const nlohmann::json* at = &document;
  for (const auto& token : pointer.tokens()) {
    if (at->is_object() && at->contains(token.name)) {
      at = &at->at(token.name);
    } else if (at->is_array() && token.index && *token.index < at->size()) {
      at = &at->at(*token.index);
    } else {
      return Pointed::missing;
    }
  }
  if (at->is_null()) return Pointed::null;
  return at->is_array() && at->empty() ? Pointed::empty_list : Pointed::other;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  if (end == all.npos) return 0;
  const auto pointer = turnpike::text::JsonPointer::parse(all.substr(0, end));
  if (!pointer) return 0;
  const std::string_view text = all.substr(end + 1);
  const Pointed found = turnpike::text::point(text, *pointer);
  // The library skips a byte order mark and treats a NUL as the end.
  if (text.starts_with("\xEF\xBB\xBF") || text.find('\0') != text.npos) return 0;
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return 0;
  // Everything that the library reads must be readable here, except what is nested too deeply.
  if (found != Pointed::malformed) check(found == slow_point(document, *pointer));
  check(found != Pointed::malformed || text.size() > turnpike::text::json_depth_max);
  return 0;
}
