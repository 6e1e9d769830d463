#include "http/configuration.h"

#include <algorithm>
#include <set>
#include <utility>

#include <turnpike/helpers/field_rules.h>
#include <turnpike/helpers/mistakes.h>

namespace turnpike::http {

namespace {

constexpr std::string_view is_not_a_field_value =
    "holds control characters, which no header may hold: leave them out";

bool is_of_the_gateway(std::string_view name) noexcept {
  for (std::string_view own : {"host", "content-type", "accept-encoding", "expect"}) {
    if (same_header_name(name, own)) return true;
  }
  return is_framing_field(name);
}

// Headers that commonly hold credentials. Headers that are specific to one service are not known.
bool is_credential(std::string_view name) noexcept {
  for (std::string_view known : {"authorization", "proxy-authorization", "cookie", "x-api-key"}) {
    if (same_header_name(name, known)) return true;
  }
  return false;
}

// A file with a secret usually ends with a line break that is not part of the secret.
std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// Reads one setting into `into`. A failure names the setting.
template <class T>
Done read_number(const Settings& settings, std::string_view key, T& into, std::int64_t minimum,
                 std::int64_t maximum) {
  auto value = settings.integer(key, static_cast<std::int64_t>(into), minimum, maximum);
  if (!value.ok()) return std::move(value).error();
  into = static_cast<T>(*value);
  return Unit{};
}

// The length of the host in "host", "host:port" or "[v6]:port"; 0 if there is no valid host.
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

// Whether `text`, the part after the host, is empty or ":" and a valid port number.
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

// Mistakes after the scheme (user, host or port, path) are all reported at once.
void read_base_url(const Settings& settings, Configuration& configuration, Mistakes& mistakes) {
  const auto wrong = [&mistakes](std::string_view message) { mistakes.add("base_url", message); };
  auto value = settings.string("base_url", "");
  if (!value.ok()) return mistakes.add(value.error());
  std::string url = *std::move(value);
  if (url.empty()) return wrong("is required, such as https://api.example.com");
  const bool is_https = url.starts_with("https://");
  if (!is_https && !url.starts_with("http://")) {
    return wrong("expected a URL that begins with https:// or http://");
  }
  const std::size_t authority = is_https ? 8 : 7;
  const std::size_t path = std::min(url.find_first_of("/?#", authority), url.size());
  std::string_view host = std::string_view(url).substr(authority, path - authority);
  if (const std::size_t user = host.rfind('@'); user != std::string_view::npos) {
    wrong("must hold no user or password; use `credential`");
    host.remove_prefix(user + 1);
  }
  const std::size_t length = host_length(host);
  if (length == 0) {
    wrong("has no valid host");
  } else if (!is_port(host.substr(length))) {
    wrong("has no valid port (1 to 65535)");
  }
  while (url.ends_with('/')) url.pop_back();
  const std::string_view rest = std::string_view(url).substr(std::min(path, url.size()));
  if (!rest.empty() && !PathTemplate::parse(rest, {}).ok()) {
    wrong("must be scheme, host and path alone, no query or fragment");
  }
  configuration.base_url = std::move(url);
}

bool is_map(const Settings& settings) noexcept {
  return settings.kind == Settings::Kind::map || settings.kind == Settings::Kind::null;
}

void check_header_name(const Configuration& configuration, std::string_view name,
                       std::string_view where, Mistakes& mistakes) {
  if (!is_token(name))
    return mistakes.add(where, "is no header name: write letters, digits and `-`");
  if (is_of_the_gateway(name)) {
    return mistakes.add(where, "is a header that the gateway sets itself: leave it out");
  }
  for (const OwnedHeader& header : configuration.headers) {
    if (same_header_name(header.name, name))
      return mistakes.add(where, "is set twice: leave one out");
  }
}

enum class Holds : std::uint8_t { nothing_secret, secret };

void add_header(Configuration& configuration, OwnedHeader header, Holds holds,
                std::string_view where, Mistakes& mistakes) {
  check_header_name(configuration, header.name, where, mistakes);
  if (!is_field_value(header.value)) mistakes.add(where, is_not_a_field_value);
  if (holds == Holds::nothing_secret) configuration.public_headers.push_back(header);
  configuration.headers.push_back(std::move(header));
}

void read_header(const std::string& name, const Settings& value, Configuration& configuration,
                 Mistakes& mistakes) {
  const std::string where = "headers." + name;
  if (value.kind != Settings::Kind::scalar) {
    return mistakes.add(Settings::wrong(where, "a string"));
  }
  if (!value.is_secret && is_credential(name)) {
    return mistakes.add(where,
                        "holds a credential: give it as {secret: {env: NAME}} or "
                        "{secret: {file: PATH}}");
  }
  if (value.is_secret && value.text.empty()) {
    configuration.lacks_credential = true;
    return check_header_name(configuration, name, where, mistakes);
  }
  std::string text = without_line_end(value.text);
  if (value.is_secret) configuration.secrets.push_back(text);
  add_header(configuration, {name, std::move(text)},
             value.is_secret ? Holds::secret : Holds::nothing_secret, where, mistakes);
}

void read_headers(const Settings& settings, Configuration& configuration, Mistakes& mistakes) {
  add_header(configuration,
             {"User-Agent", mistakes.take(settings.string("user_agent", "turnpike"))},
             Holds::nothing_secret, "user_agent", mistakes);
  const Settings* headers = settings.find("headers");
  if (headers == nullptr) return;
  if (headers->kind != Settings::Kind::map) {
    return mistakes.add(Settings::wrong("headers", "a map"));
  }
  for (const auto& [name, value] : headers->fields) {
    read_header(name, value, configuration, mistakes);
  }
}

void read_credential(const Settings& settings, Configuration& configuration, Mistakes& mistakes) {
  mistakes.only(settings, {"header", "prefix", "query", "value"});
  const auto header = settings.string("header", "");
  const auto prefix = settings.string("prefix", "");
  const auto query = settings.string("query", "");
  for (const auto* text : {&header, &prefix, &query}) {
    if (!text->ok()) mistakes.add(text->error());
  }
  const bool is_one = header.ok() && query.ok() && header->empty() != query->empty();
  if (header.ok() && query.ok() && !is_one) {
    mistakes.add("", "expected `header` or `query`, and not both");
  }
  const bool is_in_query = is_one && header->empty();
  if (is_in_query && prefix.ok() && !prefix->empty()) {
    mistakes.add("prefix", "belongs to `header`: leave it out");
  }
  if (prefix.ok() && !is_field_value(*prefix)) mistakes.add("prefix", is_not_a_field_value);
  if (settings.find("value") == nullptr)
    mistakes.add("value", "is required, as {secret: {env: NAME}} or {secret: {file: PATH}}");
  const std::string secret = without_line_end(mistakes.take(settings.secret("value")));
  if (!is_field_value(secret))
    mistakes.add("value", "holds control characters: it must be one line of text");
  configuration.lacks_credential = configuration.lacks_credential || secret.empty();
  if (is_in_query) configuration.credential_parameter = *query;
  if (secret.empty() || !mistakes.none()) {
    if (is_one && !is_in_query) check_header_name(configuration, *header, "header", mistakes);
    return;
  }
  configuration.secrets.push_back(secret);
  if (!is_in_query) {
    return add_header(configuration, {*header, *prefix + secret}, Holds::secret, "header",
                      mistakes);
  }
  const std::string encoded = percent_encoded(secret);
  if (encoded != secret) configuration.secrets.push_back(encoded);
  configuration.credential_query = percent_encoded(*query) + "=" + encoded;
}

void read_limits(const Settings& settings, Configuration& into, Mistakes& mistakes) {
  mistakes.note(read_number(settings, "connect_timeout_ms", into.connect_timeout_ms, 1, 60'000));
  mistakes.note(read_number(settings, "total_timeout_ms", into.total_timeout_ms, 1, 600'000));
  mistakes.note(read_number(settings, "connections_max", into.connections_max, 1, 65'536));
  into.allow_private_addresses = mistakes.take(settings.boolean("allow_private_addresses", false));
}

void read_retry(const Settings& settings, Configuration& into, Mistakes& mistakes) {
  mistakes.only(settings, {"attempts_max", "backoff_ms", "budget_percent"});
  mistakes.note(read_number(settings, "attempts_max", into.attempts_max, 1, 5));
  mistakes.note(read_number(settings, "backoff_ms", into.backoff_ms, 1, 10'000));
  mistakes.note(read_number(settings, "budget_percent", into.retry_budget_percent, 0, 100));
}

// The list under `key`, or `otherwise` if there is no such key.
Result<FailureStatuses> read_statuses(const Settings& settings, std::string_view key,
                                      const FailureStatuses& otherwise) {
  const Settings* list = settings.find(key);
  if (list == nullptr) return otherwise;
  if (list->kind != Settings::Kind::list) {
    return Settings::wrong(key, "a list of statuses from 500 to 599");
  }
  FailureStatuses statuses;
  Mistakes mistakes;
  for (std::size_t at = 0; at < list->items.size(); ++at) {
    Settings one;  // wraps the item, so that it is read like any other number
    one.fields.push_back({"status", list->items[at]});
    const auto status = one.integer("status", 0, FailureStatuses::lowest, FailureStatuses::highest);
    if (status.ok()) {
      statuses.add(static_cast<int>(*status));
    } else {
      mistakes.add(Settings::wrong("[" + std::to_string(at) + "]", "a status from 500 to 599"),
                   key);
    }
  }
  if (!mistakes.none()) return mistakes.failure();
  return statuses;
}

// 500 is not included: many upstreams answer it to bad input, so callers could open the breaker.
FailureStatuses usual_failure_statuses() {
  FailureStatuses statuses;
  for (const int status : {502, 503, 504}) statuses.add(status);
  return statuses;
}

// read_configuration() reads the key `statuses`, since an operation may override it.
void read_breaker(const Settings& settings, Configuration& into, Mistakes& mistakes) {
  BreakerTerms& terms = into.breaker;
  mistakes.only(settings, {"failures", "percent", "window_ms", "open_ms", "statuses"});
  mistakes.note(read_number(settings, "failures", terms.failures_min, 1, 10'000));
  mistakes.note(read_number(settings, "percent", terms.percent, 1, 100));
  mistakes.note(read_number(settings, "window_ms", terms.window_ms, 1'000, 3'600'000));
  mistakes.note(read_number(settings, "open_ms", terms.open_ms, 1, 3'600'000));
}

void read_probe(const Settings& settings, Configuration& into, Mistakes& mistakes) {
  mistakes.only(settings, {"path", "expected_status", "credential"});
  if (settings.find("credential") != nullptr) {
    mistakes.add("credential", "is the registry's to say: `probe: {credential: true}` of the "
                               "upstream, beside its `settings`");
  }
  mistakes.note(read_number(settings, "expected_status", into.probe_status, 200, 599));
  into.probe_path = mistakes.take(settings.string("path", "/"), std::string("/"));
  const auto checked = PathTemplate::parse(into.probe_path, {});
  if (!checked.ok()) mistakes.add(Settings::wrong("path", checked.error()));
}

void read_section(const Settings& settings, std::string_view key, Configuration& configuration,
                  Mistakes& mistakes, void (*read)(const Settings&, Configuration&, Mistakes&)) {
  const Settings* section = settings.find(key);
  if (section == nullptr) return;
  if (!is_map(*section)) return mistakes.add(Settings::wrong(key, "a map"));
  Mistakes own;
  read(*section, configuration, own);
  mistakes.note(own.done(), key);
}

Result<Configuration::Retry> read_route_retry(const Settings& settings) {
  const auto retry = settings.string("retry", "unsent");
  if (!retry.ok()) return retry.error();
  if (*retry == "unsent") return Configuration::Retry::unsent;
  if (*retry == "safe") return Configuration::Retry::safe;
  if (*retry == "never") return Configuration::Retry::never;
  return Settings::wrong("retry", "unsent, safe or never");
}

// The literal segments of a route's pattern are stored decoded. A template needs them encoded.
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

// The route's path below `prefix`; empty if the path is not below it.
std::optional<std::string> below(std::string_view pattern, std::string_view prefix) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!pattern.starts_with(prefix)) return std::nullopt;
  pattern.remove_prefix(prefix.size());
  if (pattern.empty()) return "/";
  if (!pattern.starts_with('/')) return std::nullopt;
  return as_template(pattern);
}

struct OfUpstream {
  std::optional<std::string> prefix;  // empty: the setting is invalid
  FailureStatuses failure_statuses;
};

// The template of an operation whose route has no `path`; empty if it cannot be derived from
// `prefix`. A path that is not below `prefix` is added to `outside`.
std::optional<std::string> derived_path(const BoundOperation& operation,
                                        const OfUpstream& of_upstream,
                                        std::set<std::string_view>& outside) {
  if (!of_upstream.prefix) return std::nullopt;
  auto path = below(operation.path, *of_upstream.prefix);
  if (!path) outside.insert(operation.path);
  return path;
}

// `mistakes` collects mistakes in the route's settings, `outside` the paths that are not below the
// upstream's prefix.
Configuration::Operation read_operation(const BoundOperation& operation,
                                        const OfUpstream& of_upstream, Mistakes& mistakes,
                                        std::set<std::string_view>& outside) {
  const Settings none;
  const Settings& own = operation.settings == nullptr ? none : *operation.settings;
  Configuration::Operation read;
  read.name = name_of(operation.method);
  read.name.append(" ").append(operation.path);
  mistakes.only(own, {"path", "retry", "breaker_statuses"});
  if (!is_map(own)) return read;
  read.failure_statuses =
      mistakes.take(read_statuses(own, "breaker_statuses", of_upstream.failure_statuses));
  read.retry = mistakes.take(read_route_retry(own), Configuration::Retry::unsent);
  std::optional<std::string> text;
  if (own.find("path") == nullptr) {
    text = derived_path(operation, of_upstream, outside);
  } else if (auto written = own.string("path", ""); written.ok()) {
    text = *std::move(written);
  } else {
    mistakes.add(written.error());
  }
  if (!text) return read;
  auto path = PathTemplate::parse(*text, operation.parameter_names);
  if (path.ok()) {
    read.path = *std::move(path);
  } else {
    mistakes.add(Settings::wrong("path", path.error()));
  }
  return read;
}

void read_operations(const Binding& binding, const OfUpstream& of_upstream,
                     Configuration& configuration, Mistakes& mistakes) {
  std::set<std::string_view> outside;
  for (std::size_t at = 0; at < binding.operations.size(); ++at) {
    Mistakes own;
    configuration.operations.push_back(
        read_operation(binding.operations[at], of_upstream, own, outside));
    mistakes.note(own.done(), of_operation(at));
  }
  for (const std::string_view path : outside) {
    mistakes.add("prefix", "the path " + std::string(path) +
                               " is not below it; set upstream_settings.path of that route");
  }
}

}  // namespace

Result<Configuration> read_configuration(const Binding& binding) {
  const Settings& settings = binding.settings;
  Configuration configuration;
  configuration.upstream_id = binding.upstream_id;
  configuration.probe_has_credential = binding.probe_uses_credential;
  Mistakes mistakes;
  mistakes.only(settings, {"base_url", "prefix", "credential", "headers", "user_agent",
                           "connect_timeout_ms", "total_timeout_ms", "connections_max",
                           "allow_private_addresses", "retry", "breaker", "probe"});
  if (!is_map(settings)) return mistakes.failure();
  read_base_url(settings, configuration, mistakes);
  read_headers(settings, configuration, mistakes);
  read_section(settings, "credential", configuration, mistakes, read_credential);
  read_limits(settings, configuration, mistakes);
  read_section(settings, "retry", configuration, mistakes, read_retry);
  read_section(settings, "breaker", configuration, mistakes, read_breaker);
  read_section(settings, "probe", configuration, mistakes, read_probe);
  OfUpstream of_upstream{std::nullopt, usual_failure_statuses()};
  auto prefix = settings.string("prefix", "");
  if (prefix.ok()) {
    of_upstream.prefix = *std::move(prefix);
  } else {
    mistakes.add(prefix.error());
  }
  if (const Settings* breaker = settings.find("breaker")) {
    of_upstream.failure_statuses =
        mistakes.take(read_statuses(*breaker, "statuses", of_upstream.failure_statuses),
                      of_upstream.failure_statuses, "breaker");
  }
  read_operations(binding, of_upstream, configuration, mistakes);
  if (!mistakes.none()) return mistakes.failure();
  return configuration;
}

}  // namespace turnpike::http
