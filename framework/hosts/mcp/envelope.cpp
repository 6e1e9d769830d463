#include "hosts/mcp/envelope.h"

#include <algorithm>
#include <charconv>

#include "text/canonical_json.h"
#include "text/encoding.h"

namespace turnpike::hosts::mcp {
namespace {

constexpr std::string_view base64_begin = "=?base64?";
constexpr std::string_view base64_end = "?=";

RpcError refused(RpcCode code, std::string message) { return {code, std::move(message), 400}; }

RpcError mismatch(std::string_view header, std::string_view what) {
  return refused(RpcCode::header_mismatch,
                 "The header " + std::string(header) + " " + std::string(what) + ".");
}

RpcError unsupported(std::string_view requested) {
  RpcError error = refused(RpcCode::version_unsupported,
                           "This protocol version is not supported. Without `_meta`, the handshake "
                           "of 2025-11-25 and 2025-06-18 is answered.");
  error.data = {{"supported", Json::array({modern_version})}, {"requested", requested}};
  return error;
}

// Returns the only value of a header field; nullopt in the result: the field is absent.
Result<std::optional<std::string_view>, RpcError> header(Headers headers, std::string_view name) {
  std::optional<std::string_view> found;
  for (const HeaderField& field : headers) {
    if (!same_header_name(field.name, name)) continue;
    if (found) return mismatch(name, "comes more than once");
    found = field.value;
  }
  return found;
}

// Checks a header field that must repeat a value of the body.
std::optional<RpcError> check_mirror(Headers headers, std::string_view name,
                                     std::string_view expected) {
  const auto found = header(headers, name);
  if (!found.ok()) return found.error();
  if (!*found) return mismatch(name, "is missing");
  const auto value = decode_header_value(**found);
  if (!value) return mismatch(name, "is malformed");
  if (*value != expected) return mismatch(name, "says something else than the body");
  return std::nullopt;
}

// Returns the member of params that Mcp-Name mirrors; null for methods without one.
const char* named_by(std::string_view method) noexcept {
  if (method == "tools/call" || method == "prompts/get") return "name";
  return method == "resources/read" ? "uri" : nullptr;
}

std::optional<RpcError> check_modern_headers(const Message& message, Headers headers,
                                             std::string_view version) {
  if (auto wrong = check_mirror(headers, "mcp-protocol-version", version)) return wrong;
  if (auto wrong = check_mirror(headers, "mcp-method", message.method)) return wrong;
  const char* const member = named_by(message.method);
  const std::string* const name = member == nullptr ? nullptr : find_text(message.params, member);
  return name == nullptr ? std::nullopt : check_mirror(headers, "mcp-name", *name);
}

Result<Era, RpcError> read_modern(const Message& message, const Json& meta, Headers headers) {
  const std::string* const version = find_text(meta, version_key);
  if (version == nullptr) {
    return refused(RpcCode::invalid_params,
                   std::string("params._meta[\"") + version_key + "\"] must be a string.");
  }
  const Json* const capabilities = find(meta, capabilities_key);
  if (!message.is_notification() && (capabilities == nullptr || !capabilities->is_object())) {
    return refused(RpcCode::invalid_params, std::string("params._meta[\"") + capabilities_key +
                                                "\"] must be an object, {} for none.");
  }
  if (auto wrong = check_modern_headers(message, headers, *version)) return *std::move(wrong);
  if (*version != modern_version) return unsupported(*version);
  return Era::modern;
}

// Whether `text` is the number of the JSON: 42, 42.0 and 4.2e1 are equal. Integers are compared by
// digits, since a double cannot represent all of them.
bool is_same_number(const Json& number, std::string_view text) {
  if (number.is_number_integer() && text.find_first_of(".eE") == text.npos) {
    return text_of(number) == text;
  }
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc{} && end == text.data() + text.size() && value == number.get<double>();
}

bool says(const Json& argument, std::string_view text) {
  if (const auto* value = argument.get_ptr<const std::string*>()) return *value == text;
  if (argument.is_boolean()) return text == (argument.get<bool>() ? "true" : "false");
  return argument.is_number() && is_same_number(argument, text);
}

}  // namespace

std::optional<std::string> decode_header_value(std::string_view value) {
  if (value.starts_with(base64_begin) && value.ends_with(base64_end) &&
      value.size() >= base64_begin.size() + base64_end.size()) {
    value.remove_prefix(base64_begin.size());
    value.remove_suffix(base64_end.size());
    auto text = text::from_base64(value);
    return text && text::is_utf8(*text) ? text : std::nullopt;
  }
  const bool is_plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c < 0x7F; });
  return is_plain ? std::optional<std::string>(value) : std::nullopt;
}

Result<Era, RpcError> read_envelope(const Message& message, Headers headers) {
  if (!message.params.is_object()) {
    return refused(RpcCode::invalid_params, R"("params" must be an object.)");
  }
  const Json* const meta = find(message.params, "_meta");
  if (meta != nullptr && !meta->is_object()) {
    return refused(RpcCode::invalid_params, "params._meta must be an object.");
  }
  if (meta != nullptr && meta->contains(version_key)) return read_modern(message, *meta, headers);

  // An initialize request names its version in params, and modern clients never send it. Whatever
  // header a client sends with it, it is offered a supported version.
  if (message.method == "initialize") return Era::legacy;

  const auto version = header(headers, "mcp-protocol-version");
  if (!version.ok()) return version.error();
  // The version header decides before the other headers, which legacy clients may send, too.
  const bool claims_modern =
      *version ? **version >= modern_version
               : std::any_of(headers.begin(), headers.end(), [](const HeaderField& field) {
                   return same_header_name(field.name, "mcp-method");
                 });
  if (claims_modern && !message.is_notification()) {
    return read_modern(message, meta == nullptr ? Json::object() : *meta, headers);
  }
  if (claims_modern) return Era::modern;
  if (*version && std::find(legacy_versions.begin(), legacy_versions.end(), **version) ==
                      legacy_versions.end()) {
    return unsupported(**version);
  }
  return Era::legacy;
}

std::optional<RpcError> check_mirrored(std::span<const MirroredArgument> mirrored,
                                       const Json& arguments, Headers headers) {
  for (const MirroredArgument& one : mirrored) {
    const Json* argument = &arguments;
    for (const std::string& step : one.argument) {
      argument = argument == nullptr ? nullptr : find(*argument, step.c_str());
    }
    const std::string name = "Mcp-Param-" + one.name;
    const auto found = header(headers, name);
    if (!found.ok()) return found.error();
    if (argument == nullptr || argument->is_null()) {
      if (*found) return mismatch(name, "mirrors an argument that is not there");
      continue;
    }
    if (!*found) return mismatch(name, "is missing");
    const auto value = decode_header_value(**found);
    if (!value) return mismatch(name, "is malformed");
    if (!says(*argument, *value)) return mismatch(name, "says something else than the argument");
  }
  return std::nullopt;
}

}  // namespace turnpike::hosts::mcp
