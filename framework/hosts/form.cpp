#include "hosts/form.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "text/canonical_json.h"
#include "text/uri.h"

namespace turnpike::hosts {

namespace {

constexpr std::size_t field_bytes_shown = 64;

// In a form, '+' encodes a blank.
std::optional<std::string> decoded(std::string_view text) {
  std::string with_blanks(text);
  std::replace(with_blanks.begin(), with_blanks.end(), '+', ' ');
  auto plain = text::percent_decoded(with_blanks);
  if (!plain || !text::is_utf8(*plain)) return std::nullopt;
  return plain;
}

base::Error form_rejected(std::string location, std::string problem, std::string fix) {
  return {base::ErrorCode::request_body_rejected,
          "The body is no form that this route takes.",
          0,
          {{std::move(location), std::move(problem), std::move(fix)}}};
}

}  // namespace

Result<NamedValues, base::Error> read_form(std::string_view body, std::size_t fields_max) {
  NamedValues read;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('&'), body.size());
    const std::string_view field = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    if (field.empty()) continue;
    const std::size_t equals = std::min(field.find('='), field.size());
    auto name = decoded(field.substr(0, equals));
    auto value = decoded(field.substr(std::min(equals + 1, field.size())));
    if (!name || !value) {
      return form_rejected("body", "an escape is none, or stands for no UTF-8",
                           "Percent-encode the UTF-8 of names and values.");
    }
    if (read.find(*name)) {
      const std::string shown = name->substr(0, field_bytes_shown);
      return form_rejected("body." + shown, "it comes more than once", "Send it once.");
    }
    if (read.size() == fields_max) {
      return form_rejected("body", "it has more than " + std::to_string(fields_max) + " fields",
                           "Send fewer.");
    }
    read.add(*std::move(name), *std::move(value));
  }
  return read;
}

}  // namespace turnpike::hosts
