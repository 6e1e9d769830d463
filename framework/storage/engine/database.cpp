#include "storage/engine/database.h"

#include <filesystem>
#include <map>

namespace turnpike::storage {
namespace {

// Two sessions that turn a new file to WAL at once would wait for each other, so SQLite refuses one
// of them immediately, whatever its busy timeout. The refused session waits until the other has
// finished, then tries again.
void turn_to_wal(Connection& connection) {
  constexpr int tries_max = 100;
  for (int tried = 1;; ++tried) {
    try {
      connection.run_once("PRAGMA journal_mode = WAL");
      return;
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::unavailable || tried == tries_max) throw;
    }
    connection.run_once("BEGIN IMMEDIATE");  // waits, up to the busy timeout
    connection.run_once("COMMIT");
  }
}

void prepare_session(Connection& connection, const Settings& settings) {
  if (settings.engine == Engine::sqlite) {
    connection.run_once("PRAGMA busy_timeout = " + std::to_string(settings.busy_timeout_ms));
    turn_to_wal(connection);
    connection.run_once(std::string("PRAGMA synchronous = ") +
                        (settings.is_durability_relaxed ? "NORMAL" : "FULL"));
    connection.run_once("PRAGMA foreign_keys = ON");
    return;
  }
  const std::string statement_ms = std::to_string(settings.statement_timeout_ms);
  connection.run_once("SET statement_timeout = " + statement_ms);
  connection.run_once("SET idle_in_transaction_session_timeout = " + statement_ms);
  connection.run_once("SET client_min_messages = warning");
  // JIT would compile code for every execution: 100 ms for a statement that takes 5 ms.
  connection.run_once("SET jit = off");
  connection.run_once(std::string("SET synchronous_commit = ") +
                      (settings.is_durability_relaxed ? "off" : "on"));
}

constexpr std::string_view url_form =
    "expected a URL such as postgresql://user@host:5432/database, or libpq's keyword=value";

[[noreturn]] void refuse_url(const std::string& why) {
  throw StoreError(StoreError::Kind::unavailable, why);
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  refuse_url("a % must be followed by two hex digits");
}

std::string decode(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    if (at + 2 >= text.size()) refuse_url("a % must be followed by two hex digits");
    decoded += static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
    at += 2;
  }
  return decoded;
}

using Keywords = std::map<std::string, std::string>;

void read_authority(std::string_view authority, Keywords& keywords) {
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = authority.substr(0, at);
    const std::size_t colon = user.find(':');
    keywords["user"] = decode(user.substr(0, colon));
    if (colon != std::string_view::npos) keywords["password"] = decode(user.substr(colon + 1));
    authority.remove_prefix(at + 1);
  }
  const std::size_t bracket = authority.rfind(']');  // [::1]:5432
  const std::size_t from = bracket == std::string_view::npos ? 0 : bracket;
  const std::size_t colon = authority.find(':', from);
  if (colon != std::string_view::npos) keywords["port"] = std::string(authority.substr(colon + 1));
  std::string_view host = authority.substr(0, colon);
  if (bracket != std::string_view::npos) host = host.substr(1, bracket - 1);
  if (!host.empty()) keywords["host"] = decode(host);
}

Keywords read_url(std::string_view url) {
  Keywords keywords;
  url.remove_prefix(url.find("://") + 3);
  if (const std::size_t mark = url.find('?'); mark != std::string_view::npos) {
    std::string_view query = url.substr(mark + 1);
    url = url.substr(0, mark);
    while (!query.empty()) {
      const std::string_view pair = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(query.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos) refuse_url("expected key=value after ?");
      keywords[decode(pair.substr(0, equals))] = decode(pair.substr(equals + 1));
    }
  }
  const std::size_t slash = url.find('/');
  if (slash != std::string_view::npos && slash + 1 < url.size()) {
    keywords["dbname"] = decode(url.substr(slash + 1));
  }
  read_authority(url.substr(0, slash), keywords);
  return keywords;
}

Keywords read_keywords(std::string_view text) {
  Keywords keywords;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) refuse_url(std::string(url_form));
    keywords[std::string(pair.substr(0, equals))] = std::string(pair.substr(equals + 1));
  }
  return keywords;
}

std::string make_target(const Settings& settings) {
  if (settings.engine == Engine::sqlite) {
    std::error_code failed;
    std::filesystem::create_directories(settings.data_dir, failed);
    if (failed) {
      throw StoreError(StoreError::Kind::unavailable,
                       "data_dir " + settings.data_dir + ": " + failed.message());
    }
  }
  return connection_target(settings);
}

}  // namespace

std::string sqlite_file(const Settings& settings) {
  return (std::filesystem::path(settings.data_dir) / settings.sqlite_path).string();
}

std::string connection_target(const Settings& settings) {
  if (settings.engine == Engine::sqlite) return sqlite_file(settings);
  const std::string& url = settings.postgres_url;
  const bool is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
  const bool is_other_url = !is_url && url.find("://") != url.npos;
  if (url.empty() || is_other_url) refuse_url(std::string(url_form));
  Keywords keywords = is_url ? read_url(url) : read_keywords(url);
  // Defaults only: the operator's own keywords take precedence.
  keywords.try_emplace("connect_timeout", std::to_string(settings.connect_timeout_s));
  keywords.try_emplace("tcp_user_timeout", std::to_string(settings.statement_timeout_ms));
  keywords.try_emplace("keepalives_idle", "10");
  keywords.try_emplace("application_name", "turnpike");
  std::string target;
  for (const auto& [key, value] : keywords) {
    if (value.find(' ') != std::string::npos) refuse_url(key + " must not contain a blank");
    target += (target.empty() ? "" : " ") + key + "=" + value;
  }
  return target;
}

std::string postgres_url_fault(const std::string& url) {
  Settings settings;
  settings.engine = Engine::postgres;
  settings.postgres_url = url;
  try {
    (void)connection_target(settings);
    return "";
  } catch (const StoreError& error) {
    return error.what();
  }
}

Database::Database(const Settings& settings, std::vector<std::string> prelude)
    : settings_(settings),
      target_(make_target(settings)),
      prelude_(std::move(prelude)),
      pool_(
          settings.sessions, settings.session_wait_ms, [this] { return connect(); }, writer_) {}

std::unique_ptr<SessionPool> Database::own_session() {
  return std::make_unique<SessionPool>(
      1, settings_.session_wait_ms, [this] { return connect(); }, writer_);
}

std::unique_ptr<Connection> Database::connect() const {
  try {
    if (was_away_ && engine() == Engine::postgres) Connection::ask_postgres(target_);
    was_away_ = true;
    auto connection = std::make_unique<Connection>(settings_, target_);
    was_away_ = false;
    prepare_session(*connection, settings_);
    for (const std::string& statement : prelude_) connection->run_once(statement);
    return connection;
  } catch (const StoreError& error) {
    const std::string where = engine() == Engine::sqlite ? target_ : "storage.postgres.url";
    throw StoreError(error.kind(), where + ": " + error.what());
  }
}

}  // namespace turnpike::storage
