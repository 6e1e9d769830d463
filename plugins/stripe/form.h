// Form: names and values as application/x-www-form-urlencoded, which Stripe takes as bodies and as
// queries. What is nested is named as PHP and Rails do: line_items[0][price_data][currency]. The
// brackets are written %5B and %5D, since RFC 3986 has no bare ones in a query.
//
// Value; one Thread at a time.
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
  // Nothing is added for an empty value.
  Form& add_if_any(std::string_view name, std::string_view value);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace turnpike::stripe
