// JsonObject: writes one flat JSON object, member by member, in the order of the calls. A value;
// one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

class JsonObject {
 public:
  JsonObject() { text_.reserve(1024); }

  // REQUIRES: UTF-8.
  void text(std::string_view name, std::string_view value) {
    begin(name);
    append_json_string(text_, value);
  }
  void number(std::string_view name, std::int64_t value) { raw(name, std::to_string(value)); }
  // `value` is JSON.
  void raw(std::string_view name, std::string_view value) {
    begin(name);
    text_ += value;
  }
  [[nodiscard]] std::string end() && {
    text_ += '}';
    return std::move(text_);
  }

 private:
  void begin(std::string_view name) {
    if (text_.size() > 1) text_ += ',';
    text_.append("\"").append(name).append("\":");
  }

  std::string text_ = "{";
};

}  // namespace turnpike::x402
