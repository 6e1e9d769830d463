#include "app/config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/http_field.h"
#include "hosts/origins.h"
#include "registry/problems.h"
#include "registry/settings_tree.h"

namespace turnpike::app {
namespace {

using registry::Problem;
namespace fs = std::filesystem;

// Reads the keys of one map, remembers which it was asked for, and reports what is wrong.
class Section {
 public:
  Section(const Settings* node, std::string path, std::vector<Problem>& problems)
      : node_(node), path_(std::move(path)), problems_(problems) {
    if (node_ != nullptr && node_->kind != Settings::Kind::map &&
        node_->kind != Settings::Kind::null) {
      report(*node_, path_, "expected a map");
      node_ = nullptr;
    }
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  // Keys that nobody asked for are unknown.
  ~Section() {
    if (node_ == nullptr) return;
    for (const auto& [key, value] : node_->fields) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      const std::vector<std::string_view> names(known_.begin(), known_.end());
      report(value, join(key), "unknown key \"" + key + "\"" + registry::suggestion(key, names));
    }
  }

  [[nodiscard]] const Settings* child(const std::string& key) {
    known_.push_back(key);
    return node_ == nullptr ? nullptr : node_->find(key);
  }
  [[nodiscard]] std::string join(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }

  void string(const std::string& key, std::string& out) {
    if (const Settings* value = child(key)) take(key, *value, node_->string(key, out), out);
  }
  void boolean(const std::string& key, bool& out) {
    if (child(key) != nullptr) take(key, *node_->find(key), node_->boolean(key, out), out);
  }
  void integer(const std::string& key, std::uint32_t& out, std::int64_t minimum,
               std::int64_t maximum) {
    if (child(key) == nullptr) return;
    std::int64_t number = out;
    take(key, *node_->find(key), node_->integer(key, out, minimum, maximum), number);
    out = static_cast<std::uint32_t>(number);
  }
  // A list of texts; one text is a list of one.
  void texts(const std::string& key, std::optional<std::vector<std::string>>& out) {
    const Settings* value = child(key);
    if (value == nullptr) return;
    out.emplace();
    if (value->kind == Settings::Kind::scalar) return out->push_back(value->text);
    bool is_list = value->kind == Settings::Kind::list;
    for (const Settings& item : value->items) {
      is_list = is_list && item.kind == Settings::Kind::scalar;
      out->push_back(item.text);
    }
    if (!is_list) report(*value, join(key), "expected a list of texts, [] for none");
  }
  // A path: relative ones are relative to the file the value stands in.
  void path(const std::string& key, std::string& out) {
    const Settings* value = child(key);
    if (value == nullptr) return;
    take(key, *value, node_->string(key, out), out);
    const bool from_file = !value->file.empty() && value->file != "--set";
    if (from_file && !out.empty() && fs::path(out).is_relative()) {
      out = (fs::path(value->file).parent_path() / out).lexically_normal().string();
    }
  }
  template <class Value>
  void choice(const std::string& key, Value& out,
              std::initializer_list<std::pair<std::string_view, Value>> choices) {
    const Settings* value = child(key);
    if (value == nullptr) return;
    std::string names;
    for (const auto& [name, chosen] : choices) {
      if (value->kind == Settings::Kind::scalar && value->text == name) {
        out = chosen;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    report(*value, join(key), "expected one of " + names);
  }

  void report(const Settings& at, const std::string& path, const std::string& message) {
    problems_.push_back({"configuration", at.file, at.line, at.column, path, message});
  }

 private:
  template <class Value, class Out>
  void take(const std::string& key, const Settings& at, Result<Value> value, Out& out) {
    if (value.ok()) {
      out = *std::move(value);
    } else {
      report(at, join(key), value.error().message);
    }
  }

  const Settings* node_;
  const std::string path_;
  std::vector<Problem>& problems_;
  std::vector<std::string> known_;
};

void read_storage(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section storage(node, "storage", problems);
  storage.choice("engine", config.engine,
                 {{"sqlite", Engine::sqlite}, {"postgres", Engine::postgres}});
  storage.choice("durability", config.is_durability_relaxed, {{"full", false}, {"relaxed", true}});
  storage.boolean("migrate_at_start", config.migrate_at_start);
  Section(storage.child("sqlite"), "storage.sqlite", problems).string("path", config.sqlite_path);
  Section(storage.child("postgres"), "storage.postgres", problems)
      .string("url", config.postgres_url);
  if (config.engine == Engine::postgres && config.postgres_url.empty()) {
    storage.report(node == nullptr ? Settings{} : *node, "storage.postgres.url",
                   "engine postgres needs a url such as postgresql://user@host:5432/database");
  }
}

void read_free(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section free(node, "free", problems);
  free.choice("store", config.free_store, {{"node", FreeStore::node}, {"redis", FreeStore::redis}});
  Section(free.child("redis"), "free.redis", problems).string("url", config.free_redis_url);
  free.choice("unreachable", config.free_unreachable,
              {{"refuse", FreeUnreachable::refuse}, {"local", FreeUnreachable::local}});
  free.integer("nodes", config.nodes, 1, 10'000);
  const Settings& at = node == nullptr ? Settings{} : *node;
  if (config.free_store == FreeStore::redis && config.free_redis_url.empty()) {
    free.report(at, "free.redis.url", "store redis needs a url such as redis://host:6379/0");
  }
  if (config.free_unreachable == FreeUnreachable::local && config.nodes == 0) {
    free.report(at, "free.nodes", "unreachable: local needs the number of nodes");
  }
}

void read_plugins(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section plugins(node, "plugins", problems);
  plugins.path("directory", config.plugins_directory);
  const Settings* pins = plugins.child("sha256");
  if (pins == nullptr) return;
  for (const auto& [file, digest] : pins->fields) config.plugins_sha256[file] = digest.text;
}

// What the settings of a lane may be is the lane's to say, when it is bound.
void read_lanes(const Settings* node, Config& config, std::vector<Problem>& problems) {
  if (node == nullptr) return;
  Section lanes(node, "lanes", problems);
  for (const auto& [name, settings] : node->fields) {
    if (lanes.child(name) != nullptr) config.lanes[name] = settings;
  }
}

void read_host(Section& hosts, const std::string& name, HostConfig& host,
               std::vector<Problem>& problems) {
  Section section(hosts.child(name), "hosts." + name, problems);
  section.string("listen", host.listen);
  section.string("base_url", host.base_url);
}

// What documents are built from and requests are matched with; without a final slash.
void read_public_url(const Settings* node, Section& section, const std::string& path,
                     std::string& url) {
  section.string("base_url", url);
  while (url.ends_with('/')) url.pop_back();
  if (url.empty()) return;
  const bool has_more = url.find_first_of("?#") != url.npos || !base::is_visible_ascii(url);
  if (!has_more && !hosts::origin_of(url).empty()) return;
  section.report(*node, path, "expected a URL such as https://api.example.com");
}

void read_api_host(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section api(node, "hosts.api", problems);
  api.string("listen", config.api.listen);
  read_public_url(node, api, "hosts.api.base_url", config.api.base_url);
  api.path("reference_directory", config.reference_directory);
  const Settings* origins = api.child("cors_origins");
  if (origins == nullptr) return;
  if (origins->kind != Settings::Kind::list) {
    api.report(*origins, "hosts.api.cors_origins", "expected a list of origins, [] for none");
    return;
  }
  config.cors_origins.clear();
  for (const Settings& origin : origins->items) config.cors_origins.push_back(origin.text);
}

// Of `0.0.0.0:8403` or `[::]:8403` nobody can tell by which name its callers reach it.
bool listens_everywhere(std::string_view address) {
  return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

void read_mcp_host(const Settings* node, McpConfig& mcp, std::vector<Problem>& problems) {
  Section section(node, "hosts.mcp", problems);
  section.string("listen", mcp.listen);
  read_public_url(node, section, "hosts.mcp.base_url", mcp.base_url);
  section.texts("allowed_hosts", mcp.allowed_hosts);
  section.texts("allowed_origins", mcp.allowed_origins);
  section.string("openai_apps_challenge", mcp.openai_apps_challenge);
  const Settings& at = node == nullptr ? Settings{} : *node;
  if (listens_everywhere(mcp.listen) && mcp.base_url.empty()) {
    section.report(at, "hosts.mcp.base_url",
                   "a host that listens on all addresses needs the URL that its callers use");
  }
  if (!base::is_visible_ascii(mcp.openai_apps_challenge)) {
    section.report(at, "hosts.mcp.openai_apps_challenge", "expected one token");
  }
}

void read_hosts(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section hosts(node, "hosts", problems);
  read_api_host(hosts.child("api"), config, problems);
  read_host(hosts, "operator", config.operator_host, problems);
  read_mcp_host(hosts.child("mcp"), config.mcp, problems);
  HostConfig not_built;
  read_host(hosts, "web", not_built, problems);
  if (hosts.child("web") != nullptr) config.hosts_not_built.emplace_back("web");
}

void read_limits(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section limits(node, "limits", problems);
  limits.integer("drain_timeout_ms", config.drain_timeout_ms, 0, 600'000);
  limits.integer("give_up_timeout_ms", config.give_up_timeout_ms, 100, 600'000);
  limits.integer("connections_max", config.connections_max, 1, 1'000'000);
  limits.integer("calls_per_account_max", config.calls_per_account_max, 1, 1'000'000);
  limits.integer("calls_per_upstream_max", config.calls_per_upstream_max, 1, 1'000'000);
  // The longest message takes three quarters of it at most (hosts/mcp/byte_budget.h).
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

void read_ledger(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section ledger(node, "ledger", problems);
  ledger.integer("lease_hold_ms", config.lease_hold_ms, 100, 600'000);
  ledger.integer("lease_settle_margin_ms", config.lease_settle_margin_ms, 0, 600'000);
}

void read_accounts(const Settings* node, Config& config, std::vector<Problem>& problems) {
  Section accounts(node, "accounts", problems);
  Section grant(accounts.child("starter_grant"), "accounts.starter_grant", problems);
  grant.boolean("enabled", config.starter_grant);
  grant.integer("credits", config.starter_grant_credits, 1, 1'000'000'000);
  grant.integer("days", config.starter_grant_days, 1, 36'500);
  grant.boolean("needs_owner", config.starter_grant_needs_owner);
}

Config decode(const Settings& tree, std::vector<Problem>& problems) {
  Config config;
  Section top(&tree, "", problems);
  using identity::Environment;
  top.choice("environment", config.environment,
             {{"development", Environment::development},
              {"staging", Environment::staging},
              {"production", Environment::production}});
  top.path("data_dir", config.data_dir);
  read_storage(top.child("storage"), config, problems);
  read_free(top.child("free"), config, problems);
  read_plugins(top.child("plugins"), config, problems);
  read_lanes(top.child("lanes"), config, problems);
  Section(top.child("registry"), "registry", problems).path("path", config.registry_path);
  read_hosts(top.child("hosts"), config, problems);
  {
    Section runtime(top.child("runtime"), "runtime", problems);
    runtime.integer("loops", config.loops, 0, 256);
    runtime.integer("pool_threads", config.pool_threads, 1, 1024);
    runtime.integer("probe_interval_ms", config.probe_interval_ms, 100, 3'600'000);
  }
  read_limits(top.child("limits"), config, problems);
  read_ledger(top.child("ledger"), config, problems);
  read_accounts(top.child("accounts"), config, problems);
  Section(top.child("log"), "log", problems)
      .choice("level", config.log_level,
              {{"debug", Severity::debug},
               {"info", Severity::info},
               {"warning", Severity::warning},
               {"error", Severity::error}});
  return config;
}

// Puts the value of one `--set a.b.c=value` into the tree, making maps on the way.
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
      *node = {};
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
  node->fields.clear();
  node->items.clear();
  node->text = setting.substr(equals + 1);
  return std::nullopt;
}

}  // namespace

std::string not_built(const std::string& host) {
  return "hosts." + host + " is configured, but this build has no such host: nothing listens there";
}

Result<Config, std::vector<Problem>> read_config(const std::string& path,
                                                 const std::vector<std::string>& settings) {
  std::vector<Problem> problems;
  Settings tree;
  tree.kind = Settings::Kind::map;
  if (!path.empty()) {
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    if (!stream) {
      return std::vector<Problem>{
          {"configuration", path, 0, 0, "", "cannot be read; name another with --config"}};
    }
    auto parsed = registry::parse_settings({path, text.str()});
    if (!parsed.ok()) return std::move(parsed).error();
    tree = *std::move(parsed);
  }
  for (std::size_t at = 0; at < settings.size(); ++at) {
    if (auto problem = apply_setting(tree, settings[at], static_cast<int>(at) + 1)) {
      problems.push_back(*std::move(problem));
    }
  }
  Config config = decode(tree, problems);
  if (!problems.empty()) return problems;
  return config;
}

}  // namespace turnpike::app
