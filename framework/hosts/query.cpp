#include "hosts/query.h"

#include <algorithm>

#include "base/uri.h"

namespace turnpike::hosts {

namespace {

constexpr std::size_t name_bytes_shown = 64;

int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return digit - 'A' + 10;
}

base::Error rejected(const std::string& name, std::string problem,
                     std::span<const std::string_view> known) {
  std::string fix = known.empty() ? "This route takes no query." : "It takes:";
  for (const std::string_view one : known) {
    fix += (one == known.front() ? " " : ", ") + std::string(one);
  }
  base::Error error;
  error.code = base::ErrorCode::request_query_rejected;
  error.message = "The query is not one that this route takes.";
  error.fields.push_back(
      {"query." + name.substr(0, name_bytes_shown), std::move(problem), std::move(fix)});
  return error;
}

// REQUIRES: query_fault() found no fault, so two hex digits follow every '%'.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    decoded += static_cast<char>(hex_value(text[at + 1]) << 4 | hex_value(text[at + 2]));
    at += 2;
  }
  return decoded;
}

}  // namespace

std::optional<std::string> FixedQuery::find(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Result<FixedQuery, base::Error> read_query(std::string_view query,
                                           std::span<const std::string_view> known) {
  if (const std::size_t fault = base::query_fault(query); fault != query.npos) {
    return base::Error{
        base::ErrorCode::request_query_malformed,
        "The query is not one by RFC 3986.",
        0,
        {{"query", "the byte at offset " + std::to_string(fault) + " may not stand there",
          "Percent-encode it."}}};
  }
  FixedQuery read;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view field = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (field.empty()) continue;
    const std::size_t equals = std::min(field.find('='), field.size());
    std::string name = percent_decoded(field.substr(0, equals));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return rejected(name, "the name is unknown", known);
    }
    if (read.find(name)) return rejected(name, "it comes more than once", known);
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    read.add(std::move(name), percent_decoded(value));
  }
  return read;
}

}  // namespace turnpike::hosts
