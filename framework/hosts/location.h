// Location: where a redirect of a host may lead. A handler cannot redirect to text that a request
// brought but through this check, so no host is an open redirect. A value; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hosts/origins.h"

namespace turnpike::hosts {

class Location {
 public:
  // A path of the same host, or a URL of one of the origins, which "*" does not stand for; nothing:
  // it is neither.
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
