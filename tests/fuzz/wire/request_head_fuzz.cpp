// Request heads: the verdict does not depend on how the bytes are split into packets or on how the
// buffer moves, every view lies in the buffer, and an accepted head has one meaning.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "fuzz/check.h"
#include "wire/request_parser.h"

using turnpike::fuzz::check;
using turnpike::fuzz::lies_in;

namespace turnpike::wire {
namespace {

constexpr HeadBounds head_bounds{256, 512, 1024, 16};

struct Parsed {
  ParseStep step;
  std::string text;  // the parsed head
};

Parsed parse(std::string_view bytes, std::size_t packet_bytes) {
  std::vector<HeaderField> fields;
  RequestParser parser(head_bounds, fields);
  ParseStep step = ParseStep::need_more;
  std::unique_ptr<char[]> buffer;
  std::size_t size = 0;
  while (step == ParseStep::need_more && size < bytes.size()) {
    size = std::min(bytes.size(), size + packet_bytes);
    std::unique_ptr<char[]> moved(new char[size]);
    std::memcpy(moved.get(), bytes.data(), size);
    buffer = std::move(moved);  // the parser must follow
    step = parser.parse_head(buffer.get(), size);
  }
  if (step != ParseStep::complete) return {step, {}};
  const std::string_view whole(buffer.get(), size);
  check(parser.head_bytes() <= size);
  check(whole.substr(0, parser.head_bytes()).ends_with("\r\n\r\n"));
  check(!(parser.is_chunked() && parser.body_length() != 0));
  check(parser.target().path.size() <= head_bounds.path_bytes_max);
  check(parser.target().query.size() <= head_bounds.query_bytes_max);
  check(fields.size() <= head_bounds.header_fields_max);
  std::string text(parser.method());
  text.append(" ").append(parser.target().path).append("?").append(parser.target().query);
  for (const HeaderField& field : fields) {
    check(lies_in(field.name, whole) && lies_in(field.value, whole));
    check(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
    text.append("\n").append(field.name).append(":").append(field.value);
  }
  text += parser.is_chunked() ? "\nchunked" : "\n" + std::to_string(parser.body_length());
  text += std::to_string(parser.head_bytes());
  return {step, std::move(text)};
}

}  // namespace
}  // namespace turnpike::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::wire;
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Parsed at_once = parse(bytes, bytes.size());
  const Parsed in_packets = parse(bytes, 1u + data[0] % 64u);
  check((at_once.step == ParseStep::complete) == (in_packets.step == ParseStep::complete));
  check(at_once.text == in_packets.text);
  // In packets, a refusal may come later or with another reason, but it must come.
  if (at_once.step == ParseStep::refused) check(in_packets.step != ParseStep::complete);
  return 0;
}
