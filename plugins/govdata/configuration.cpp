#include "govdata/configuration.h"

#include <algorithm>

#include <turnpike/helpers/mistakes.h>

namespace turnpike::govdata {
namespace {

constexpr const char* default_user_agent = "turnpike-govdata/1";

Result<Mode> read_mode(const Settings& settings) {
  auto mode = settings.string("mode", "embedded");
  if (!mode.ok()) return std::move(mode).error();
  if (*mode == "embedded") return Mode::embedded;
  if (*mode == "poll") return Mode::poll;
  if (*mode == "proxy") return Mode::proxy;
  if (*mode == "proxy_v2") return Mode::proxy_v2;
  return Settings::wrong("mode", "embedded, poll, proxy or proxy_v2");
}

Result<ActivityAnchor> read_anchor(const Settings& settings) {
  auto anchor = settings.string("activity_anchor", "wall_clock");
  if (!anchor.ok()) return std::move(anchor).error();
  if (*anchor == "data_as_of") return ActivityAnchor::data_as_of;
  if (*anchor == "wall_clock") return ActivityAnchor::wall_clock;
  return Settings::wrong("activity_anchor", "wall_clock or data_as_of");
}

void read_embedded(const Binding& binding, Configuration& configuration, Mistakes& mistakes) {
  const Settings& settings = binding.settings;
  if (configuration.mode == Mode::poll) {
    mistakes.only(settings, {"mode", "database", "activity_anchor", "stale_blocks",
                             "pricing_network", "readers", "sources"});
    configuration.sources = read_sources_list(settings, mistakes);
  } else {
    mistakes.only(settings, {"mode", "database", "activity_anchor", "stale_blocks",
                             "pricing_network", "readers"});
  }
  const std::string database =
      mistakes.take(settings.string("database", "govdata.db"), std::string("govdata.db"));
  if (database.empty()) mistakes.add(Settings::wrong("database", "the path of a file"));
  const bool is_below_data = !database.starts_with('/') && !binding.data_dir.empty();
  configuration.service.database =
      is_below_data ? std::string(binding.data_dir) + "/" + database : database;
  configuration.service.activity_anchor =
      mistakes.take(read_anchor(settings), ActivityAnchor::wall_clock);
  configuration.service.pricing_network =
      mistakes.take(settings.string("pricing_network", "eip155:8453"));
  configuration.service.readers_kept =
      static_cast<std::size_t>(mistakes.take(settings.integer("readers", 4, 1, 64)));
}

Result<std::string> read_base_url(const Settings& settings) {
  auto base = settings.string("base_url", "");
  if (!base.ok()) return base;
  const bool is_http = base->rfind("https://", 0) == 0 || base->rfind("http://", 0) == 0;
  if (!is_http || base->find_first_of("?# \t\r\n") != std::string::npos) {
    return Settings::wrong("base_url", "an http or https address without query");
  }
  while (base->back() == '/') base->pop_back();
  return base;
}

Result<std::string> read_token(const Settings& settings) {
  if (settings.find("api_token") == nullptr) {
    return Settings::wrong("api_token", "{secret: {env: NAME}} or {secret: {file: PATH}}");
  }
  auto token = settings.secret("api_token");
  if (!token.ok()) return token;
  const bool is_plain =
      std::all_of(token->begin(), token->end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!is_plain) return Settings::wrong("api_token", "a token of visible ASCII");
  return token;
}

void read_proxy(const Settings& settings, Mode mode, Configuration& configuration,
                Mistakes& mistakes) {
  ProxySettings& proxy = configuration.proxy;
  if (mode == Mode::proxy_v2) {
    mistakes.only(settings, {"mode", "base_url", "api_token", "user_agent",
                             "allow_private_addresses", "connect_timeout_ms", "pricing_network"});
    configuration.service.pricing_network =
        mistakes.take(settings.string("pricing_network", "eip155:8453"));
  } else {
    mistakes.only(settings, {"mode", "base_url", "api_token", "user_agent",
                             "allow_private_addresses", "connect_timeout_ms"});
  }
  proxy.base_url = mistakes.take(read_base_url(settings));
  proxy.api_token = mistakes.take(read_token(settings));
  proxy.user_agent = mistakes.take(settings.string("user_agent", default_user_agent));
  proxy.allow_private_addresses = mistakes.take(settings.boolean("allow_private_addresses", false));
  proxy.connect_timeout_ms = static_cast<std::uint32_t>(
      mistakes.take(settings.integer("connect_timeout_ms", 3000, 1, 60'000)));
}

// The route's own settings. They may name the operation, if the path does not determine it, and say
// what happens while a source is stale.
struct RouteSettings {
  Operation operation = Operation::pricing;
  bool stale_blocks = false;
};

Result<bool> read_stale(const Settings& settings, bool fallback) {
  auto stale = settings.string("stale", fallback ? "block" : "annotate");
  if (!stale.ok()) return std::move(stale).error();
  if (*stale == "block") return true;
  if (*stale == "annotate") return false;
  return Settings::wrong("stale", "block or annotate");
}

Result<RouteSettings> read_route(const BoundOperation& bound, bool stale_blocks) {
  RouteSettings route;
  route.stale_blocks = stale_blocks;
  if (bound.settings != nullptr && bound.settings->kind != Settings::Kind::null) {
    if (auto known = bound.settings->only({"operation", "stale"}); !known.ok()) {
      return std::move(known).error();
    }
    auto stale = read_stale(*bound.settings, stale_blocks);
    if (!stale.ok()) return std::move(stale).error();
    route.stale_blocks = *stale;
    auto name = bound.settings->string("operation", "");
    if (!name.ok()) return std::move(name).error();
    if (const auto named = operation_of_name(*name)) {
      route.operation = *named;
      return route;
    }
    if (!name->empty()) {
      return Settings::wrong("operation",
                             "pricing, daos, freshness, lookup, item, brief, "
                             "evidence, signals, activity or events");
    }
  }
  if (const auto by_path = operation_of_path(bound.path)) {
    route.operation = *by_path;
    return route;
  }
  return Failure{FailureKind::invalid_settings,
                 "the path " + std::string(bound.path) +
                     " is none of the provider's; name it by upstream_settings.operation",
                 "operation", false};
}

}  // namespace

Result<Configuration> read_configuration(const Binding& binding) {
  Configuration configuration;
  auto mode = read_mode(binding.settings);
  if (!mode.ok()) return std::move(mode).error();
  configuration.mode = *mode;
  Mistakes mistakes;
  const bool has_store = *mode == Mode::embedded || *mode == Mode::poll;
  bool stale_blocks = false;
  if (has_store) {
    read_embedded(binding, configuration, mistakes);
    stale_blocks = mistakes.take(binding.settings.boolean("stale_blocks", false));
  } else {
    read_proxy(binding.settings, *mode, configuration, mistakes);
    configuration.proxy.probe_sends_token = binding.probe_uses_credential;
  }
  for (std::size_t at = 0; at < binding.operations.size(); ++at) {
    const BoundOperation& bound = binding.operations[at];
    PricedRoute route;
    bool blocks = stale_blocks;
    if (*mode != Mode::proxy) {
      const auto settings = read_route(bound, stale_blocks);
      if (settings.ok()) {
        route.operation = settings->operation;
        blocks = settings->stale_blocks;
      } else {
        mistakes.add(settings.error(), of_operation(at));
      }
    }
    configuration.stale_blocks.push_back(blocks);
    route.route_id = bound.route_id;
    route.path = bound.path;
    route.method = name_of(bound.method);
    route.credit_cost = bound.credit_cost;
    route.x402_atomic_amount = bound.per_call_amount;
    configuration.service.routes.push_back(std::move(route));
  }
  if (!mistakes.none()) return mistakes.failure();
  return configuration;
}

}  // namespace turnpike::govdata
