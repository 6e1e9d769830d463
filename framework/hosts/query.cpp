#include "hosts/query.h"

#include <algorithm>

#include "text/uri.h"

namespace turnpike::hosts {

namespace {

constexpr std::size_t name_bytes_shown = 64;

base::Error query_rejected(const std::string& name, std::string problem,
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

}  // namespace

Result<NamedValues, base::Error> read_query(std::string_view query,
                                            std::span<const std::string_view> known) {
  if (const std::size_t fault = text::query_fault(query); fault != query.npos) {
    return base::Error{
        base::ErrorCode::request_query_malformed,
        "The query is not one by RFC 3986.",
        0,
        {{"query", "the byte at offset " + std::to_string(fault) + " may not stand there",
          "Percent-encode it."}}};
  }
  NamedValues read;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view field = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (field.empty()) continue;
    const std::size_t equals = std::min(field.find('='), field.size());
    // All escapes are valid: query_fault() has rejected malformed ones.
    std::string name = text::percent_decoded(field.substr(0, equals)).value();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return query_rejected(name, "the name is unknown", known);
    }
    if (read.find(name)) return query_rejected(name, "it comes more than once", known);
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    read.add(std::move(name), text::percent_decoded(value).value());
  }
  return read;
}

}  // namespace turnpike::hosts
