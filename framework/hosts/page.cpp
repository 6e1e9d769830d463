#include "hosts/page.h"

namespace turnpike::hosts {

void add_page_fields(std::string_view policy, ReplyFields& fields) {
  if (!fields.has(policy_field)) fields.add(policy_field, policy);
  fields.add("X-Content-Type-Options", "nosniff");
  fields.add("X-Frame-Options", "DENY");
  // With `no-referrer`, browsers would send a page's own form with `Origin: null` (Fetch standard,
  // "append a request Origin header"), and the host would refuse it.
  fields.add("Referrer-Policy", "same-origin");
  fields.add("Cross-Origin-Opener-Policy", "same-origin");
}

void append_html(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
}

}  // namespace turnpike::hosts
