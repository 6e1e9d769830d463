// Form: names and values as application/x-www-form-urlencoded, for the bodies and queries of
// requests to Stripe. Nested names have the form that PHP and Rails use:
// line_items[0][price_data][currency]. Brackets are encoded as %5B and %5D, since RFC 3986 does not
// allow them in a query.
//
// A value; one Thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::stripe {

class Form {
 public:
  Form& add(std::string_view name, std::string_view value);
  Form& add(std::string_view name, std::int64_t value);
  Form& set(std::string_view name) { return add(name, std::string_view("true")); }
  Form& clear(std::string_view name) { return add(name, std::string_view("false")); }
  // Does nothing if `value` is empty.
  Form& add_if_any(std::string_view name, std::string_view value);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace turnpike::stripe
