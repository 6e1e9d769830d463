#include "identity/name.h"

#include "text/canonical_json.h"

namespace turnpike::identity {
namespace {

constexpr std::size_t name_bytes_max = 200;

}  // namespace

std::optional<base::Error> fault_in_name(std::string_view name) {
  bool is_printable = !name.empty() && name.size() <= name_bytes_max;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) is_printable = false;
  }
  if (is_printable && text::is_utf8(name)) return std::nullopt;
  return base::Error{base::ErrorCode::request_malformed,
                     "A name must be 1 to 200 bytes of UTF-8, without control characters."};
}

}  // namespace turnpike::identity
