// Replies of an upstream: the verdict, the fields and the content do not depend on how the bytes
// are split into packets; an accepted reply has a definite end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "fuzz/check.h"
#include "wire/reply_head.h"
#include "wire/reply_parser.h"
#include "wire/text_sink.h"

using turnpike::fuzz::check;
using turnpike::fuzz::lies_in;

namespace turnpike::wire {
namespace {

std::string parsed_text(std::string_view bytes, std::size_t packet_bytes) {
  std::vector<HeaderField> fields;
  ReplyParser parser(1024, fields);
  ParseStep step = ParseStep::need_more;
  std::unique_ptr<char[]> buffer;
  std::size_t size = 0;
  while (step == ParseStep::need_more && size < bytes.size()) {
    size = std::min(bytes.size(), size + packet_bytes);
    std::unique_ptr<char[]> moved(new char[size]);
    std::memcpy(moved.get(), bytes.data(), size);
    buffer = std::move(moved);
    step = parser.parse_head(buffer.get(), size);
  }
  if (step != ParseStep::complete) return "none";
  check(parser.status() >= 100 && parser.status() <= 599);
  check(!(parser.is_chunked() && parser.body_length() != 0));
  std::string text = std::to_string(parser.status());
  for (const HeaderField& field : fields) {
    check(lies_in(field.value, {buffer.get(), size}));
    text.append("\n").append(field.name).append(":").append(field.value);
  }
  text += std::to_string(parser.body_length());
  if (!parser.is_chunked() || has_no_body(parser.status())) return text;
  TextSink sink;
  std::string pending(bytes.substr(parser.head_bytes()));
  std::size_t taken = 0;
  step = pending.empty() ? ParseStep::need_more : parser.parse_chunks(pending, taken, sink, 4096);
  check(sink.text.size() <= 4096);
  return text + (step == ParseStep::complete ? sink.text : "cut");
}

}  // namespace
}  // namespace turnpike::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::wire;
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  check(parsed_text(bytes, bytes.size()) == parsed_text(bytes, 1u + data[0] % 64u));
  return 0;
}
