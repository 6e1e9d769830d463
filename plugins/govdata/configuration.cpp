#include "govdata/configuration.h"

#include <algorithm>

namespace turnpike::govdata {
namespace {

constexpr const char* default_user_agent = "turnpike-govdata/1";

Result<Mode> read_mode(const Settings& settings) {
  auto mode = settings.string("mode", "embedded");
  if (!mode.ok()) return std::move(mode).error();
  if (*mode == "embedded") return Mode::embedded;
  if (*mode == "proxy") return Mode::proxy;
  return Settings::wrong("mode", "embedded or proxy");
}

Done read_embedded(const Binding& binding, Configuration& configuration) {
  const Settings& settings = binding.settings;
  if (auto known = settings.only(
          {"mode", "database", "activity_anchor", "stale_blocks", "pricing_network", "readers"});
      !known.ok()) {
    return known;
  }
  auto database = settings.string("database", "govdata.db");
  if (!database.ok()) return std::move(database).error();
  if (database->empty()) return Settings::wrong("database", "the path of a file");
  const bool is_below_data = database->front() != '/' && !binding.data_dir.empty();
  configuration.service.database =
      is_below_data ? std::string(binding.data_dir) + "/" + *database : *database;
  auto anchor = settings.string("activity_anchor", "wall_clock");
  if (!anchor.ok()) return std::move(anchor).error();
  if (*anchor == "data_as_of") {
    configuration.service.activity_anchor = ActivityAnchor::data_as_of;
  } else if (*anchor != "wall_clock") {
    return Settings::wrong("activity_anchor", "wall_clock or data_as_of");
  }
  auto stale_blocks = settings.boolean("stale_blocks", false);
  if (!stale_blocks.ok()) return std::move(stale_blocks).error();
  configuration.stale_blocks = *stale_blocks;
  auto network = settings.string("pricing_network", "eip155:8453");
  if (!network.ok()) return std::move(network).error();
  configuration.service.pricing_network = *network;
  auto readers = settings.integer("readers", 4, 1, 64);
  if (!readers.ok()) return std::move(readers).error();
  configuration.service.readers_kept = static_cast<std::size_t>(*readers);
  return Unit{};
}

Done read_proxy(const Settings& settings, ProxySettings& proxy) {
  if (auto known = settings.only({"mode", "base_url", "api_token", "user_agent",
                                  "allow_private_addresses", "connect_timeout_ms"});
      !known.ok()) {
    return known;
  }
  auto base = settings.string("base_url", "");
  if (!base.ok()) return std::move(base).error();
  const bool is_http = base->rfind("https://", 0) == 0 || base->rfind("http://", 0) == 0;
  if (!is_http || base->find_first_of("?# \t\r\n") != std::string::npos) {
    return Settings::wrong("base_url", "an http or https address without query");
  }
  while (base->back() == '/') base->pop_back();
  proxy.base_url = *base;
  if (settings.find("api_token") == nullptr) {
    return Settings::wrong("api_token", "{secret: {env: NAME}} or {secret: {file: PATH}}");
  }
  auto token = settings.secret("api_token");
  if (!token.ok()) return std::move(token).error();
  const bool is_plain =
      std::all_of(token->begin(), token->end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!is_plain) return Settings::wrong("api_token", "a token of visible ASCII");
  proxy.api_token = *token;
  auto agent = settings.string("user_agent", default_user_agent);
  if (!agent.ok()) return std::move(agent).error();
  proxy.user_agent = *agent;
  auto allowed = settings.boolean("allow_private_addresses", false);
  if (!allowed.ok()) return std::move(allowed).error();
  proxy.allow_private_addresses = *allowed;
  auto timeout = settings.integer("connect_timeout_ms", 3000, 1, 60'000);
  if (!timeout.ok()) return std::move(timeout).error();
  proxy.connect_timeout_ms = static_cast<std::uint32_t>(*timeout);
  return Unit{};
}

// The route's own settings may name the operation where the path does not tell it.
Result<Operation> operation_of(const BoundOperation& bound) {
  if (bound.settings != nullptr && bound.settings->kind != Settings::Kind::null) {
    if (auto known = bound.settings->only({"operation"}); !known.ok()) {
      return std::move(known).error();
    }
    auto name = bound.settings->string("operation", "");
    if (!name.ok()) return std::move(name).error();
    if (const auto named = operation_of_name(*name)) return *named;
    if (!name->empty()) {
      return Settings::wrong("operation",
                             "pricing, daos, freshness, lookup, item, brief, "
                             "evidence, signals, activity or events");
    }
  }
  if (const auto by_path = operation_of_path(bound.path)) return *by_path;
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
  auto read = *mode == Mode::embedded ? read_embedded(binding, configuration)
                                      : read_proxy(binding.settings, configuration.proxy);
  if (!read.ok()) return std::move(read).error();
  for (const BoundOperation& bound : binding.operations) {
    PricedRoute route;
    if (*mode == Mode::embedded) {
      auto operation = operation_of(bound);
      if (!operation.ok()) return std::move(operation).error();
      route.operation = *operation;
    }
    route.route_id = bound.route_id;
    route.path = bound.path;
    route.method = name_of(bound.method);
    route.credit_cost = bound.credit_cost;
    route.x402_atomic_amount = bound.x402_atomic_amount;
    configuration.service.routes.push_back(std::move(route));
  }
  return configuration;
}

}  // namespace turnpike::govdata
