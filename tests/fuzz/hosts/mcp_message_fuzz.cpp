// An arbitrary MCP message and the headers that mirror it: the first line has the header values,
// separated by tabs, the rest is the body. Accepted messages are within their bounds; every answer
// is JSON.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.h"
#include "hosts/mcp/answer.h"
#include "hosts/mcp/envelope.h"
#include "hosts/mcp/json_rpc.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;
using namespace turnpike::hosts::mcp;

std::vector<HeaderField> read_headers(std::string_view line) {
  constexpr std::string_view names[] = {"mcp-protocol-version", "mcp-method", "mcp-name",
                                        "mcp-param-a"};
  std::vector<HeaderField> headers;
  for (const std::string_view name : names) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    if (end > 0) headers.push_back({name, line.substr(0, end)});
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return headers;
}

void check_error(std::string_view id, const RpcError& error) {
  const Json answer = Json::parse(error_text(id, error));
  check(answer["error"]["code"].is_number_integer() && !error.message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const auto headers = read_headers(bytes.substr(0, line));
  const std::string_view body = bytes.substr(std::min(line + 1, bytes.size()));
  for (const HeaderField& field : headers) (void)decode_header_value(field.value);
  (void)wants_event_stream(headers);
  const auto message = read_message(body);
  if (!message.ok()) {
    check_error({}, message.error());
    return 0;
  }
  const auto era = read_envelope(*message, headers);
  if (!era.ok()) {
    check_error(message->id, era.error());
    return 0;
  }
  check(message->params.is_object());
  const std::vector<MirroredArgument> mirrored = {{"A", {"a"}}};
  if (const auto wrong = check_mirrored(mirrored, message->params, headers)) {
    check_error(message->id, *wrong);
  }
  if (message->is_notification()) return 0;
  const RpcResult result = tool_result(text_of(message->params), false);
  const Json answer = Json::parse(result_text(message->id, *era, result, "{}"));
  check(answer["result"]["structuredContent"] == message->params);
  return 0;
}
