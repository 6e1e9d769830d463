// Chunked bodies: the content and its end do not depend on how the bytes are split into packets,
// the content never exceeds its bound, and a simple reader of the grammar agrees.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "fuzz/check.h"
#include "wire/request_parser.h"

using turnpike::fuzz::check;

namespace turnpike::wire {
namespace {

constexpr HeadBounds chunk_bounds{256, 512, 1024, 16};
constexpr std::uint64_t content_max = 4096;
constexpr std::string_view head =
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Decoded {
  ParseStep step = ParseStep::need_more;
  std::string content;
  std::size_t used = 0;
};

Decoded decode(std::string_view bytes, std::size_t packet_bytes) {
  std::vector<HeaderField> fields;
  RequestParser parser(chunk_bounds, fields);
  check(parser.parse_head(head.data(), head.size()) == ParseStep::complete);
  Decoded outcome;
  std::string pending;
  std::size_t given = 0;
  while (outcome.step == ParseStep::need_more && given < bytes.size()) {
    const std::size_t packet = std::min(packet_bytes, bytes.size() - given);
    pending.append(bytes.substr(given, packet));
    given += packet;
    std::size_t taken = 0;
    outcome.step = parser.parse_chunks(pending, taken, &outcome.content, content_max);
    check(taken <= pending.size());
    pending.erase(0, taken);
    outcome.used += taken;
  }
  check(outcome.content.size() <= content_max);
  return outcome;
}

// A simple reader of bodies without extensions and trailers; nothing if the body has another form.
std::optional<Decoded> decode_plainly(std::string_view bytes) {
  Decoded outcome;
  for (;;) {
    const std::size_t end = bytes.find("\r\n", outcome.used);
    if (end == std::string_view::npos || end == outcome.used || end - outcome.used > 8) return {};
    std::size_t size = 0;
    for (const char c : bytes.substr(outcome.used, end - outcome.used)) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && !(c >= 'a' && c <= 'f')) return {};
      size = size * 16 + static_cast<std::size_t>(is_digit ? c - '0' : c - 'a' + 10);
    }
    if (outcome.content.size() + size > content_max || bytes.size() < end + 4 + size) return {};
    if (bytes.substr(end + 2 + size, 2) != "\r\n") return {};
    outcome.content.append(bytes.substr(end + 2, size));
    outcome.used = end + 4 + size;
    if (size == 0) return outcome;
  }
}

}  // namespace
}  // namespace turnpike::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::wire;
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Decoded at_once = decode(bytes, bytes.size());
  const Decoded in_packets = decode(bytes, 1u + data[0] % 32u);
  check((at_once.step == ParseStep::complete) == (in_packets.step == ParseStep::complete));
  if (at_once.step == ParseStep::complete) {
    check(at_once.content == in_packets.content && at_once.used == in_packets.used);
  }
  if (const auto plain = decode_plainly(bytes)) {
    check(at_once.step == ParseStep::complete);
    check(at_once.content == plain->content && at_once.used == plain->used);
  }
  return 0;
}
