// Targets and URLs: a split neither loses nor adds bytes, and a valid path or query has only
// characters that RFC 3986 allows.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/check.h"
#include "text/uri.h"
#include "wire/address.h"
#include "wire/target.h"

using turnpike::fuzz::check;
using turnpike::fuzz::lies_in;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::wire;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = split_target(text); target && target->form == TargetForm::origin) {
    std::string joined(target->path);
    if (target->has_query) joined.append("?").append(target->query);
    check(joined == text);
  } else if (target && target->form == TargetForm::absolute) {
    check(lies_in(target->authority, text) && is_valid_authority(target->authority));
    check(lies_in(target->query, text) && target->path.front() == '/');
  }
  for (const auto fault_of : {turnpike::text::query_fault, turnpike::text::path_fault}) {
    if (fault_of(text) != text.npos) continue;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      check(byte > 0x20 && byte < 0x7F && byte != '#' && byte != '<' && byte != '"');
      if (byte == '%') check(at + 2 < text.size() && std::isxdigit(text[at + 1]));
    }
  }
  if (const auto url = parse_upstream_url(text)) {
    check(lies_in(url->authority, text) && lies_in(url->host, url->authority));
    check(url->port != 0 && !url->host.empty() && url->target.front() == '/');
    check(url->target.find_first_of(std::string_view(" \r\n#\0", 5)) == std::string_view::npos);
  }
  return 0;
}
