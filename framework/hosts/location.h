// Location: the target of a redirect. A handler can redirect to text from a request only through
// this check, so no host is an open redirect. A value; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hosts/origins.h"

namespace turnpike::hosts {

class Location {
 public:
  // Accepts a path of the same host, or a URL of one of the origins (with "*" among them no URL).
  // Nothing: `text` is neither.
  [[nodiscard]] static std::optional<Location> read(std::string_view text, const Origins& origins);
  [[nodiscard]] static std::optional<Location> read(std::string_view text) {
    return read(text, Origins({}));
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  explicit Location(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace turnpike::hosts
