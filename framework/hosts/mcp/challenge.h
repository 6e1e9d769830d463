// BearerChallenge: the values of WWW-Authenticate (RFC 6750 section 3, RFC 9728 section 5.1;
// docs/protocols.md, "Challenges"). With an authorization server they point to the
// protected-resource document. Without one they have no pointer: clients would begin a sign-in that
// cannot end.
//
// Immutable; any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::hosts::mcp {

class BearerChallenge {
 public:
  // `resource_metadata` is the URL of the document; empty: there is none.
  explicit BearerChallenge(std::string resource_metadata)
      : resource_metadata_(std::move(resource_metadata)) {}

  // For a request without a credential: names no error.
  [[nodiscard]] std::string missing() const {
    return resource_metadata_.empty() ? "Bearer" : "Bearer " + pointer();
  }
  // `description`: printable ASCII without '"' and '\'.
  [[nodiscard]] std::string invalid(std::string_view description) const {
    std::string text = R"(Bearer error="invalid_token", error_description=")";
    text.append(description).append("\"");
    if (!resource_metadata_.empty()) text.append(", ").append(pointer());
    return text;
  }

 private:
  [[nodiscard]] std::string pointer() const {
    return "resource_metadata=\"" + resource_metadata_ + "\"";
  }

  const std::string resource_metadata_;
};

// The challenge for an API key: it points to no document, since discovery cannot help.
inline constexpr std::string_view api_key_challenge = R"(Bearer error="invalid_token")";

}  // namespace turnpike::hosts::mcp
