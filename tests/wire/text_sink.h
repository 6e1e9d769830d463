// TextSink: keeps the body of a reply. Used by one fiber at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <turnpike/host.h>

namespace turnpike::wire {

class TextSink final : public HttpSink {
 public:
  bool head(int, Headers, std::optional<std::uint64_t>) override { return true; }
  bool body(std::string_view bytes) override {
    text += bytes;
    return true;
  }
  std::string text;
};

}  // namespace turnpike::wire
