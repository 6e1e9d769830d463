#include "hosts/refusal.h"

#include <algorithm>

#include "base/error_envelope.h"
#include "hosts/page.h"
#include "hosts/status_table.h"
#include "text/canonical_json.h"

namespace turnpike::hosts {

namespace {

constexpr std::string_view bearer_challenge = "Bearer error=\"invalid_token\"";

// Maps a character to the set of error_description: %x20-21 / %x23-5B / %x5D-7E.
char to_description(char c) noexcept {
  if (c < 0x20 || c > 0x7E) return '?';
  return c == '"' || c == '\\' ? '\'' : c;
}

// Returns the OAuth error code. An error code without an OAuth word is mapped to one of RFC 6749
// section 5.2. Codes for a server's failure come from section 4.1.2.1, since token endpoints have
// none.
std::string_view oauth_code(const base::Error& error) noexcept {
  if (const auto word = base::oauth_word(error.code); !word.empty()) return word;
  const int status = http_status(error.code);
  if (status == 401) return "invalid_client";
  if (status == 429 || status == 503) return "temporarily_unavailable";
  return status >= 500 ? "server_error" : "invalid_request";
}

}  // namespace

RefusalHead head_of(const base::Error& error) noexcept {
  RefusalHead head;
  head.status = http_status(error.code);
  head.retry_after_seconds = error.retry_after_seconds;
  // A failed client authentication gets no challenge: a challenge would name a scheme (RFC 6749
  // section 5.2), and some libraries read it instead of the body.
  const bool is_of_client = error.code == base::ErrorCode::oauth_invalid_client;
  if (head.status == 401 && !is_of_client) head.challenge = bearer_challenge;
  return head;
}

void add_refusal_fields(const RefusalHead& head, std::string_view content_type,
                        ReplyFields& fields) {
  fields.add("Content-Type", content_type);
  fields.add(cache_control_field, head.cache_control);
  if (!head.allow.empty()) fields.add("Allow", head.allow);
  if (!head.challenge.empty()) fields.add("WWW-Authenticate", head.challenge);
  if (head.retry_after_seconds > 0) fields.add_number("Retry-After", head.retry_after_seconds);
}

RefusalBody as_envelope(const base::Error& error, const RefusalAsked& asked) {
  RefusalBody body{.content_type = "application/json", .text = {}};
  base::append_envelope(body.text, error, asked.request_id);
  return body;
}

RefusalBody as_oauth_error(const base::Error& error, const RefusalAsked&) {
  std::string description = error.message;
  std::transform(description.begin(), description.end(), description.begin(), to_description);
  RefusalBody body{.content_type = "application/json", .text = R"({"error":")"};
  body.text.append(oauth_code(error)).append(R"(","error_description":)");
  text::append_canonical_string(body.text, description);
  body.text += '}';
  return body;
}

RefusalBody as_page(const base::Error& error, const RefusalAsked& asked) {
  if (asked.pages != nullptr) return asked.pages->page(error, asked);
  RefusalBody body{.content_type = page_type,
                   .text = "<!doctype html>\n<html lang=\"en\">\n<title>"};
  append_html(body.text, base::info_of(error.code).name);
  body.text += "</title>\n<main>\n<h1>This did not work</h1>\n<p>";
  append_html(body.text, error.message);
  body.text += "</p>\n<p>Request <code>";
  append_html(body.text, asked.request_id);
  body.text += "</code></p>\n</main>\n</html>\n";
  return body;
}

}  // namespace turnpike::hosts
