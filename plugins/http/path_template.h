// PathTemplate: makes an operation's path at the upstream from literal text with `{parameter}` in
// it. A parameter is inserted exactly as the caller sent it, except that bytes which are not
// allowed in one path segment are percent-encoded. Dot segments are refused. So a caller cannot
// leave the path that the operator wrote.
//
// Parsed at bind() and immutable afterwards; any Thread may use it.
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
  // `parameter_names` are those of the route. The error says what was expected of `text`.
  static Result<PathTemplate, std::string> parse(std::string_view text,
                                                 std::span<const std::string_view> parameter_names);

  // Appends the path with the call's values. False if a value is missing, is a dot segment, or
  // contains one once it is decoded.
  [[nodiscard]] bool append_to(std::string& out, std::span<const PathParameter> values) const;

 private:
  struct Part {
    bool is_parameter = false;
    std::string text;  // the literal text or the parameter's name
  };
  std::vector<Part> parts_;
};

// Percent-encodes all bytes except the unreserved ones of RFC 3986. For query parameters.
std::string percent_encoded(std::string_view text);

}  // namespace turnpike::http
