// Config: the deployment, read once at start from YAML plus `--set path.to.key=value`. Everything
// has a default; unknown keys, wrong types and values out of bounds are problems with their place
// in the file, all reported at once. Paths in the file are relative to the file, paths in --set to
// the working directory. Plain value, owned by main(); read-only afterwards, safe on any Thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/limits.h"
#include "commerce/auto_top_up.h"
#include "hosts/client_address.h"
#include "hosts/mcp/tool_names.h"
#include "identity/account.h"
#include "identity/by_mail.h"
#include "identity/oidc_provider.h"
#include "mail/smtp.h"
#include "registry/compile.h"
#include "site/site.h"
#include "status/traffic.h"

namespace turnpike::app {

enum class Engine : std::uint8_t { sqlite, postgres };

// The store that counts requests to free variants: one node uses its database, several nodes share
// one Redis; and the behaviour of a node while Redis is unreachable.
enum class FreeStore : std::uint8_t { node, redis };
enum class FreeUnreachable : std::uint8_t { refuse, local };

struct HostConfig {
  std::string listen;  // "address:port"; port 0 takes a free one; empty: not served
  // The public URL in documents: scheme and authority only, since a host serves the root of its
  // name; empty: http:// and the bound address.
  std::string base_url;
};

struct PeopleConfig {
  identity::Registration registration = identity::Registration::invite;
  std::uint32_t idle_minutes = 720;
  std::uint32_t absolute_hours = 168;
  std::uint32_t step_up_minutes = 15;
  bool takes_passwords = true;  // default: only in development
  std::uint32_t password_bytes_min = 15;
  std::string passkey_domain;  // relying party id; empty: the web host's name
  std::vector<identity::ProviderSettings> providers;  // external sign-in
  // Domains that the operator gave up: browsers no longer offer their passkeys here.
  std::vector<std::string> former_passkey_domains;
  std::uint32_t audit_days = 0;  // retention of audit events; 0: forever
};

// The outgoing mail server. Without a host no mail is sent.
struct MailConfig {
  std::string host;
  std::uint32_t port = 0;  // 0: the default port of its security
  mail::Security security = mail::Security::starttls;
  std::string user;
  std::string password;
  std::string from;
  std::string authorities;  // PEM file or directory; empty: the system's
  [[nodiscard]] bool is_on() const noexcept { return !host.empty(); }
};

struct OauthConfig {
  bool is_enabled = true;
  bool takes_registrations = true;
  bool takes_documents = true;
  std::uint32_t access_minutes = 60;
  std::uint32_t refresh_idle_days = 30;
  std::uint32_t refresh_absolute_days = 180;
  // Private-use URI schemes without a dot that redirect URIs of native clients may have; nothing:
  // see oauth/client.h.
  std::optional<std::vector<std::string>> private_schemes = {};
};

struct McpConfig : HostConfig {
  // Replace the defaults, which follow from base_url and the listener; see hosts/mcp/access.h.
  std::optional<std::vector<std::string>> allowed_hosts = {};
  std::optional<std::vector<std::string>> allowed_origins = {};
  hosts::mcp::ToolNames tool_names = hosts::mcp::ToolNames::dotted;
  std::string openai_apps_challenge = {};      // proof of domain ownership; empty: none
  std::uint32_t progress_interval_ms = 5'000;  // between progress notifications of a call
};

// The purchase of Credits. An empty URL means the purchase's page of the dashboard.
struct CommerceConfig {
  std::string success_url;
  std::string cancel_url;
  std::uint32_t checkout_minutes = 60;
  std::uint32_t open_purchases_max = 20;
  commerce::TopUpSettings auto_top_up;
};

struct NotificationsConfig {
  bool allow_private_addresses = false;  // of endpoints; only in development
};

struct StatusConfig {
  bool is_enabled = true;
  std::uint32_t round_ms = 60'000;
  std::uint32_t evidence_lost_ms = 86'400'000;
  status::TrafficPublishing publishing = status::TrafficPublishing::ratio;
  std::string sweep_principal;  // "key:<id>"; empty: no release sweeps
};

struct Config {
  identity::Environment environment = identity::Environment::development;
  std::string data_dir = "var";

  Engine engine = Engine::sqlite;
  std::string sqlite_path = "turnpike.db";  // relative to data_dir
  std::string postgres_url;
  bool is_durability_relaxed = false;  // storage.durability
  bool migrate_at_start = true;

  FreeStore free_store = FreeStore::node;
  std::string free_redis_url;
  FreeUnreachable free_unreachable = FreeUnreachable::refuse;
  std::uint32_t nodes = 0;  // nodes that share the limits under `local`

  std::vector<std::string> plugins_directories;       // empty: the directory beside the binary
  std::map<std::string, std::string> plugins_sha256;  // file name -> hex; empty: not pinned
  std::map<std::string, Settings> lanes;              // lane plugin -> its own settings
  std::map<std::string, Settings> processors;         // the same, for processors in service
  std::string registry_path = "registry";

  HostConfig api{"127.0.0.1:8402", ""};
  McpConfig mcp{{"127.0.0.1:8403", ""}};
  std::string operator_listen = "127.0.0.1:8405";
  HostConfig web{"127.0.0.1:8404", ""};
  std::string docs_url;  // target of /docs, without a final slash; empty: none
  std::string mcp_registry_auth;  // the line that the MCP Registry checks; empty: none
  site::SiteSettings site;  // directory empty: see paths.h
  std::vector<hosts::AddressRange> trusted_proxies;  // X-Forwarded-For is trusted
  PeopleConfig people;
  OauthConfig oauth;
  MailConfig mail;
  StatusConfig status;
  CommerceConfig commerce;
  NotificationsConfig notifications;
  std::vector<std::string> cors_origins = {"*"};
  std::string reference_directory;  // the bundle of the API reference UI; empty: not served

  std::uint32_t loops = 0;  // 0: one per core
  std::uint32_t pool_threads = 16;
  // During a stop, how long /readyz answers 503 before the listeners close. In development there is
  // no load balancer to ask it.
  std::uint32_t unready_before_stop_ms = 0;
  std::uint32_t drain_timeout_ms = 30'000;
  std::uint32_t give_up_timeout_ms = 10'000;  // counted from the end of the drain
  std::uint32_t connections_max = base::limits::connections_max;
  std::uint32_t calls_per_account_max = base::limits::calls_per_account_max;
  std::uint32_t calls_per_upstream_max = base::limits::calls_per_upstream_max;
  std::uint32_t request_bodies_bytes_max = base::limits::request_bodies_bytes_max;
  std::uint32_t mcp_reply_bytes_max = base::limits::mcp_reply_bytes_max;
  std::uint32_t mcp_messages_bytes_max = base::limits::mcp_messages_bytes_max;
  std::uint32_t heavy_transfers_max = base::limits::heavy_transfers_max;
  std::uint32_t heavy_transfer_wait_ms = base::limits::heavy_transfer_wait_ms;
  std::uint32_t transfer_timeout_ms = base::limits::transfer_timeout_ms;
  std::uint32_t transfer_bytes_per_second_min = base::limits::transfer_bytes_per_second_min;

  std::uint32_t lease_hold_ms = 30'000;      // of ledger leases: see ledger/escrow/escrow_ledger.h
  std::uint32_t lease_settle_margin_ms = 0;  // 0: the longest duration of calls by the limits above

  bool starter_grant = true;
  std::uint32_t starter_grant_credits = 1000;
  std::uint32_t starter_grant_days = 365;
  bool starter_grant_needs_owner = false;

  Severity log_level = Severity::info;

  std::vector<registry::Problem> notes;  // valid but probably unintended settings
};

// `path` empty: only defaults and `settings`. `settings`: the texts of --set.
Result<Config, std::vector<registry::Problem>> read_config(
    const std::string& path, const std::vector<std::string>& settings);

// Every key that a configuration may have, such as "hosts.api.listen".
std::vector<std::string> config_keys();

}  // namespace turnpike::app
