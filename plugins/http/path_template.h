// PathTemplate: how an operation's path at the upstream is made: literal text with `{parameter}` in
// it. A parameter is put in exactly as the caller sent it; only bytes that could not have stood in
// one segment of a path are percent-encoded, and a dot segment is refused, so a caller cannot leave
// the path that the operator wrote.
//
// Compiled at bind(), immutable then; safe from any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>
#include <turnpike/result.h>

namespace turnpike::http {

class PathTemplate {
 public:
  // `parameter_names` are those of the route; the error says what is wrong with `text`.
  static Result<PathTemplate, std::string> parse(std::string_view text,
                                                 std::span<const std::string_view> parameter_names);

  // Appends the path with the values of the call. False: a value is a dot segment, or is missing.
  [[nodiscard]] bool append_to(std::string& out, std::span<const PathParameter> values) const;

 private:
  struct Part {
    bool is_parameter = false;
    std::string text;  // the literal or the parameter's name
  };
  std::vector<Part> parts_;
};

// Percent-encodes all but RFC 3986's unreserved bytes: for values of query parameters.
std::string percent_encoded(std::string_view text);

}  // namespace turnpike::http
