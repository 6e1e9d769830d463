#include "notices/endpoint.h"

#include <algorithm>
#include <charconv>

#include <turnpike/helpers/private_address.h>

#include "text/uri.h"

namespace turnpike::notices {
namespace {

struct UrlParts {
  bool is_tls = false;
  std::string_view host;  // with brackets
  std::string_view path;  // from its slash on, without the query
  std::string_view query;
};

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  return problem == std::errc{} && rest == text.data() + text.size() && port > 0;
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 3 && host.ends_with(']') &&
           host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  }
  return !host.empty() && host.size() <= 253 &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

// Nothing: it is not an absolute URL of http or https, or has a fragment or user information.
std::optional<UrlParts> parts_of(std::string_view url) {
  UrlParts parts;
  if (url.starts_with("https://")) {
    parts.is_tls = true;
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    url.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
  std::string_view authority = url.substr(0, end);
  std::string_view rest = url.substr(end);
  if (rest.find('#') != rest.npos) return std::nullopt;
  const std::size_t question = std::min(rest.find('?'), rest.size());
  parts.path = rest.substr(0, question);
  parts.query = rest.substr(std::min(question + 1, rest.size()));
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  if (colon != authority.npos) {
    if (!is_port(authority.substr(colon + 1))) return std::nullopt;
    authority = authority.substr(0, colon);
  }
  parts.host = authority;
  const bool is_sound = is_host(parts.host) && text::path_fault(parts.path) == parts.path.npos &&
                        text::query_fault(parts.query) == parts.query.npos;
  return is_sound ? std::optional(parts) : std::nullopt;
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

std::optional<base::FieldProblem> url_problem(const std::string& url, const EndpointRules& rules) {
  if (url.empty() || url.size() > url_bytes_max) {
    return base::FieldProblem{"/url", "it is empty or longer than 2048 bytes",
                              "Send the URL of your server, with https."};
  }
  const auto parts = parts_of(url);
  if (!parts) {
    return base::FieldProblem{"/url",
                              "it is no absolute URL, or has a user's name or a fragment in it",
                              "Send such as https://example.com/webhooks."};
  }
  if (!parts->is_tls && !(rules.allows_http_nearby && is_this_machine(parts->host))) {
    return base::FieldProblem{"/url", "it is not https", "Send a URL that begins with https://."};
  }
  if (!rules.allows_private && names_private_address(url)) {
    return base::FieldProblem{"/url", "its address is not a public one",
                              "Send the URL of a server that can be reached from the internet."};
  }
  return std::nullopt;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

}  // namespace

std::string_view name_of(DisabledReason reason) noexcept {
  switch (reason) {
    case DisabledReason::none: return "";
    case DisabledReason::by_member: return "by_member";
    case DisabledReason::gone: return "gone";
    case DisabledReason::failing: return "failing";
  }
  return "";
}

DisabledReason disabled_reason_of(std::string_view name) noexcept {
  for (const auto reason :
       {DisabledReason::by_member, DisabledReason::gone, DisabledReason::failing}) {
    if (name == name_of(reason)) return reason;
  }
  return DisabledReason::none;
}

std::optional<base::Error> problem_of(const EndpointWish& wish, const EndpointRules& rules) {
  std::vector<base::FieldProblem> problems;
  if (wish.url) {
    if (auto problem = url_problem(*wish.url, rules)) problems.push_back(*std::move(problem));
  }
  if (wish.description && characters_in(*wish.description) > description_characters_max) {
    problems.push_back({"/description", "it is longer than 200 characters", "Shorten it."});
  }
  if (wish.types) {
    const bool has_other =
        std::any_of(wish.types->begin(), wish.types->end(),
                    [](EventType type) { return !is_subscribable(type); });
    if (has_other) {
      problems.push_back({"/eventTypes", "endpoint.test cannot be asked for",
                          "Leave it out: tests are sent whatever an endpoint asks for."});
    }
  }
  if (problems.empty()) return std::nullopt;
  return base::Error{base::ErrorCode::notification_endpoint_invalid,
                     "This cannot be an endpoint: " + problems.front().problem + ".", 0,
                     std::move(problems)};
}

std::string types_text(const std::vector<EventType>& types) {
  std::string text;
  for (const EventType type : all_event_types()) {
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    if (!text.empty()) text += ' ';
    text += name_of(type);
  }
  return text;
}

std::vector<EventType> types_of(std::string_view text) {
  std::vector<EventType> types;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (const auto type = event_type_of(text.substr(0, end))) types.push_back(*type);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return types;
}

std::string host_of(std::string_view url) {
  const auto parts = parts_of(url);
  return parts ? std::string(parts->host) : std::string();
}

}  // namespace turnpike::notices
