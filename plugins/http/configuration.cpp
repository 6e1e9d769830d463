#include "http/configuration.h"

#include <algorithm>
#include <utility>

namespace turnpike::http {

namespace {

Failure invalid(std::string where, std::string message) {
  return Failure{FailureKind::invalid_settings, std::move(message), std::move(where), false};
}

// A failure inside the map under `key`, with the whole path.
Failure inside(std::string_view key, Failure failure) {
  failure.where = std::string(key) + (failure.where.empty() ? "" : "." + failure.where);
  return failure;
}

// RFC 9110, section 5.6.2.
bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(letter) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

bool is_of_the_gateway(std::string_view name) noexcept {
  for (std::string_view own :
       {"host", "content-length", "content-type", "connection", "accept-encoding",
        "transfer-encoding", "te", "upgrade", "expect", "trailer", "keep-alive"}) {
    if (same_header_name(name, own)) return true;
  }
  return false;
}

// Headers that hold credentials wherever they are used; those of one service alone cannot be told.
bool is_credential(std::string_view name) noexcept {
  for (std::string_view known : {"authorization", "proxy-authorization", "cookie", "x-api-key"}) {
    if (same_header_name(name, known)) return true;
  }
  return false;
}

// Files of secrets usually end with a line break that is no part of the secret.
std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// Reads one setting into `into`; the failure has its path.
template <class T>
Done read_number(const Settings& settings, std::string_view key, T& into, std::int64_t minimum,
                 std::int64_t maximum) {
  auto value = settings.integer(key, static_cast<std::int64_t>(into), minimum, maximum);
  if (!value.ok()) return std::move(value).error();
  into = static_cast<T>(*value);
  return Unit{};
}

// The length of the host in "host", "host:port" or "[v6]:port"; 0 when there is none.
std::size_t host_length(std::string_view authority) noexcept {
  if (!authority.starts_with('[')) {
    const std::size_t length = std::min(authority.find(':'), authority.size());
    return is_token(authority.substr(0, length)) ? length : 0;
  }
  const std::size_t end = std::min(authority.find(']'), authority.size());
  const std::string_view address = authority.substr(1, end - 1);
  const bool is_address = end < authority.size() && !address.empty() &&
                          address.find_first_not_of("0123456789abcdefABCDEF:.") == address.npos;
  return is_address ? end + 1 : 0;
}

// What follows the host: nothing, or ":" and a number that a port can have.
bool is_port(std::string_view text) noexcept {
  if (text.empty()) return true;
  const std::string_view digits = text.substr(1);
  if (text.front() != ':' || digits.empty() || digits.size() > 5) return false;
  std::uint32_t port = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return false;
    port = port * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return port >= 1 && port <= 65'535;
}

Done read_base_url(const Settings& settings, Configuration& configuration) {
  auto value = settings.string("base_url", "");
  if (!value.ok()) return std::move(value).error();
  std::string url = *std::move(value);
  if (url.empty()) return invalid("base_url", "is required, such as https://api.example.com");
  const bool is_https = url.starts_with("https://");
  if (!is_https && !url.starts_with("http://")) {
    return invalid("base_url", "expected a URL that begins with https:// or http://");
  }
  const std::size_t authority = is_https ? 8 : 7;
  const std::size_t path = std::min(url.find_first_of("/?#", authority), url.size());
  const std::string_view host = std::string_view(url).substr(authority, path - authority);
  if (host.find('@') != std::string_view::npos) {
    return invalid("base_url", "must hold no user or password; use `credential`");
  }
  const std::size_t length = host_length(host);
  if (length == 0) return invalid("base_url", "has no valid host");
  if (!is_port(host.substr(length))) return invalid("base_url", "has no valid port (1 to 65535)");
  while (url.ends_with('/')) url.pop_back();
  const std::string_view rest = std::string_view(url).substr(std::min(path, url.size()));
  if (!rest.empty()) {
    const auto checked = PathTemplate::parse(rest, {});
    if (!checked.ok()) {
      return invalid("base_url", "must be scheme, host and path alone, no query or fragment");
    }
  }
  configuration.base_url = std::move(url);
  return Unit{};
}

enum class Holds : std::uint8_t { nothing_secret, secret };

Done add_header(Configuration& configuration, std::string name, std::string value, Holds holds,
                std::string where) {
  if (!is_token(name)) return invalid(std::move(where), "is no header name");
  if (is_of_the_gateway(name)) {
    return invalid(std::move(where), "is a header that the gateway sets itself");
  }
  if (!is_field_value(value)) return invalid(std::move(where), "holds bytes no header may hold");
  for (const OwnedHeader& header : configuration.headers) {
    if (same_header_name(header.name, name)) return invalid(std::move(where), "is set twice");
  }
  if (holds == Holds::nothing_secret) configuration.public_headers.push_back({name, value});
  configuration.headers.push_back({std::move(name), std::move(value)});
  return Unit{};
}

Done read_headers(const Settings& settings, Configuration& configuration) {
  auto agent = settings.string("user_agent", "turnpike");
  if (!agent.ok()) return std::move(agent).error();
  Done added = add_header(configuration, "User-Agent", *std::move(agent), Holds::nothing_secret,
                          "user_agent");
  const Settings* headers = settings.find("headers");
  if (!added.ok() || headers == nullptr) return added;
  if (headers->kind != Settings::Kind::map) return Settings::wrong("headers", "a map");
  for (const auto& [name, value] : headers->fields) {
    const std::string where = "headers." + name;
    if (value.kind != Settings::Kind::scalar) return Settings::wrong(where, "a string");
    if (!value.is_secret && is_credential(name)) {
      return invalid(where,
                     "holds a credential: give it as {secret: {env: NAME}} or "
                     "{secret: {file: PATH}}");
    }
    if (value.is_secret && value.text.empty()) {
      configuration.lacks_credential = true;
      continue;
    }
    std::string text = without_line_end(value.text);
    if (value.is_secret) configuration.secrets.push_back(text);
    added = add_header(configuration, name, std::move(text),
                       value.is_secret ? Holds::secret : Holds::nothing_secret, where);
    if (!added.ok()) return added;
  }
  return Unit{};
}

Done read_credential_fields(const Settings& settings, Configuration& configuration) {
  const Done known = settings.only({"header", "prefix", "query", "value"});
  if (!known.ok()) return known;
  auto header = settings.string("header", "");
  if (!header.ok()) return std::move(header).error();
  auto prefix = settings.string("prefix", "");
  if (!prefix.ok()) return std::move(prefix).error();
  auto query = settings.string("query", "");
  if (!query.ok()) return std::move(query).error();
  if (header->empty() == query->empty()) {
    return invalid("", "expected `header` or `query`, and not both");
  }
  if (!query->empty() && !prefix->empty()) return invalid("prefix", "belongs to `header`");
  if (settings.find("value") == nullptr) return invalid("value", "is required");
  auto value = settings.secret("value");
  if (!value.ok()) return std::move(value).error();
  const std::string secret = without_line_end(*std::move(value));
  if (secret.empty()) {
    configuration.lacks_credential = true;
    configuration.credential_parameter = *query;
    return Unit{};
  }
  if (!is_field_value(secret)) return invalid("value", "holds control characters");
  configuration.secrets.push_back(secret);
  if (!header->empty()) {
    return add_header(configuration, *header, *prefix + secret, Holds::secret, "header");
  }
  const std::string encoded = percent_encoded(secret);
  if (encoded != secret) configuration.secrets.push_back(encoded);
  configuration.credential_parameter = *query;
  configuration.credential_query = percent_encoded(*query) + "=" + encoded;
  return Unit{};
}

Done read_credential(const Settings& settings, Configuration& configuration) {
  const Settings* credential = settings.find("credential");
  if (credential == nullptr) return Unit{};
  Done read = read_credential_fields(*credential, configuration);
  if (!read.ok()) return inside("credential", std::move(read).error());
  return read;
}

Done read_limits(const Settings& settings, Configuration& into) {
  Done done = read_number(settings, "connect_timeout_ms", into.connect_timeout_ms, 1, 60'000);
  if (done.ok()) {
    done = read_number(settings, "total_timeout_ms", into.total_timeout_ms, 1, 600'000);
  }
  if (done.ok()) done = read_number(settings, "connections_max", into.connections_max, 1, 65'536);
  if (!done.ok()) return done;
  auto allow = settings.boolean("allow_private_addresses", false);
  if (!allow.ok()) return std::move(allow).error();
  into.allow_private_addresses = *allow;
  return Unit{};
}

Done read_retry(const Settings& settings, Configuration& into) {
  Done done = settings.only({"attempts_max", "backoff_ms", "budget_percent"});
  if (done.ok()) done = read_number(settings, "attempts_max", into.attempts_max, 1, 5);
  if (done.ok()) done = read_number(settings, "backoff_ms", into.backoff_ms, 1, 10'000);
  if (done.ok()) {
    done = read_number(settings, "budget_percent", into.retry_budget_percent, 0, 100);
  }
  return done;
}

// The list under `key`; without one `otherwise`.
Result<FailureStatuses> read_statuses(const Settings& settings, std::string_view key,
                                      const FailureStatuses& otherwise) {
  const Settings* list = settings.find(key);
  if (list == nullptr) return otherwise;
  FailureStatuses statuses;
  const auto refusal = [key] { return Settings::wrong(key, "a list of statuses from 500 to 599"); };
  if (list->kind != Settings::Kind::list) return refusal();
  for (const Settings& item : list->items) {
    Settings one;  // so that the item is read as any number is
    one.fields.push_back({"status", item});
    const auto status = one.integer("status", 0, FailureStatuses::lowest, FailureStatuses::highest);
    if (!status.ok()) return refusal();
    statuses.add(static_cast<int>(*status));
  }
  return statuses;
}

// 500 is not among them: it is what callers get for input that an upstream cannot cope with.
FailureStatuses usual_failure_statuses() {
  FailureStatuses statuses;
  for (const int status : {502, 503, 504}) statuses.add(status);
  return statuses;
}

// Its `statuses` are read for each operation, which may have its own.
Done read_breaker(const Settings& settings, Configuration& into) {
  BreakerTerms& terms = into.breaker;
  Done done = settings.only({"failures", "percent", "window_ms", "open_ms", "statuses"});
  if (done.ok()) done = read_number(settings, "failures", terms.failures_min, 1, 10'000);
  if (done.ok()) done = read_number(settings, "percent", terms.percent, 1, 100);
  if (done.ok()) done = read_number(settings, "window_ms", terms.window_ms, 1'000, 3'600'000);
  if (done.ok()) done = read_number(settings, "open_ms", terms.open_ms, 1, 3'600'000);
  return done;
}

Done read_probe(const Settings& settings, Configuration& into) {
  Done done = settings.only({"path", "expected_status", "credential"});
  if (done.ok()) done = read_number(settings, "expected_status", into.probe_status, 200, 599);
  if (!done.ok()) return done;
  auto credential = settings.boolean("credential", false);
  if (!credential.ok()) return std::move(credential).error();
  into.probe_has_credential = *credential;
  auto path = settings.string("path", "/");
  if (!path.ok()) return std::move(path).error();
  const auto checked = PathTemplate::parse(*path, {});
  if (!checked.ok()) return Settings::wrong("path", checked.error());
  into.probe_path = *std::move(path);
  return Unit{};
}

Done read_section(const Settings& settings, std::string_view key, Configuration& configuration,
                  Done (*read)(const Settings&, Configuration&)) {
  const Settings* section = settings.find(key);
  if (section == nullptr) return Unit{};
  Done done = read(*section, configuration);
  if (!done.ok()) return inside(key, std::move(done).error());
  return done;
}

Result<Configuration::Retry> read_route_retry(const Settings& settings) {
  const auto retry = settings.string("retry", "unsent");
  if (!retry.ok()) return retry.error();
  if (*retry == "unsent") return Configuration::Retry::unsent;
  if (*retry == "safe") return Configuration::Retry::safe;
  if (*retry == "never") return Configuration::Retry::never;
  return Settings::wrong("retry", "unsent, safe or never");
}

// A route's literal segments are kept decoded; as part of a template they are encoded again.
std::string as_template(std::string_view pattern) {
  std::string text;
  bool is_in_parameter = false;
  for (const char letter : pattern) {
    if (letter == '{') is_in_parameter = true;
    if (letter == '/' || is_in_parameter) {
      text += letter;
    } else if (std::string_view("!$&'()*+,;=:@").find(letter) != std::string_view::npos) {
      text += letter;
    } else {
      text += percent_encoded({&letter, 1});
    }
    if (letter == '}') is_in_parameter = false;
  }
  return text;
}

// The route's path below `prefix`; nothing when it is not below it.
std::optional<std::string> below(std::string_view pattern, std::string_view prefix) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!pattern.starts_with(prefix)) return std::nullopt;
  pattern.remove_prefix(prefix.size());
  if (pattern.empty()) return "/";
  if (!pattern.starts_with('/')) return std::nullopt;
  return as_template(pattern);
}

Result<Configuration::Operation> read_operation(const BoundOperation& operation,
                                                std::string_view prefix,
                                                const FailureStatuses& of_upstream) {
  const Settings none;
  const Settings& own = operation.settings == nullptr ? none : *operation.settings;
  const std::string route = "route " + std::string(operation.path) + ": upstream_settings";
  const Done known = own.only({"path", "retry", "breaker_statuses"});
  if (!known.ok()) return inside(route, known.error());
  const auto statuses = read_statuses(own, "breaker_statuses", of_upstream);
  if (!statuses.ok()) return inside(route, statuses.error());
  const auto retry = read_route_retry(own);
  if (!retry.ok()) return inside(route, retry.error());
  const auto written = own.string("path", "");
  if (!written.ok()) return inside(route, written.error());
  std::string text = *written;
  if (own.find("path") == nullptr) {
    auto path = below(operation.path, prefix);
    if (!path) {
      return invalid("prefix", "the path " + std::string(operation.path) +
                                   " is not below it; set upstream_settings.path of that route");
    }
    text = *std::move(path);
  }
  auto path = PathTemplate::parse(text, operation.parameter_names);
  if (!path.ok()) return inside(route, Settings::wrong("path", path.error()));
  std::string name(name_of(operation.method));
  name.append(" ").append(operation.path);
  return Configuration::Operation{std::move(name), *std::move(path), *retry, *statuses};
}

}  // namespace

Result<Configuration> read_configuration(const Binding& binding) {
  const Settings& settings = binding.settings;
  Configuration configuration;
  configuration.upstream_id = binding.upstream_id;
  Done done = settings.only({"base_url", "prefix", "credential", "headers", "user_agent",
                             "connect_timeout_ms", "total_timeout_ms", "connections_max",
                             "allow_private_addresses", "retry", "breaker", "probe"});
  if (done.ok()) done = read_base_url(settings, configuration);
  if (done.ok()) done = read_headers(settings, configuration);
  if (done.ok()) done = read_credential(settings, configuration);
  if (done.ok()) done = read_limits(settings, configuration);
  if (done.ok()) done = read_section(settings, "retry", configuration, read_retry);
  if (done.ok()) done = read_section(settings, "breaker", configuration, read_breaker);
  if (done.ok()) done = read_section(settings, "probe", configuration, read_probe);
  if (!done.ok()) return std::move(done).error();
  const auto prefix = settings.string("prefix", "");
  if (!prefix.ok()) return prefix.error();
  const Settings none;
  const Settings* breaker = settings.find("breaker");
  const auto statuses =
      read_statuses(breaker == nullptr ? none : *breaker, "statuses", usual_failure_statuses());
  if (!statuses.ok()) return inside("breaker", statuses.error());
  for (const BoundOperation& operation : binding.operations) {
    auto read = read_operation(operation, *prefix, *statuses);
    if (!read.ok()) return std::move(read).error();
    configuration.operations.push_back(*std::move(read));
  }
  return configuration;
}

}  // namespace turnpike::http
