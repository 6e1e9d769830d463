#include "app/gateway.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "app/commands/command_line.h"
#include "app/config/paths.h"
#include "app/config/secrets.h"
#include "app/config/signing_key.h"
#include "app/config/warnings.h"
#include "app/control.h"
#include "app/gateway_backend.h"
#include "app/last_resort.h"
#include "app/plugins/plugin_runner.h"
#include "app/services/chores.h"
#include "app/services/commerce_services.h"
#include "app/services/console_feed.h"
#include "app/services/mail_services.h"
#include "app/services/mcp_tools.h"
#include "app/services/notice_services.h"
#include "app/services/people_services.h"
#include "app/services/status_services.h"
#include "app/stores.h"
#include "app/version.h"
#include "base/sources.h"
#include "exchange/call_reports.h"
#include "hosts/api/api_host.h"
#include "hosts/dashboard/auto_top_up_pages.h"
#include "hosts/dashboard/dashboard_routes.h"
#include "hosts/dashboard/notice_pages.h"
#include "hosts/dashboard/people_routes.h"
#include "hosts/dashboard/purchase_pages.h"
#include "hosts/discovery.h"
#include "hosts/discovery_routes.h"
#include "hosts/mcp/envelope.h"
#include "hosts/mcp/mcp_host.h"
#include "hosts/mcp/service_prompts.h"
#include "hosts/mcp/service_resources.h"
#include "hosts/operator/operator_host.h"
#include "hosts/pages.h"
#include "hosts/site/site_routes.h"
#include "hosts/status_table.h"
#include "hosts/web/web_host.h"
#include "identity/accounts.h"
#include "identity/cached_authenticator.h"
#include "identity/operators.h"
#include "lanes/credits.h"
#include "lanes/free.h"
#include "ledger/calls.h"
#include "ledger/statements/statements.h"
#include "plugin/catalog.h"
#include "quota/node_store.h"
#include "quota/with_fallback.h"
#include "records/durable_stores.h"
#include "runtime/fault.h"
#include "runtime/limits_check.h"
#include "site/authored_pages.h"
#include "site/directory.h"
#include "storage/redis_quota.h"
#include "text/encoding.h"
#include "text/json_text.h"
#include "wire/client.h"
#include "wire/server.h"

namespace turnpike::app {
namespace {

constexpr std::size_t cursor_key_bytes = 32;
// The queue bound for calls of blocking plugins: beyond it, calls are refused at once.
constexpr std::uint32_t calls_queued_max = 4'096;

std::string in_lines(const std::string& heading, const PluginSet::Problems& problems) {
  std::string text = heading;
  for (const registry::Problem& problem : problems) text += "\n  " + problem.text();
  return text;
}

std::string answer_of(const Reloaded& reloaded) {
  if (!reloaded.generation) {
    return json_text({{"ok", false}, {"problems", problems_json(reloaded.problems)}});
  }
  nlohmann::json notes = reloaded.notes;
  for (const auto& secret : reloaded.missing_secrets) notes.push_back(secret.text());
  return json_text({{"ok", true},
                    {"notes", notes},
                    {"generation", reloaded.generation->id},
                    {"sequence", reloaded.generation->sequence},
                    {"payload_hash", reloaded.generation->payload_hash}});
}

hosts::BuildInfo build_info(const Config& config) {
  return {std::string(program_version), std::string(program_commit),
          std::string(name_of(config.environment))};
}

hosts::ServiceName service_name(const Config& config) {
  return {config.site.brand.name, config.site.brand.tagline};
}

std::string without_redis(const Config& config) {
  return config.free_unreachable == FreeUnreachable::local
             ? "The Redis of `free` does not answer: each node grants its share of the limits of "
               ":free requests alone."
             : "The Redis of `free` does not answer: :free requests are refused.";
}

// The longest time that sending the reply of a call may take.
std::int64_t transfer_ms_max(const Config& config) {
  return std::int64_t{config.transfer_timeout_ms} +
         static_cast<std::int64_t>(base::limits::response_bytes_max) * 1'000 /
             config.transfer_bytes_per_second_min;
}

ledger::LedgerSettings ledger_settings(const Config& config) {
  ledger::LedgerSettings settings;
  settings.lease_hold_ms = config.lease_hold_ms;
  settings.settle_margin_ms = config.lease_settle_margin_ms;
  if (settings.settle_margin_ms == 0) {
    settings.settle_margin_ms = ledger::settle_ms_max(transfer_ms_max(config));
  }
  return settings;
}

}  // namespace

// In order of construction; destroyed in reverse order.
struct Gateway::Parts {
  base::SystemClock clock;
  base::SystemRandom random;
  const std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  std::unique_ptr<base::ProcessLog> log;
  std::optional<exchange::CallReports> reports;
  std::optional<runtime::AtFatalSignal> at_fatal_signal;
  std::optional<LastResort> last_resort;
  std::mutex fatal_mutex;
  std::optional<std::string> fatal;

  std::unique_ptr<storage::Node> node;
  std::unique_ptr<runtime::Runtime> runtime;
  std::unique_ptr<ledger::EscrowLedger> ledger;
  std::unique_ptr<records::DurableStores> stores;
  std::unique_ptr<ledger::PooledStatements> statements;
  std::unique_ptr<ledger::PooledCalls> calls;
  std::unique_ptr<identity::CachedAuthenticator> authenticator;
  std::unique_ptr<PeopleServices> people;
  std::unique_ptr<wire::Client> client;
  std::unique_ptr<wire::Client> document_client;  // null: no authorization server
  std::optional<hosts::oauth_server::ClientDocuments> documents;
  std::optional<plugin::HostResources> resources;
  std::optional<PluginSet> plugins;
  std::atomic<const plugin::Catalog*> stalls{nullptr};  // read by the watchdog's thread

  std::unique_ptr<quota::NodeStore> node_counts;      // all counts, or those without Redis
  std::unique_ptr<storage::RedisQuota> redis_counts;  // null: one node
  std::unique_ptr<quota::WithFallback> shared_counts;  // null: no fallback
  quota::QuotaStore* free_counts = nullptr;
  std::optional<plugin::PluginHost> credits_host;
  std::optional<lanes::CreditsLane> credits;
  std::optional<plugin::PluginHost> free_host;
  std::optional<lanes::FreeLane> free;
  std::vector<exchange::LaneSlot> lanes;
  std::unique_ptr<CommerceServices> commerce;
  std::unique_ptr<Serving> serving;
  std::unique_ptr<NoticeServices> notices;

  std::string cursor_key;  // signs the cursors of all lists
  std::optional<Sentinels> sentinels;
  std::unique_ptr<StatusServices> status;
  std::unique_ptr<PluginRunner> plugin_runner;
  std::unique_ptr<Chores> chores;
  std::unique_ptr<MailServices> mail;  // null: mail is not configured
  std::unique_ptr<GatewayBackend> backend;
  std::optional<hosts::mcp::Executions> executions;
  std::optional<hosts::AccountReads> account_reads;
  std::optional<McpTools> mcp_tools;
  std::optional<hosts::mcp::ServiceResources> mcp_resources;
  std::optional<hosts::mcp::ServicePrompts> mcp_prompts;
  std::optional<hosts::mcp::Features> features;
  std::unique_ptr<Generations> generations;
  std::unique_ptr<hosts::AccessLog> access_log;
  std::optional<hosts::Discovery> discovery;
  std::optional<hosts::DiscoveryRooms> discovery_rooms;
  std::unique_ptr<hosts::api::ApiHost> api;
  std::unique_ptr<hosts::mcp::McpHost> mcp;
  std::optional<hosts::Pages> pages;
  std::optional<site::AuthoredPages> authored_pages;
  const site::Directory directory;
  std::optional<hosts::public_site::SiteRooms> site_rooms;
  std::optional<hosts::web::WebRooms> web_rooms;
  std::unique_ptr<hosts::web::WebHost> web;
  std::vector<Warning> warnings;  // of this start
  std::int64_t started_at_ms = 0;
  std::optional<ConsoleFeed> console_feed;
  std::optional<identity::Operators> operators;
  std::unique_ptr<hosts::operators::OperatorHost> operator_host;
  std::unique_ptr<wire::Server> server;
  hosts::PublicUrls urls;
  std::string web_url;
  std::string api_address;  // bound addresses: this and the next two
  std::string mcp_address;
  std::string web_address;
  std::unique_ptr<ControlServer> control;
};

Gateway::Gateway(Config config) : config_(std::move(config)), parts_(new Parts) {
  Parts& parts = *parts_;
  parts.log = base::make_process_log(
      parts.clock,
      {.minimum = config_.log_level,
       .dropped = &parts.metrics->counter(
           "turnpike_log_lines_dropped_total",
           "Log lines that were lost: their reader was too slow, or the disk full.", {})});
  parts.at_fatal_signal.emplace(
      [](void* log) noexcept { static_cast<base::ProcessLog*>(log)->write_gathered(); },
      parts.log.get());
  parts.last_resort.emplace(*parts.log);
  parts.reports.emplace(*parts.log, *parts.metrics);
}

Gateway::~Gateway() = default;

Result<Unit, std::string> Gateway::start(RefusedStart refused_start) {
  parts_->started_at_ms = parts_->clock.now_ms();
  parts_->warnings = warnings_of(config_);
  for (const Warning& warning : parts_->warnings) {
    parts_->log->write(Severity::warning, warning.event, {{"problem", warning.text}});
  }
  for (const registry::Problem& note : config_.notes) {
    parts_->log->write(Severity::warning, "configuration_note", {{"note", note.text()}});
  }
  for (const auto& step : {&Gateway::open_stores, &Gateway::start_runtime, &Gateway::bind_hosts,
                           &Gateway::load_plugins, &Gateway::make_program_parts}) {
    auto done = (this->*step)();
    if (!done.ok()) return done;
  }
  const Reloaded first = parts_->generations->start(refused_start);
  // Without any program the listeners still open; a reload repairs the state.
  if (!first.generation && refused_start == RefusedStart::serve_nothing) {
    return "the registry was refused: " + first.problems.front().text();
  }
  parts_->backend->refresh_loops();
  if (auto watching = open_status(); !watching.ok()) return watching;
  parts_->plugin_runner =
      std::make_unique<PluginRunner>(*parts_->runtime, *parts_->serving, *parts_->log);
  parts_->chores = std::make_unique<Chores>(
      parts_->node->usage(), identity::Accounts(parts_->node->accounts(), starter_grant(config_)),
      parts_->node->sessions(), parts_->node->grants(),
      Chores::AuditLog{parts_->node->audit(), config_.people.audit_days}, *parts_->log);
  if (config_.mail.is_on()) {
    parts_->mail = std::make_unique<MailServices>(
        config_, parts_->node->mail(), parts_->web_url,
        MailServices::Sources{parts_->clock, parts_->random, *parts_->log, *parts_->metrics});
  }
  auto made = make_hosts();
  return made.ok() ? listen() : made;
}

Result<Unit, std::string> Gateway::open_stores() {
  auto node = open_node(config_, storage::Role::gateway, parts_->clock, parts_->random);
  if (!node.ok()) return std::move(node).error();
  parts_->node = *std::move(node);
  // Resumes accounts that a crash left between their creation and their grant.
  identity::Accounts accounts(parts_->node->accounts(), starter_grant(config_));
  const auto resumed = accounts.resume();
  if (!resumed.ok()) return resumed.error().message;
  return Unit{};
}

Result<Unit, std::string> Gateway::start_runtime() {
  const auto system = runtime::raise_system_limits();
  const std::uint64_t connections = config_.connections_max;
  for (const std::string& sentence : runtime::unmet_needs(
           system, {.descriptors = 2 * connections + 256, .fibers = connections})) {
    parts_->log->write(Severity::warning, "system_limit", {{"problem", sentence}});
  }
  runtime::RuntimeOptions options;
  options.loops = config_.loops != 0 ? config_.loops : std::thread::hardware_concurrency();
  options.pool_threads = config_.pool_threads;
  options.pool_queued_max = 2 * calls_queued_max;
  options.on_stall = [parts = parts_.get()](const runtime::Stall& stall) {
    const plugin::Catalog* catalog = parts->stalls.load();
    const auto whose =
        catalog == nullptr ? std::string_view() : catalog->note_stall(stall.tag, runtime::now_ns());
    parts->log->write(Severity::warning, "loop_stalled",
                      {{"loop", stall.loop},
                       {"duration_ms", stall.duration_ms},
                       {"request_id", stall.fiber.data()},
                       {"plugin", whose}});
  };
  parts_->runtime = std::make_unique<runtime::Runtime>(std::move(options));
  for (const auto& loop : parts_->runtime->loops()) {
    loop->post([log = parts_->log.get()] { log->gather_here(); });
  }

  const auto fatal = [parts = parts_.get()](std::string_view reason) {
    {
      const std::scoped_lock lock(parts->fatal_mutex);
      parts->fatal = reason;
    }
    kill(getpid(), SIGTERM);  // wakes main(), which then checks fatal()
  };
  parts_->ledger = std::make_unique<ledger::EscrowLedger>(
      parts_->node->ledger(), ledger_settings(config_),
      ledger::EscrowLedger::Sources{*parts_->log, *parts_->metrics, parts_->runtime->pool(),
                                    fatal});
  auto started = parts_->ledger->start();
  if (!started.ok()) return "the ledger cannot start: " + started.error().text;
  parts_->stores = std::make_unique<records::DurableStores>(
      parts_->node->records(),
      records::DurableStores::Sources{parts_->clock, parts_->random, *parts_->log, *parts_->metrics,
                                      parts_->runtime->pool(), fatal});
  auto keeping = parts_->stores->start();
  if (!keeping.ok()) return "the stores of plugins cannot start: " + keeping.error().text;
  parts_->statements =
      std::make_unique<ledger::PooledStatements>(parts_->node->usage(), parts_->runtime->pool());
  parts_->calls = std::make_unique<ledger::PooledCalls>(parts_->node->usage(), *parts_->ledger,
                                                        parts_->runtime->pool());
  if (auto counting = open_free_counts(); !counting.ok()) return counting;
  identity::AuthenticatorSettings authenticator;
  authenticator.environment = config_.environment;
  parts_->authenticator = std::make_unique<identity::CachedAuthenticator>(
      parts_->node->keys(), authenticator,
      identity::CachedAuthenticator::Sources{parts_->clock, *parts_->log, parts_->runtime->pool(),
                                             &parts_->node->grants()});
  parts_->client = wire::make_client(*parts_->runtime, {});
  return Unit{};
}

// Takes the ports before any object is made that needs their URLs.
Result<Unit, std::string> Gateway::bind_hosts() {
  wire::ServerLimits limits;
  limits.connections_max = config_.connections_max;
  limits.transfer_timeout_ms = config_.transfer_timeout_ms;
  limits.transfer_bytes_per_second_min = config_.transfer_bytes_per_second_min;
  parts_->server = wire::make_server(*parts_->runtime, limits, *parts_->log);
  parts_->urls = {.api = config_.api.base_url, .mcp = config_.mcp.base_url};
  auto done = reserve("api", config_.api.listen, parts_->api_address, parts_->urls.api);
  if (!done.ok()) return done;
  done = reserve("mcp", config_.mcp.listen, parts_->mcp_address, parts_->urls.mcp);
  if (!done.ok()) return done;
  parts_->web_url = config_.web.base_url;
  done = reserve("web", config_.web.listen, parts_->web_address, parts_->web_url);
  if (!done.ok()) return done;
  if (config_.web.base_url.empty()) parts_->web_url = local_web_url(parts_->web_address);
  const bool has_web = !config_.web.listen.empty() || !config_.web.base_url.empty();
  if (has_web) parts_->urls.web = parts_->web_url;
  return open_people();
}

Result<Unit, std::string> Gateway::open_people() {
  auto people = PeopleServices::open(
      *parts_->node, config_, parts_->web_url,
      {.pool = parts_->runtime->pool(),
       .processors = std::thread::hardware_concurrency(),
       .clock = parts_->clock,
       .random = parts_->random,
       .http = *parts_->client,
       .key_revoked = [this](std::string_view key_id) { parts_->authenticator->forget(key_id); },
       .mcp_url = parts_->urls.mcp});
  if (!people.ok()) return std::move(people).error();
  parts_->people = *std::move(people);
  return Unit{};
}

// Takes the port of a host that is served; the host's URL follows from the port unless one is
// configured.
Result<Unit, std::string> Gateway::reserve(const std::string& host, const std::string& listen,
                                           std::string& address, std::string& url) {
  if (listen.empty()) return Unit{};
  auto bound = parts_->server->reserve(host, listen);
  if (!bound.ok()) return std::move(bound).error();
  address = std::move(bound->address);
  if (url.empty()) url = "http://" + address;
  return Unit{};
}

Result<Unit, std::string> Gateway::open_free_counts() {
  Parts& parts = *parts_;
  const bool is_one_node = config_.free_store == FreeStore::node;
  std::optional<quota::NodeStore::Durable> durable;
  if (is_one_node) {
    durable.emplace(
        quota::NodeStore::Durable{parts.node->free_counts(), parts.runtime->pool(), *parts.log});
  }
  parts.node_counts = std::make_unique<quota::NodeStore>(parts.clock, durable);
  if (auto started = parts.node_counts->start(); !started.ok()) return started.error().message;
  parts.free_counts = parts.node_counts.get();
  if (is_one_node) return Unit{};
  auto redis = storage::make_redis_quota({.url = config_.free_redis_url}, parts.random, *parts.log);
  if (!redis.ok()) return "free.redis.url: " + redis.error();
  parts.redis_counts = *std::move(redis);
  parts.free_counts = parts.redis_counts.get();
  if (config_.free_unreachable == FreeUnreachable::local) {
    parts.shared_counts = std::make_unique<quota::WithFallback>(*parts.redis_counts,
                                                                *parts.node_counts, config_.nodes);
    parts.free_counts = parts.shared_counts.get();
  }
  return Unit{};
}

Result<Unit, std::string> Gateway::load_plugins() {
  parts_->resources.emplace(plugin::HostResources{.log = *parts_->log,
                                                  .metrics = *parts_->metrics,
                                                  .clock = parts_->clock,
                                                  .random = parts_->random,
                                                  .http = *parts_->client,
                                                  .pool = parts_->runtime->pool(),
                                                  .stores = *parts_->stores});
  auto plugins = PluginSet::load(config_, *parts_->resources,
                                 {.pool_threads_max = std::max(2u, config_.pool_threads / 2),
                                  .pool_queued_max = calls_queued_max});
  if (!plugins.ok()) return in_lines("plugins cannot be loaded:", plugins.error());
  parts_->plugins.emplace(*std::move(plugins));
  parts_->stalls.store(&parts_->plugins->catalog());
  const auto unclaimed = parts_->plugins->unclaimed_settings();
  if (!unclaimed.empty()) return in_lines("settings are nobody's:", unclaimed);
  parts_->lanes = parts_->plugins->lanes();
  return open_commerce();
}

Result<Unit, std::string> Gateway::open_commerce() {
  constexpr std::size_t deployment_id_bytes = 16;
  const auto id = parts_->node->secrets().get_or_create("deployment_id", deployment_id_bytes);
  if (!id.ok()) return id.error().message;
  parts_->commerce = std::make_unique<CommerceServices>(
      config_,
      CommerceServices::Parts{*parts_->runtime, parts_->node->purchases(),
                              parts_->node->auto_top_ups(), *parts_->plugins, parts_->clock,
                              parts_->random, *parts_->log, *parts_->metrics},
      CommerceServices::Surroundings{.api_url = parts_->urls.api,
                                     .web_url = parts_->web_url,
                                     .deployment_id = text::base64url(*id)});
  if (parts_->commerce->problems().empty()) return Unit{};
  return in_lines("processors cannot be bound:", parts_->commerce->problems());
}

Result<Unit, std::string> Gateway::make_program_parts() {
  auto cursor_key = parts_->node->secrets().get_or_create("catalog_cursor", cursor_key_bytes);
  if (!cursor_key.ok()) return cursor_key.error().message;
  parts_->cursor_key = *std::move(cursor_key);
  parts_->credits_host.emplace("credits", *parts_->resources);
  parts_->credits.emplace(*parts_->ledger, *parts_->ledger, transfer_ms_max(config_));
  parts_->lanes.push_back({&*parts_->credits, &*parts_->credits_host, nullptr});
  parts_->free_host.emplace("free", *parts_->resources);
  parts_->free.emplace(*parts_->free_counts);
  parts_->lanes.push_back({&*parts_->free, &*parts_->free_host, nullptr});
  parts_->serving = std::make_unique<Serving>();
  parts_->notices = std::make_unique<NoticeServices>(
      config_, NoticeServices::Parts{*parts_->runtime, parts_->node->notices(),
                                     parts_->node->usage(), *parts_->serving,
                                     parts_->clock, parts_->random, *parts_->log,
                                     *parts_->metrics});
  parts_->backend = std::make_unique<GatewayBackend>(
      GatewayBackend::Parts{*parts_->serving, *parts_->ledger, *parts_->authenticator,
                            *parts_->runtime, parts_->clock, parts_->redis_counts.get(),
                            without_redis(config_), config_.is_durability_relaxed,
                            config_.people.takes_passwords && !config_.web.listen.empty(),
                            parts_->commerce->offerings()},
      GatewayBackend::Caps{config_.calls_per_account_max, config_.heavy_transfers_max,
                           config_.heavy_transfer_wait_ms});
  parts_->executions.emplace(
      hosts::mcp::Executions::Parts{.backend = *parts_->backend,
                                    .authenticator = *parts_->authenticator,
                                    .build = build_info(config_),
                                    .api_url = parts_->urls.api,
                                    .payment_url = parts_->urls.mcp + "/x402",
                                    .resource_metadata = resource_metadata(),
                                    .reply_bytes_max = config_.mcp_reply_bytes_max});
  parts_->account_reads.emplace(
      hosts::AccountReads::Parts{*parts_->authenticator, *parts_->ledger, *parts_->statements,
                                 *parts_->calls, *parts_->free_counts, *parts_->backend,
                                 parts_->clock, exchange::lane_with_terms(parts_->lanes),
                                 &parts_->commerce->shop(), &parts_->notices->office()},
      parts_->cursor_key);
  make_mcp_features();
  parts_->generations = std::make_unique<Generations>(Generations::Parts{
      .registry_path = config_.registry_path,
      .data_dir = config_.data_dir,
      .manifest = parts_->node->manifest(),
      .plugins = *parts_->plugins,
      .lanes = parts_->lanes,
      .secrets = read_secret,
      .view = {.base_url = parts_->urls.api,
               .cursor_key = parts_->cursor_key,
               .features = {.free_lane = true,
                            .per_call = exchange::lane_with_terms(parts_->lanes) != nullptr},
               .http_status = hosts::call_status,
               .openapi_frame = hosts::api::api_openapi_frame(),
               .service_name = config_.site.brand.name,
               .mcp_url = parts_->urls.mcp,
               .web_url = parts_->urls.web},
      .tools = *parts_->mcp_tools,
      .serving = *parts_->serving,
      .calls_per_upstream_max = config_.calls_per_upstream_max,
      .loops = parts_->runtime->loops().size(),
      .may_redefine = config_.environment == identity::Environment::development,
      .reports = *parts_->reports,
      .clock = parts_->clock,
      .log = *parts_->log,
      .metrics = *parts_->metrics});
  return Unit{};
}

void Gateway::make_mcp_features() {
  const auto names = config_.mcp.tool_names;
  parts_->mcp_tools.emplace(*parts_->backend, parts_->clock, *parts_->executions,
                            *parts_->account_reads, parts_->cursor_key, names);
  parts_->mcp_resources.emplace(*parts_->backend, parts_->clock, config_.mcp_reply_bytes_max,
                                names);
  parts_->mcp_prompts.emplace(names);
  parts_->features.emplace(hosts::mcp::Features{.toolsets = *parts_->mcp_tools,
                                                .resources = &*parts_->mcp_resources,
                                                .prompts = &*parts_->mcp_prompts});
}

Result<Unit, std::string> Gateway::open_status() {
  Parts& parts = *parts_;
  auto seed = signing_key(config_.data_dir, parts.random);
  if (!seed.ok()) return std::move(seed).error();
  // If `allowed_hosts` is configured, this machine's address may not be among the allowed names.
  const bool asks_mcp = !config_.mcp.listen.empty() && !config_.mcp.allowed_hosts;
  parts.sentinels.emplace(
      Sentinels::Parts{.http = *parts.client,
                       .ledger = *parts.ledger,
                       .random = parts.random,
                       .environment = config_.environment,
                       .api_url = config_.api.listen.empty() ? "" : own_url(parts.api_address),
                       .mcp_url = asks_mcp ? own_url(parts.mcp_address) : "",
                       .web_url = config_.web.listen.empty() ? "" : own_url(parts.web_address)});
  StatusSettings settings;
  settings.is_enabled = config_.status.is_enabled;
  settings.round_ms = config_.status.round_ms;
  settings.evidence_lost_ms = config_.status.evidence_lost_ms;
  settings.publishing = config_.status.publishing;
  settings.sweep_principal = config_.status.sweep_principal;
  parts.status = std::make_unique<StatusServices>(
      settings, parts.node->name(), *seed,
      StatusServices::Parts{*parts.runtime, *parts.serving, parts.node->status(), *parts.sentinels,
                            *parts.ledger, parts.redis_counts.get(), *parts.reports, parts.clock,
                            parts.random, *parts.metrics, *parts.log});
  return Unit{};
}

std::optional<hosts::oauth_server::OauthRooms> Gateway::oauth_rooms() {
  Parts& parts = *parts_;
  oauth::Server* const server = parts.people->authorization();
  if (server == nullptr) return std::nullopt;
  // A separate client: slow hosts of OAuth clients cannot use up connections to upstreams.
  wire::ClientSettings settings;
  settings.reply_bytes_max = oauth::document_bytes_max;
  settings.origins_max = hosts::oauth_server::ClientDocuments::fetches_max;
  settings.idle_connection_ms = 1'000;
  parts.document_client = wire::make_client(*parts.runtime, settings);
  parts.documents.emplace(hosts::oauth_server::ClientDocuments::Parts{
      *server, parts.people->of_hosts(), *parts.document_client});
  return hosts::oauth_server::OauthRooms{*server, parts.people->of_hosts(), *parts.documents};
}

// Returns the URL of the authorization server's metadata for clients; empty: there is no
// authorization server.
std::string Gateway::resource_metadata() const {
  if (parts_->people->authorization() == nullptr) return {};
  return parts_->urls.mcp + "/.well-known/oauth-protected-resource";
}

hosts::DiscoverySettings Gateway::discovery_settings() const {
  hosts::DiscoverySettings settings;
  settings.urls = parts_->urls;
  settings.service = service_name(config_);
  settings.release = program_version;
  settings.protocol_versions = {std::string(hosts::mcp::modern_version)};
  for (const auto version : hosts::mcp::legacy_versions) {
    settings.protocol_versions.emplace_back(version);
  }
  settings.takes_payments = exchange::lane_with_terms(parts_->lanes) != nullptr;
  if (const oauth::Server* const server = parts_->people->authorization()) {
    settings.authorization_server = server->metadata_json();
  }
  settings.openai_apps_challenge = config_.mcp.openai_apps_challenge;
  settings.mcp_registry_auth = config_.mcp_registry_auth;
  settings.has_reference = !reference_directory(config_).empty();
  settings.has_logo = !config_.site.brand.logo.empty();
  return settings;
}

void Gateway::open_public_pages() {
  parts_->authored_pages.emplace(
      site::LiveSettings{.http_status = hosts::call_status,
                         .calls_per_account_max = config_.calls_per_account_max,
                         .mcp_reply_bytes_max = config_.mcp_reply_bytes_max});
  parts_->site_rooms.emplace(hosts::public_site::SiteRooms::Parts{
      .pages = *parts_->pages,
      .pool = parts_->runtime->pool(),
      .sources = {&*parts_->authored_pages, &parts_->directory},
      .docs_url = config_.docs_url});
}

// The rows of the web host besides its own pages.
std::vector<hosts::BoundRoute> Gateway::web_routes() const {
  std::vector<hosts::BoundRoute> rows =
      hosts::bind_routes(hosts::public_site::site_routes(), *parts_->site_rooms);
  hosts::bind_routes(hosts::discovery_routes(), *parts_->discovery_rooms, rows);
  hosts::bind_routes(hosts::dashboard::dashboard_routes(), *parts_->web_rooms, rows);
  hosts::bind_routes(hosts::dashboard::key_routes(), *parts_->web_rooms, rows);
  hosts::bind_routes(hosts::dashboard::member_routes(), *parts_->web_rooms, rows);
  hosts::bind_routes(hosts::dashboard::security_log_routes(), *parts_->web_rooms, rows);
  hosts::bind_routes(hosts::dashboard::purchase_routes(), *parts_->web_rooms, rows);
  hosts::bind_routes(hosts::dashboard::auto_top_up_routes(), *parts_->web_rooms, rows);
  hosts::bind_routes(hosts::dashboard::notice_routes(), *parts_->web_rooms, rows);
  return rows;
}

Result<Unit, std::string> Gateway::make_hosts() {
  hosts::api::ReferencePage reference;
  if (const std::string directory = reference_directory(config_); !directory.empty()) {
    auto loaded = hosts::api::ReferencePage::load(directory, parts_->urls.api,
                                                 config_.site.brand.name);
    if (!loaded.ok()) return std::move(loaded).error();
    reference = *std::move(loaded);
  }
  auto site = site::Site::load(site_settings(config_));
  if (!site.ok()) return "site: " + std::move(site).error();
  parts_->pages.emplace(hosts::Pages::Parts{*parts_->backend, parts_->status.get(), parts_->clock,
                                            parts_->urls},
                        *std::move(site));
  open_public_pages();
  parts_->access_log = hosts::make_access_log(*parts_->log, *parts_->metrics,
                                               hosts::ClientAddress(config_.trusted_proxies));
  parts_->discovery.emplace(discovery_settings());
  parts_->discovery_rooms.emplace(*parts_->backend, *parts_->discovery, parts_->runtime->pool());
  const hosts::BuildInfo build = build_info(config_);
  parts_->api = std::make_unique<hosts::api::ApiHost>(
      hosts::api::ApiHostParts{
          *parts_->backend, *parts_->backend, *parts_->authenticator, *parts_->ledger,
          *parts_->statements, *parts_->calls, *parts_->free_counts, *parts_->runtime,
          parts_->clock, parts_->random, *parts_->access_log, *parts_->discovery,
          exchange::lane_with_terms(parts_->lanes), &parts_->people->of_hosts(),
          parts_->status.get(), &parts_->commerce->shop(), &parts_->notices->office()},
      hosts::api::ApiHostSettings{.cors_origins = config_.cors_origins,
                                  .build = build,
                                  .reference = std::move(reference),
                                  .cursor_key = parts_->cursor_key,
                                  .base_url = parts_->urls.api,
                                  .bodies_bytes_max = config_.request_bodies_bytes_max});
  parts_->mcp = std::make_unique<hosts::mcp::McpHost>(
      hosts::mcp::McpHostParts{*parts_->backend, *parts_->discovery, *parts_->features,
                               *parts_->executions, *parts_->runtime, parts_->clock, parts_->random,
                               *parts_->access_log, oauth_rooms()},
      hosts::mcp::McpHostSettings{.access = {.base_url = parts_->urls.mcp,
                                             .bound_address = parts_->mcp_address,
                                             .hosts = config_.mcp.allowed_hosts,
                                             .origins = config_.mcp.allowed_origins},
                                  .build = build,
                                  .service = service_name(config_),
                                  .messages_bytes_max = config_.mcp_messages_bytes_max,
                                  .progress_interval_ms = config_.mcp.progress_interval_ms});
  parts_->web_rooms.emplace(hosts::web::WebRooms{
      parts_->people->of_hosts(), *parts_->account_reads, parts_->random, *parts_->pages,
      hosts::origin_of(parts_->web_url)});
  parts_->web = std::make_unique<hosts::web::WebHost>(
      hosts::web::WebHostParts{*parts_->web_rooms, *parts_->runtime, parts_->clock,
                               *parts_->access_log},
      hosts::web::WebHostSettings{
          .more_routes = web_routes(),
          .last_routes =
              hosts::bind_routes(hosts::public_site::page_routes(), *parts_->site_rooms)});
  parts_->operators.emplace(parts_->node->operators(), config_.environment, parts_->clock,
                            parts_->random);
  make_operator_host();
  return Unit{};
}

void Gateway::make_operator_host() {
  storage::Node& node = *parts_->node;
  parts_->console_feed.emplace(ConsoleFeed::Parts{
      *parts_->serving, *parts_->generations, *parts_->ledger, *parts_->status, node.manifest(),
      parts_->lanes, config_.registry_path, parts_->warnings, parts_->started_at_ms});
  const hosts::operators::ConsoleParts console{
      *parts_->pages, *parts_->backend, *parts_->console_feed, node.audit(),   node.accounts(),
      node.keys(),    node.members(),   node.ledger(),         node.usage(),   node.reports(),
      node.manifest()};
  parts_->operator_host =
      std::make_unique<hosts::operators::OperatorHost>(hosts::operators::OperatorHostParts{
          *parts_->runtime, *parts_->metrics, *parts_->operators, node.corrections(),
          node.status(), console, parts_->clock, parts_->random, *parts_->log,
          *parts_->access_log});
}

Result<Unit, std::string> Gateway::listen() {
  std::vector<wire::ListenerSettings> listeners;
  if (!config_.api.listen.empty()) {
    listeners.push_back({"api", config_.api.listen, parts_->api.get()});
  }
  if (!config_.mcp.listen.empty()) {
    listeners.push_back({"mcp", config_.mcp.listen, parts_->mcp.get()});
  }
  if (!config_.web.listen.empty()) {
    listeners.push_back({"web", config_.web.listen, parts_->web.get()});
  }
  if (!config_.operator_listen.empty()) {
    listeners.push_back({"operator", config_.operator_listen, parts_->operator_host.get()});
  }
  auto bound = parts_->server->start(std::move(listeners));
  if (!bound.ok()) return std::move(bound).error();
  try {
    parts_->control = std::make_unique<ControlServer>(
        control_socket(config_), [this](const std::string& line) { return answer_control(line); });
  } catch (const std::system_error& error) {
    return std::string(error.what()) + ": its place is data_dir";
  }
  for (const auto& listener : *bound) {
    std::cout << nlohmann::json{{"event", "listening"},
                                {"host", listener.name},
                                {"address", listener.address}}
                     .dump()
              << '\n'
              << std::flush;  // scripts that wait for the line must see it now
  }
  report_start(*bound);
  parts_->status->start();
  parts_->commerce->start();
  parts_->notices->start();
  return Unit{};
}

// Reloads registry and site together: a mistake in one keeps both unchanged.
Reloaded Gateway::reload() {
  auto site = site::Site::read(site_settings(config_));
  if (!site.ok()) {
    for (const registry::Problem& problem : site.error()) {
      parts_->log->write(Severity::error, "site_refused", {{"problem", problem.text()}});
    }
    return {std::nullopt, std::move(site).error(), {}, {}};
  }
  Reloaded reloaded = parts_->generations->reload();
  if (reloaded.generation) parts_->pages->install(*std::move(site));
  return reloaded;
}

std::string Gateway::answer_control(const std::string& line) {
  const auto ask = text::parse_json(line);
  const auto word = [&ask](const char* name) {
    const auto* const text = ask.contains(name) ? ask[name].get_ptr<const std::string*>() : nullptr;
    return text == nullptr ? std::string() : *text;
  };
  const std::string command = word("command");
  if (command == "generation") {
    const auto program = parts_->serving->current();
    return json_text({{"ok", program != nullptr},
                      {"generation", program == nullptr ? "" : program->view->generation().id}});
  }
  if (command == "log_level") return answer_log_level(word("level"));
  std::optional<Reloaded> reloaded;
  if (command == "reload") reloaded = reload();
  if (command == "rollback") {
    reloaded = parts_->generations->rollback(word("generation"));
  }
  if (!reloaded) return R"({"ok":false,"problems":[{"message":"unknown command"}]})";
  parts_->backend->refresh_loops();
  return answer_of(*reloaded);
}

// Sets the level of the log until this process ends, unless `level` is empty; answers which is in
// force.
std::string Gateway::answer_log_level(const std::string& level) {
  base::ProcessLog& log = *parts_->log;
  const Severity before = log.minimum();
  if (!level.empty()) {
    const auto found = std::ranges::find(base::severity_names, level);
    if (found == base::severity_names.end()) {
      return R"({"ok":false,"problems":[{"message":"no such level"}]})";
    }
    const auto after = static_cast<Severity>(found - base::severity_names.begin());
    // The lower of the two levels is in force for this line, so that a quieter log says why.
    log.set_minimum(std::min(before, after));
    log.write(Severity::warning, "log_level_set",
              {{"level", level}, {"before", base::name_of(before)}});
    log.set_minimum(after);
  }
  return json_text({{"ok", true}, {"level", base::name_of(log.minimum())}});
}

void Gateway::report_start(const std::vector<wire::ListenerAddress>& listeners) {
  std::string addresses;
  for (const auto& listener : listeners) {
    addresses += (addresses.empty() ? "" : ", ") + listener.name + " " + listener.address;
  }
  const auto program = parts_->serving->current();
  const registry::Generation none;
  const registry::Generation& serving = program == nullptr ? none : program->service->generation();
  parts_->log->write(Severity::info, "started",
                     {{"version", program_version},
                      {"build", program_commit},
                      {"environment", name_of(config_.environment)},
                      {"generation", serving.id},
                      {"sequence", serving.sequence},
                      {"listeners", addresses}});
}

void Gateway::request_reload() { parts_->control->post(R"({"command":"reload"})"); }

std::uint32_t Gateway::begin_stop(std::string_view why) {
  const std::uint32_t unready_ms = fatal() ? 0 : config_.unready_before_stop_ms;
  if (parts_->backend != nullptr) parts_->backend->begin_stop();
  parts_->log->write(
      Severity::info, "stopping",
      {{"reason", why},
       {"unready_ms", unready_ms},
       {"drain_timeout_ms", config_.drain_timeout_ms},
       {"connections", parts_->server == nullptr ? 0 : parts_->server->connections_open()}});
  return unready_ms;
}

bool Gateway::stop() {
  using runtime::Deadline;
  Parts& parts = *parts_;
  const std::int64_t drain_ms = config_.drain_timeout_ms;
  const Deadline plugins = Deadline::after_ms(drain_ms + config_.give_up_timeout_ms / 2);
  parts.last_resort->arm(Deadline::after_ms(drain_ms + config_.give_up_timeout_ms));
  parts.stalls.store(nullptr);
  if (parts.status != nullptr) parts.status->cancel();
  if (parts.plugin_runner != nullptr) parts.plugin_runner->cancel();
  if (parts.commerce != nullptr) parts.commerce->cancel();
  if (parts.notices != nullptr) parts.notices->cancel();
  bool whole = true;
  if (parts.server != nullptr) {
    parts.last_resort->now_waiting_for("calls");
    parts.log->write(Severity::info, "listeners_closing",
                     {{"connections", parts.server->connections_open()}});
    whole = parts.server->drain(std::chrono::milliseconds(drain_ms));
    if (parts.api != nullptr) parts.api->stop();
    if (parts.mcp != nullptr) parts.mcp->stop();
  }
  if (!end_work(plugins)) give_up();
  parts.last_resort->now_waiting_for("the stores of plugins");
  if (parts.stores != nullptr) parts.stores->stop();
  parts.last_resort->now_waiting_for("chores");
  parts.chores.reset();
  parts.last_resort->now_waiting_for("mail");
  parts.mail.reset();
  if (parts.ledger != nullptr) {
    parts.last_resort->now_waiting_for("the ledger");
    parts.ledger->stop();
  }
  parts.last_resort->now_waiting_for("destructors of plugins, or the database");
  parts.log->write(whole ? Severity::info : Severity::warning, "stopped",
                   {{"calls_were_cut", !whole}});
  return whole;
}

// Returns whether all calls inside plugins had returned by the deadline.
bool Gateway::end_work(runtime::Deadline give_up) {
  Parts& parts = *parts_;
  parts.last_resort->now_waiting_for("a reload");
  if (parts.control != nullptr && !parts.control->stop(give_up)) return false;
  parts.last_resort->now_waiting_for("a look for the status");
  if (parts.status != nullptr && !parts.status->has_ended(give_up)) return false;
  parts.last_resort->now_waiting_for("a plugin's own work");
  if (parts.plugin_runner != nullptr && !parts.plugin_runner->has_ended(give_up)) return false;
  if (parts.commerce != nullptr && !parts.commerce->has_ended(give_up)) return false;
  if (parts.notices != nullptr && !parts.notices->has_ended(give_up)) return false;
  parts.last_resort->now_waiting_for("calls");
  if (parts.server != nullptr && !parts.server->close(give_up)) return false;
  parts.control.reset();
  parts.plugin_runner.reset();
  parts.server.reset();
  parts.status.reset();  // until here the hosts read its board
  parts.last_resort->now_waiting_for("upstream connections");
  if (parts.client != nullptr) parts.client->stop();
  if (parts.document_client != nullptr) parts.document_client->stop();
  if (parts.notices != nullptr) parts.notices->stop_client();
  parts.last_resort->now_waiting_for("works on the pool");
  if (parts.runtime == nullptr) return true;
  const auto report = parts.runtime->stop(runtime::Deadline{0}, give_up);
  return report.fibers_left == 0 && report.pool_stopped;
}

// A plugin did not return. Its code may still use objects that would be destroyed now.
void Gateway::give_up() {
  Parts& parts = *parts_;
  std::string inside;
  if (parts.plugins) {
    for (const auto& loaded : parts.plugins->catalog().plugins()) {
      const auto calls = loaded->guard().in_flight() + loaded->guard().pool_counts().abandoned;
      if (calls == 0) continue;
      inside += (inside.empty() ? "" : ", ") + loaded->info().name + " " + std::to_string(calls);
    }
  }
  parts.last_resort->report(inside);
  parts.last_resort->now_waiting_for("the stores of plugins");
  if (parts.stores != nullptr) parts.stores->stop();
  parts.last_resort->now_waiting_for("the ledger");
  if (parts.ledger != nullptr) parts.ledger->stop();
  parts.log->write_gathered();
  std::_Exit(exit_failed);
}

std::optional<std::string> Gateway::fatal() const {
  const std::scoped_lock lock(parts_->fatal_mutex);
  return parts_->fatal;
}

}  // namespace turnpike::app
