#include "hosts/mcp/answer.h"

#include "text/canonical_json.h"

namespace turnpike::hosts::mcp {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Media types are compared as case-insensitive ASCII, like names of header fields.
bool is_same_type(std::string_view one, std::string_view other) noexcept {
  return same_header_name(one, other);
}

// "q=0", "q=0.000": not acceptable (RFC 9110 section 12.4.2).
bool is_refused(std::string_view parameters) noexcept {
  while (!parameters.empty()) {
    const std::size_t end = std::min(parameters.find(';'), parameters.size());
    const std::string_view one = trimmed(parameters.substr(0, end));
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    if (one.size() < 3 || (one[0] != 'q' && one[0] != 'Q') || one[1] != '=') continue;
    return one.substr(2).find_first_not_of("0.") == one.npos;
  }
  return false;
}

struct Accepted {
  bool json = false;
  bool stream = false;
};

// Reads one Accept field; several fields form one list (RFC 9110 section 5.2).
void read_accept(std::string_view accept, Accepted& accepted) noexcept {
  while (!accept.empty()) {
    const std::size_t end = std::min(accept.find(','), accept.size());
    const std::string_view one = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    const std::size_t type_end = std::min(one.find(';'), one.size());
    const std::string_view type = trimmed(one.substr(0, type_end));
    if (is_refused(one.substr(type_end))) continue;
    accepted.json |= is_same_type(type, "application/json") ||
                     is_same_type(type, "application/*") || type == "*/*";
    accepted.stream |= is_same_type(type, "text/event-stream");
  }
}

Accepted read_accept(Headers headers) noexcept {
  Accepted accepted;
  for (const HeaderField& field : headers) {
    if (same_header_name(field.name, "accept")) read_accept(field.value, accepted);
  }
  return accepted;
}

}  // namespace

std::string server_info_object(const ServiceName& service, std::string_view version) {
  std::string object = R"({"name":)";
  text::append_canonical_string(object, service.slug());
  text::append_canonical_string(object.append(R"(,"title":)"), service.name);
  text::append_canonical_string(object.append(R"(,"version":)"), version);
  return object += '}';
}

std::string result_text(std::string_view id, Era era, const RpcResult& result,
                        std::string_view server_info) {
  const std::string_view members = result.kept != nullptr ? *result.kept : result.members;
  std::string out;
  out.reserve(members.size() + result.meta.size() + server_info.size() + id.size() + 160);
  out.append(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"result":{)");
  bool is_first = true;
  const auto next = [&] {
    if (!is_first) out += ',';
    is_first = false;
  };
  if (era == Era::modern && result.is_complete) {
    next();
    out += R"("resultType":"complete")";
  }
  if (!members.empty()) {
    next();
    out += members;
  }
  if (era == Era::modern && result.ttl_ms) {
    next();
    out += R"("ttlMs":)";
    text::append_canonical_integer(out, *result.ttl_ms);
    out += R"(,"cacheScope":"public")";
  }
  const bool shows_server = era == Era::modern;
  if (shows_server || !result.meta.empty()) {
    next();
    out += R"("_meta":{)";
    if (shows_server) {
      out.append(R"("io.modelcontextprotocol/serverInfo":)").append(server_info);
    }
    if (shows_server && !result.meta.empty()) out += ',';
    out.append(result.meta).append("}");
  }
  return out += "}}";
}

std::string as_event(std::string_view json) {
  std::string event = "event: message\ndata: ";
  event.reserve(json.size() + 32);
  for (const char c : json) {
    // Line ends between the JSON tokens of a forwarded body become blanks, since a line end would
    // end the event.
    event += c == '\n' || c == '\r' ? ' ' : c;
  }
  return event += "\n\n";
}

bool wants_event_stream(Headers headers) noexcept {
  const Accepted accepted = read_accept(headers);
  return accepted.stream && !accepted.json;
}

bool takes_event_stream(Headers headers) noexcept { return read_accept(headers).stream; }

RpcResult tool_result(std::string_view structured, bool is_error) {
  return tool_result(structured, is_error, structured);
}

RpcResult tool_result(std::string_view structured, bool is_error, std::string_view text) {
  RpcResult result;
  result.members.reserve(structured.size() + text.size() * 3 / 2 + 96);
  result.members = R"("content":[{"type":"text","text":)";
  text::append_canonical_string(result.members, text);
  result.members.append(R"(}],"structuredContent":)").append(structured);
  result.members += is_error ? R"(,"isError":true)" : R"(,"isError":false)";
  return result;
}

RpcResult text_result(std::string_view text, bool is_error) {
  RpcResult result;
  result.members = R"("content":[{"type":"text","text":)";
  text::append_canonical_string(result.members, text);
  result.members += is_error ? R"(}],"isError":true)" : R"(}],"isError":false)";
  return result;
}

}  // namespace turnpike::hosts::mcp
