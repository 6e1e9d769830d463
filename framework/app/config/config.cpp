#include "app/config/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <tuple>

#include "app/config/config_section.h"
#include "app/config/config_site.h"
#include "app/config/paths.h"
#include "app/control.h"
#include "base/log.h"
#include "hosts/origins.h"
#include "identity/email.h"
#include "identity/name.h"
#include "registry/settings_tree.h"
#include "storage/engine/database.h"
#include "storage/redis_quota.h"
#include "text/http_field.h"

namespace turnpike::app {
namespace {

using registry::Problem;

// Load balancers probe every few seconds, and stop sending after two or three failures.
constexpr std::uint32_t unready_before_stop_ms = 5'000;

void read_storage(Section& top, Config& config) {
  Section storage(top, "storage");
  storage.choice("engine", config.engine,
                 {{"sqlite", Engine::sqlite}, {"postgres", Engine::postgres}});
  storage.choice("durability", config.is_durability_relaxed, {{"full", false}, {"relaxed", true}});
  storage.boolean("migrate_at_start", config.migrate_at_start);
  Section(storage, "sqlite").text("path", config.sqlite_path);
  Section postgres(storage, "postgres");
  postgres.text_or_secret("url", config.postgres_url);
  if (config.engine != Engine::postgres) return;
  const std::string fault = storage::postgres_url_fault(config.postgres_url);
  if (!fault.empty()) postgres.report("url", fault);
}

void read_free(Section& top, Config& config) {
  Section free(top, "free");
  free.choice("store", config.free_store, {{"node", FreeStore::node}, {"redis", FreeStore::redis}});
  Section redis(free, "redis");
  redis.text_or_secret("url", config.free_redis_url);
  free.choice("unreachable", config.free_unreachable,
              {{"refuse", FreeUnreachable::refuse}, {"local", FreeUnreachable::local}});
  const bool has_nodes = free.child("nodes") != nullptr;
  free.integer("nodes", config.nodes, 1, 10'000);
  if (config.free_store == FreeStore::redis) {
    const std::string fault = storage::redis_url_fault(config.free_redis_url);
    if (!fault.empty()) redis.report("url", fault);
  }
  if (config.free_unreachable == FreeUnreachable::local && !has_nodes) {
    free.report("nodes", "`unreachable: local` needs the number of nodes");
  }
}

// The key means that only pinned files are loaded, so an empty list is refused.
void read_pins(const Settings& node, Section& plugins, Config& config) {
  const auto is_digest = [](const Settings& pin) {
    constexpr std::size_t hex_digits = 64;
    return pin.kind == Settings::Kind::scalar && pin.text.size() == hex_digits &&
           pin.text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  };
  bool is_sound = node.kind == Settings::Kind::map && !node.fields.empty();
  for (const auto& [file, digest] : node.fields) {
    is_sound = is_sound && is_digest(digest);
    std::string& pin = config.plugins_sha256[file] = digest.text;
    for (char& c : pin) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (is_sound) return;
  plugins.report("sha256",
                 "expected a map from file names to their SHA-256, 64 hex digits in quotes; leave "
                 "`sha256` out to pin nothing");
}

void read_plugins(Section& top, Config& config) {
  Section plugins(top, "plugins");
  plugins.paths("directory", config.plugins_directories);
  const Settings* pins = plugins.child("sha256");
  const auto keys = plugins.keys();
  const bool is_there = std::find(keys.begin(), keys.end(), "sha256") != keys.end();
  if (is_there) read_pins(pins == nullptr ? Settings{} : *pins, plugins, config);
}

// A lane or a processor checks its own settings when it is bound.
void read_plugin_settings(Section& top, Config& config) {
  Section lanes(top, "lanes");
  for (const std::string& name : lanes.keys()) {
    if (const Settings* settings = lanes.child(name)) config.lanes[name] = *settings;
  }
  // A named processor is in service, with or without settings.
  Section processors(top, "processors");
  for (const std::string& name : processors.keys()) {
    const Settings* const settings = processors.child(name);
    config.processors[name] = settings == nullptr ? Settings{} : *settings;
  }
}

void read_commerce(Section& top, CommerceConfig& commerce) {
  Section section(top, "commerce");
  const auto url = [&section](const std::string& key, std::string& out) {
    section.text(key, out);
    if (out.empty() || out.starts_with("https://") || out.starts_with("http://")) return;
    section.report(key, "expected a URL, in which {account} and {purchase} stand for their ids");
  };
  url("success_url", commerce.success_url);
  url("cancel_url", commerce.cancel_url);
  section.integer("checkout_minutes", commerce.checkout_minutes, 35, 24 * 60);
  section.integer("open_purchases_max", commerce.open_purchases_max, 1, 100);
  Section top_up(section, "auto_top_up");
  top_up.boolean("enabled", commerce.auto_top_up.is_enabled);
  top_up.integer("failures_max", commerce.auto_top_up.failures_max, 1, 10);
  top_up.integer("runs_per_day_max", commerce.auto_top_up.runs_per_day_max, 1, 100);
}

void read_notifications(Section& top, Config& config) {
  Section section(top, "notifications");
  bool& allows = config.notifications.allow_private_addresses;
  section.boolean("allow_private_addresses", allows);
  if (allows && config.environment != identity::Environment::development) {
    section.report("allow_private_addresses",
                   "is for development alone: members name endpoints, and could reach what only "
                   "this network should");
  }
}

void read_mcp_host(Section& hosts, McpConfig& mcp) {
  Section section(hosts, "mcp");
  section.listener("listen", mcp.listen);
  section.public_url("base_url", mcp.base_url);
  (void)section.texts("allowed_hosts", mcp.allowed_hosts);
  section.origins("allowed_origins", mcp.allowed_origins);
  section.choice("tool_names", mcp.tool_names,
                 {{"dotted", hosts::mcp::ToolNames::dotted},
                  {"underscored", hosts::mcp::ToolNames::underscored}});
  section.text("openai_apps_challenge", mcp.openai_apps_challenge);
  section.integer("progress_interval_ms", mcp.progress_interval_ms, 100, 60'000);
  if (mcp.base_url.empty() && listens_everywhere(mcp.listen)) {
    section.report("base_url",
                   "a host that listens on all addresses needs the URL that its callers use");
  }
  if (!text::is_visible_ascii(mcp.openai_apps_challenge)) {
    section.report("openai_apps_challenge", "expected one token");
  }
}

// Cookies that are not Secure, and passkeys, work over http on this machine only.
bool is_fit_for_sessions(std::string_view url) noexcept {
  const auto [host, port] = hosts::split_authority(hosts::authority_of(url));
  return url.starts_with("https://") || host == "localhost" || host == "127.0.0.1" ||
         host == "[::1]";
}

// Accepts "v=MCPv1; k=ed25519; p=" and 32 bytes in base64, or "k=ecdsap384" and a point of 49
// bytes.
bool is_registry_key(std::string_view line) noexcept {
  for (const auto& [begin, letters, padding] :
       {std::tuple<std::string_view, std::size_t, std::string_view>{
            "v=MCPv1; k=ed25519; p=", 43, "="},
        {"v=MCPv1; k=ecdsap384; p=", 66, "=="}}) {
    if (!line.starts_with(begin)) continue;
    const std::string_view key = line.substr(begin.size());
    return key.size() == letters + padding.size() && key.ends_with(padding) &&
           key.substr(0, letters).find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") == key.npos;
  }
  return false;
}

void read_web_host(Section& hosts, Config& config) {
  Section web(hosts, "web");
  web.listener("listen", config.web.listen);
  web.public_url("base_url", config.web.base_url);
  web.text("mcp_registry_auth", config.mcp_registry_auth);
  if (!config.mcp_registry_auth.empty() && !is_registry_key(config.mcp_registry_auth)) {
    web.report("mcp_registry_auth",
               "expected the public key as the MCP Registry reads it: \"v=MCPv1; k=ed25519; p=\" "
               "and 44 characters of base64, or k=ecdsap384 and 68");
  }
  const std::string url =
      config.web.base_url.empty() ? "http://" + config.web.listen : config.web.base_url;
  if (!config.web.listen.empty() && !is_fit_for_sessions(url)) {
    web.report("base_url",
               "people sign in here, so a host that other machines reach needs its https URL");
  }
  web.text("docs_url", config.docs_url);
  while (config.docs_url.ends_with('/')) config.docs_url.pop_back();
  const bool is_plain = config.docs_url.find_first_of("?# \t\r\n") == std::string::npos;
  if (!config.docs_url.empty() && (hosts::origin_of(config.docs_url).empty() || !is_plain)) {
    web.report("docs_url", "expected an https URL without a query, such as "
                           "https://docs.example.com; found \"" + config.docs_url + "\"");
  }
}

void read_proxies(Section& section, Config& config) {
  std::optional<std::vector<std::string>> proxies;
  (void)section.texts("trusted_proxies", proxies);
  for (const std::string& text : proxies.value_or(std::vector<std::string>())) {
    if (const auto range = hosts::AddressRange::read(text)) {
      config.trusted_proxies.push_back(*range);
    } else {
      section.report("trusted_proxies",
                     "expected addresses or ranges such as 10.0.0.0/8; found \"" + text + "\"");
    }
  }
  if (proxies || !config.web.base_url.starts_with("https://")) return;
  section.note(
      "trusted_proxies",
      "is not set, and hosts.web.base_url is https: behind a proxy all people come from one "
      "address, and the failed sign-ins of one of them keep the others waiting");
}

// Browsers let a page use passkeys of its own host name, or of a parent domain.
bool is_domain_of(std::string_view domain, std::string_view host) noexcept {
  return host == domain ||
         (host.ends_with(domain) && host.substr(0, host.size() - domain.size()).ends_with('.'));
}

bool is_provider_key(std::string_view key) noexcept {
  constexpr std::size_t key_bytes_max = 32;
  return !key.empty() && key.size() <= key_bytes_max && key.front() != '-' &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == key.npos;
}

bool is_domain(std::string_view text) noexcept {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '.';
  };
  return text.find('.') != text.npos && std::all_of(text.begin(), text.end(), fits);
}

void read_allowed_domains(Section& section, identity::ProviderSettings& provider) {
  std::optional<std::vector<std::string>> domains;
  if (!section.texts("allowed_domains", domains) || !domains) return;
  for (const std::string& domain : *domains) {
    if (is_domain(domain)) continue;
    section.report("allowed_domains",
                   "expected domains of e-mail addresses, such as example.org; found \"" + domain +
                       "\"");
  }
  provider.allowed_domains = *std::move(domains);
  if (!provider.creates_people) {
    section.note("allowed_domains",
                 "is of no use without create_people: it says of which domains new people may be");
  }
}

void read_provider(Section& section, const Config& config, identity::ProviderSettings& provider) {
  const bool is_development = config.environment == identity::Environment::development;
  section.text("key", provider.key);
  section.text("name", provider.name);
  section.text("issuer", provider.issuer);
  section.text("client_id", provider.client_id);
  section.text_or_secret("client_secret", provider.client_secret);
  section.boolean("create_people", provider.creates_people);
  read_allowed_domains(section, provider);
  section.boolean("counts_as_strong", provider.counts_as_strong);
  provider.allows_private_addresses = is_development;
  section.boolean("allow_private_addresses", provider.allows_private_addresses);
  provider.allows_http = is_development;
}

void check_provider(Section& section, const identity::ProviderSettings& provider,
                    const std::vector<identity::ProviderSettings>& before) {
  if (!is_provider_key(provider.key)) {
    section.report("key",
                   "expected 1 to 32 of a-z, 0-9 and \"-\": it stands in the URL that the provider "
                   "sends people back to");
  }
  const bool is_taken = std::any_of(before.begin(), before.end(), [&](const auto& other) {
    return other.key == provider.key;
  });
  if (is_taken) section.report("key", "another provider has the key \"" + provider.key + "\"");
  if (identity::fault_in_name(provider.name)) {
    section.report("name", "expected a name for people, such as Acme");
  }
  if (provider.client_id.empty()) {
    section.report("client_id", "expected the id that the provider knows this gateway by");
  }
  const auto fault = identity::fault_in_provider_url(provider.issuer, provider.allows_http);
  if (fault) {
    section.report("issuer", "expected the provider's issuer, an https URL; this " + *fault);
  } else if (provider.issuer.find('?') != std::string::npos) {
    section.report("issuer", "expected the provider's issuer, an https URL; this has a query");
  }
}

void read_providers(Section& identity, Config& config) {
  auto& providers = config.people.providers;
  identity.each("providers", [&](Section& section, std::optional<std::size_t> place) {
    identity::ProviderSettings provider;
    read_provider(section, config, provider);
    if (!place) return;
    check_provider(section, provider, providers);
    providers.push_back(std::move(provider));
  });
  if (!providers.empty() && config.web.listen.empty()) {
    identity.report("providers", "people come back from them to hosts.web, which is not served");
  }
}

void read_identity(Section& top, Config& config) {
  using identity::Registration;
  Section identity(top, "identity");
  PeopleConfig& people = config.people;
  {
    Section sessions(identity, "sessions");
    enum class Preset : std::uint8_t { standard, strict };
    Preset preset = Preset::standard;
    sessions.choice("preset", preset,
                    {{"standard", Preset::standard}, {"strict", Preset::strict}});
    if (preset == Preset::strict) {  // NIST SP 800-63B-4 section 2.2.3, AAL2
      people.idle_minutes = 60;
      people.absolute_hours = 24;
    }
    sessions.integer("idle_minutes", people.idle_minutes, 1, 43'200);
    sessions.integer("absolute_hours", people.absolute_hours, 1, 8'760);
    sessions.integer("step_up_minutes", people.step_up_minutes, 1, 1'440);
  }
  {
    Section password(identity, "password");
    people.takes_passwords = config.environment == identity::Environment::development;
    password.boolean("enabled", people.takes_passwords);
    password.integer("min_length", people.password_bytes_min, 8, 128);
  }
  identity.choice("registration", people.registration,
                  {{"closed", Registration::closed},
                   {"invite", Registration::invite},
                   {"open", Registration::open}});
  read_providers(identity, config);
  const bool makes_people = std::any_of(people.providers.begin(), people.providers.end(),
                                        [](const auto& one) { return one.creates_people; });
  if (makes_people && people.registration == Registration::closed) {
    identity.report("registration",
                    "is closed, and a provider has create_people: one of the two cannot be meant");
  }
  Section passkeys(identity, "passkeys");
  passkeys.text("rp_id", people.passkey_domain);
  std::optional<std::vector<std::string>> former;
  (void)passkeys.texts("former_rp_ids", former);
  people.former_passkey_domains = former.value_or(std::vector<std::string>());
  if (people.passkey_domain.empty()) return;
  const std::string_view url = config.web.base_url;
  const std::string_view host =
      url.empty() ? "localhost" : hosts::split_authority(hosts::authority_of(url)).host;
  if (is_domain_of(people.passkey_domain, host)) return;
  passkeys.report("rp_id", "expected " + std::string(host) +
                               ", the host name of hosts.web.base_url, or a domain above it");
}

void read_audit(Section& top, Config& config) {
  Section audit(top, "audit");
  audit.integer("retention_days", config.people.audit_days, 0, 36'500);
}

// The connection carries a password and sign-in links, so it must be encrypted.
void check_security(Section& smtp, const Config& config) {
  const MailConfig& mail = config.mail;
  if (mail.security != mail::Security::none) return;
  const bool is_local =
      mail.host == "localhost" || mail.host == "127.0.0.1" || mail.host == "::1";
  if (is_local || config.environment == identity::Environment::development) return;
  smtp.report("tls",
              "`none` is for development, and for a server on this machine: links to sign in with "
              "would pass readable");
}

void read_mail(Section& top, Config& config) {
  Section section(top, "mail");
  Section smtp(section, "smtp");
  MailConfig& mail = config.mail;
  const bool is_there = !smtp.keys().empty();
  smtp.text("host", mail.host);
  smtp.integer("port", mail.port, 1, 65'535);
  smtp.choice("tls", mail.security,
              {{"starttls", mail::Security::starttls},
               {"implicit", mail::Security::implicit},
               {"none", mail::Security::none}});
  smtp.text("user", mail.user);
  smtp.text_or_secret("password", mail.password);
  smtp.text("from", mail.from);
  smtp.path("authorities", mail.authorities);
  if (config.people.registration == identity::Registration::open && !mail.is_on()) {
    section.report("smtp", "identity.registration is open: who signs up proves an address by mail");
  }
  if (!is_there) return;
  if (mail.host.empty()) return smtp.report("host", "expected the name of a mail server");
  constexpr std::uint32_t usual_ports[] = {587, 465, 25};
  if (mail.port == 0) mail.port = usual_ports[static_cast<std::size_t>(mail.security)];
  if (identity::fault_in_email(mail.from)) {
    smtp.report("from", "expected the address that mail comes from, such as noreply@example.com");
  }
  if (mail.user.empty() != mail.password.empty()) {
    smtp.report(mail.user.empty() ? "user" : "password", "user and password go together");
  }
  if (config.web.listen.empty()) {
    section.report("smtp", "the links in mails lead to pages of hosts.web, which does not listen");
  }
  check_security(smtp, config);
}

void read_oauth(Section& top, Config& config) {
  Section section(top, "oauth");
  OauthConfig& oauth = config.oauth;
  section.boolean("enabled", oauth.is_enabled);
  section.boolean("registration", oauth.takes_registrations);
  section.boolean("client_documents", oauth.takes_documents);
  section.integer("access_minutes", oauth.access_minutes, 1, 1'440);
  section.integer("refresh_idle_days", oauth.refresh_idle_days, 1, 3'650);
  section.integer("refresh_absolute_days", oauth.refresh_absolute_days, 1, 3'650);
  (void)section.texts("private_schemes", oauth.private_schemes);
  for (const std::string& scheme : oauth.private_schemes.value_or(std::vector<std::string>())) {
    const bool is_web = scheme == "http" || scheme == "https" || scheme == "javascript" ||
                        scheme == "data" || scheme == "file" || scheme == "blob";
    if (!is_web &&
        scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == scheme.npos &&
        !scheme.empty()) {
      continue;
    }
    section.report("private_schemes",
                   "expected schemes of programs, such as cursor, in lower "
                   "case and without a colon; found \"" +
                       scheme + "\"");
  }
}

// Two hosts cannot share a port, even if one of them listens on all addresses.
void refuse_shared_ports(Section& hosts, const Config& config) {
  const std::pair<std::string, std::string> listeners[] = {{"api", config.api.listen},
                                                           {"mcp", config.mcp.listen},
                                                           {"web", config.web.listen},
                                                           {"operator", config.operator_listen}};
  for (std::size_t at = 1; at < std::size(listeners); ++at) {
    const auto& [name, address] = listeners[at];
    for (const auto& [other, taken] : std::span(listeners).first(at)) {
      if (!is_same_port(address, taken)) continue;
      hosts.report(name, "listens on " + address + ", and hosts." + other + " on " + taken +
                             ": give each a port of its own");
    }
  }
}

// The URL is part of payment terms, and in production callers are on other machines.
void check_api_url(Section& api, const Config& config) {
  const bool is_production = config.environment == identity::Environment::production;
  if (config.api.base_url.empty() && listens_everywhere(config.api.listen) &&
      (is_production || !config.lanes.empty())) {
    api.report("base_url",
               "a host that listens on all addresses needs the URL that its callers use");
  }
  if (is_production && config.api.base_url.starts_with("http://")) {
    api.note("base_url",
             "is http in production: keys and payments pass readable, and nobody takes offers and "
             "receipts for it as genuine");
  }
}

void read_hosts(Section& top, Config& config) {
  Section hosts(top, "hosts");
  {
    Section api(hosts, "api");
    api.listener("listen", config.api.listen);
    api.public_url("base_url", config.api.base_url);
    check_api_url(api, config);
    api.path("reference_directory", config.reference_directory);
    std::optional<std::vector<std::string>> origins;
    api.origins("cors_origins", origins);
    if (origins) config.cors_origins = *std::move(origins);
  }
  read_mcp_host(hosts, config.mcp);
  read_web_host(hosts, config);
  read_proxies(hosts, config);
  Section(hosts, "operator").listener("listen", config.operator_listen);
  refuse_shared_ports(hosts, config);
}

void read_runtime(Section& top, Config& config) {
  Section runtime(top, "runtime");
  runtime.integer("loops", config.loops, 0, 256);
  runtime.integer("pool_threads", config.pool_threads, 1, 1024);
}

void read_status(Section& top, StatusConfig& config) {
  Section section(top, "status");
  section.boolean("enabled", config.is_enabled);
  section.integer("round_ms", config.round_ms, 200, 300'000);
  section.integer("evidence_lost_ms", config.evidence_lost_ms, 1'000, 604'800'000);
  {
    Section traffic(section, "traffic");
    using Publishing = status::TrafficPublishing;
    traffic.choice("publish", config.publishing,
                   {{"ratio", Publishing::ratio},
                    {"counts", Publishing::counts},
                    {"none", Publishing::none}});
  }
  Section sweep(section, "release_sweep");
  sweep.text("principal", config.sweep_principal);
  if (!config.sweep_principal.empty() && !config.sweep_principal.starts_with("key:")) {
    sweep.report("principal", "is \"key:\" and the id of an API key, such as key:key_abc");
  }
}

void read_limits(Section& top, Config& config) {
  Section limits(top, "limits");
  const bool is_asked = config.environment != identity::Environment::development;
  config.unready_before_stop_ms = is_asked ? unready_before_stop_ms : 0;
  limits.integer("unready_before_stop_ms", config.unready_before_stop_ms, 0, 600'000);
  limits.integer("drain_timeout_ms", config.drain_timeout_ms, 0, 600'000);
  limits.integer("give_up_timeout_ms", config.give_up_timeout_ms, 100, 600'000);
  limits.integer("connections_max", config.connections_max, 1, 1'000'000);
  limits.integer("calls_per_account_max", config.calls_per_account_max, 1, 1'000'000);
  limits.integer("calls_per_upstream_max", config.calls_per_upstream_max, 1, 1'000'000);
  // The longest body and the longest message may take nine sixteenths of these budgets
  // (hosts/byte_budget.h).
  limits.integer("request_bodies_bytes_max", config.request_bodies_bytes_max,
                 2 * base::limits::request_body_bytes_max, 2'000'000'000);
  limits.integer("mcp_messages_bytes_max", config.mcp_messages_bytes_max,
                 2 * base::limits::mcp_message_bytes_max, 2'000'000'000);
  limits.integer("mcp_reply_bytes_max", config.mcp_reply_bytes_max, 1'024,
                 base::limits::response_whole_bytes_max);
  limits.integer("heavy_transfers_max", config.heavy_transfers_max, 1, 10'000);
  limits.integer("heavy_transfer_wait_ms", config.heavy_transfer_wait_ms, 0, 30'000);
  limits.integer("transfer_timeout_ms", config.transfer_timeout_ms, 100, 600'000);
  limits.integer("transfer_bytes_per_second_min", config.transfer_bytes_per_second_min, 1'024,
                 1'000'000'000);
}

void read_ledger(Section& top, Config& config) {
  Section ledger(top, "ledger");
  ledger.integer("lease_hold_ms", config.lease_hold_ms, 100, 600'000);
  ledger.integer("lease_settle_margin_ms", config.lease_settle_margin_ms, 0, 600'000);
}

void read_accounts(Section& top, Config& config) {
  Section accounts(top, "accounts");
  Section grant(accounts, "starter_grant");
  grant.boolean("enabled", config.starter_grant);
  grant.integer("credits", config.starter_grant_credits, 1, 1'000'000'000);
  grant.integer("days", config.starter_grant_days, 1, 36'500);
  grant.boolean("needs_owner", config.starter_grant_needs_owner);
}

Config decode(const Settings& tree, Reading& reading) {
  Config config;
  Section top(tree, reading);
  using identity::Environment;
  top.choice("environment", config.environment,
             {{"development", Environment::development},
              {"staging", Environment::staging},
              {"production", Environment::production}});
  top.path("data_dir", config.data_dir);
  if (config.data_dir.empty()) top.report("data_dir", "expected the path of a directory");
  if (control_socket(config).size() > control_path_bytes_max) {
    top.report("data_dir", "is too long: the path of the control socket in it may have " +
                               std::to_string(control_path_bytes_max) + " bytes");
  }
  read_storage(top, config);
  read_free(top, config);
  read_plugins(top, config);
  read_plugin_settings(top, config);
  read_commerce(top, config.commerce);
  read_notifications(top, config);
  Section(top, "registry").path("path", config.registry_path);
  read_hosts(top, config);
  read_site(top, config.site);
  read_identity(top, config);
  read_mail(top, config);
  read_oauth(top, config);
  read_audit(top, config);
  read_runtime(top, config);
  read_status(top, config.status);
  read_limits(top, config);
  read_ledger(top, config);
  read_accounts(top, config);
  Section(top, "log")
      .choice("level", config.log_level,
              {{base::name_of(Severity::debug), Severity::debug},
               {base::name_of(Severity::info), Severity::info},
               {base::name_of(Severity::warning), Severity::warning},
               {base::name_of(Severity::error), Severity::error}});
  return config;
}

// Sets the value of one `--set a.b.c=value` in the tree; creates maps on the way.
std::optional<Problem> apply_setting(Settings& tree, const std::string& setting, int number) {
  const std::size_t equals = setting.find('=');
  const std::string key = setting.substr(0, equals);
  if (equals == std::string::npos || key.empty()) {
    return Problem{"configuration", "--set", number, 1, setting, "expected path.to.key=value"};
  }
  Settings* node = &tree;
  std::istringstream words(key);
  for (std::string word; std::getline(words, word, '.');) {
    if (node->kind != Settings::Kind::map) {
      node->items.clear();
      node->text.clear();
      node->kind = Settings::Kind::map;
    }
    const auto known = std::find_if(node->fields.begin(), node->fields.end(),
                                    [&](const auto& field) { return field.name == word; });
    if (known != node->fields.end()) {
      node = &known->value;
    } else {
      node = &node->fields.emplace_back(Settings::Field{word, {}}).value;
    }
    node->file = "--set";
    node->line = number;
    node->column = 1;
  }
  node->kind = Settings::Kind::scalar;
  node->quoted = false;
  node->fields.clear();
  node->items.clear();
  node->text = setting.substr(equals + 1);
  return std::nullopt;
}

}  // namespace

Result<Config, std::vector<Problem>> read_config(const std::string& path,
                                                 const std::vector<std::string>& settings) {
  Reading reading;
  Settings tree;
  tree.kind = Settings::Kind::map;
  if (!path.empty()) {
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    if (!stream || std::filesystem::is_directory(path)) {
      return std::vector<Problem>{
          {"configuration", path, 0, 0, "", "cannot be read; name another with --config"}};
    }
    auto parsed = registry::parse_settings({path, text.str()});
    if (!parsed.ok()) return std::move(parsed).error();
    tree = *std::move(parsed);
  }
  for (std::size_t at = 0; at < settings.size(); ++at) {
    if (auto problem = apply_setting(tree, settings[at], static_cast<int>(at) + 1)) {
      reading.problems.push_back(*std::move(problem));
    }
  }
  Config config = decode(tree, reading);
  if (!reading.problems.empty()) return std::move(reading.problems);
  config.notes = std::move(reading.notes);
  return config;
}

std::vector<std::string> config_keys() {
  Reading reading;
  (void)decode({}, reading);
  return std::move(reading.keys);
}

}  // namespace turnpike::app
