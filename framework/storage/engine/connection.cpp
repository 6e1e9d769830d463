#include "storage/engine/connection.h"

#include <Poco/Data/PostgreSQL/Connector.h>
#include <Poco/Data/PostgreSQL/SessionHandle.h>
#include <Poco/Data/PostgreSQL/Utility.h>
#include <Poco/Data/SQLite/Connector.h>
#include <Poco/Data/SQLite/Utility.h>
#include <Poco/Data/Session.h>
#include <Poco/Exception.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sqlite3.h>

#include <optional>
#include <unordered_map>

#include "storage/engine/statement.h"

namespace turnpike::storage {
namespace {

// Poco's table of connectors is process-wide; registering twice is harmless.
void register_connectors() {
  // Sessions are not shared, so SQLite need not lock them at every call, nor count its allocations:
  // this saves a tenth of a batch. No effect if a plugin has initialized SQLite before.
  [[maybe_unused]] static const int configured =
      sqlite3_config(SQLITE_CONFIG_MULTITHREAD) | sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  Poco::Data::SQLite::Connector::registerConnector();
  Poco::Data::PostgreSQL::Connector::registerConnector();
}

}  // namespace

Bulk::Bulk(const char* columns) {
  for (const char* kind = columns; *kind != '\0'; ++kind) {
    if (*kind == 'i') {
      columns_.push_back({Rows::Column(std::in_place_index<0>)});
    } else {
      columns_.push_back({Rows::Column(std::in_place_index<1>)});
    }
  }
}

void Bulk::clear() noexcept {
  for (Column& column : columns_) column.filled = 0;
}

std::size_t Bulk::size() const noexcept { return columns_.empty() ? 0 : columns_.front().filled; }

struct Connection::Machine {
  // Poco retries opening a SQLite file for `timeout_s`.
  Machine(Engine kind, const std::string& target, std::uint32_t timeout_s)
      : engine(kind),
        session(kind == Engine::sqlite ? "SQLite" : "PostgreSQL", target, timeout_s) {}

  // The native handles; each is valid only for sessions of its engine (statement.h).
  [[nodiscard]] PGconn* server() { return *Poco::Data::PostgreSQL::Utility::handle(session); }
  [[nodiscard]] sqlite3* file() { return Poco::Data::SQLite::Utility::dbHandle(session); }

  [[nodiscard]] Statement& statement_of(const Query& query) {
    std::unique_ptr<Statement>& slot = kept[&query];
    if (slot == nullptr && engine == Engine::sqlite) {
      slot = std::make_unique<SqliteStatement>(file(), query.sql, query.columns);
    } else if (slot == nullptr) {
      slot = std::make_unique<PostgresStatement>(server(), query.sql, query.columns);
    }
    return *slot;
  }
  Columns once(const std::string& sql, const char* kinds) {
    if (engine == Engine::sqlite) return SqliteStatement(file(), sql, kinds).run({});
    return run_once_on(server(), sql, kinds);
  }

  // libpq may learn of the connection's end by a failed write and still report the connection as
  // good.
  [[nodiscard]] bool has_ended() {
    if (engine == Engine::sqlite) return false;
    if (!session.isConnected()) return true;
    pollfd socket{PQsocket(server()), POLLRDHUP, 0};
    return ::poll(&socket, 1, 0) > 0;
  }

  // Turns Poco's exceptions into StoreErrors, and marks a session whose connection is lost.
  template <class F>
  auto guard(F&& work) {
    try {
      return work();
    } catch (const Poco::Exception& error) {
      is_broken = is_broken || has_ended();
      throw StoreError(StoreError::Kind::unavailable, error.displayText());
    } catch (const StoreError&) {
      is_broken = is_broken || has_ended();
      throw;
    }
  }

  const Engine engine;
  bool is_broken = false;
  Poco::Data::Session session;
  std::unordered_map<const Query*, std::unique_ptr<Statement>> kept;  // destroyed before `session`
};

Connection::Connection(const Settings& settings, const std::string& target) {
  register_connectors();
  try {
    machine_ = std::make_unique<Machine>(settings.engine, target, settings.connect_timeout_s);
  } catch (const Poco::Exception& error) {
    throw StoreError(StoreError::Kind::unavailable, error.displayText());
  }
}

Connection::~Connection() = default;

void Connection::ask_postgres(const std::string& target) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> asked(PQconnectdb(target.c_str()), PQfinish);
  if (PQstatus(asked.get()) != CONNECTION_OK) {
    throw StoreError(StoreError::Kind::unavailable, PQerrorMessage(asked.get()));
  }
}

Engine Connection::engine() const noexcept { return machine_->engine; }
bool Connection::broken() const noexcept { return machine_->is_broken; }

Rows Connection::run(const Query& query, std::initializer_list<Value> values) {
  return machine_->guard([&] {
    return Rows(machine_->statement_of(query).run({values.begin(), values.size()}));
  });
}

std::size_t Connection::run_bulk(const Query& query, Bulk& bulk) {
  const std::size_t rows = bulk.size();
  std::vector<const Rows::Column*> columns;
  for (const Bulk::Column& column : bulk.columns_) columns.push_back(&column.cells);
  return machine_->guard([&] {
    return static_cast<SqliteStatement&>(machine_->statement_of(query)).run_rows(columns, rows);
  });
}

void Connection::run_script(const std::string& sql,
                            std::initializer_list<std::string_view> copies) {
  PGconn* const server = machine_->server();
  const std::string_view* next = copies.begin();
  std::optional<ScriptRefused> refused;
  bool is_sent = PQsendQuery(server, sql.c_str()) == 1;
  while (is_sent) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQgetResult(server), PQclear);
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_COPY_IN) {
      is_sent = next != copies.end() &&
                PQputCopyData(server, next->data(), static_cast<int>(next->size())) == 1 &&
                PQputCopyEnd(server, nullptr) == 1;
      ++next;
    } else if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && !refused) {
      const auto field = [&](int code) {
        const char* const text = PQresultErrorField(result.get(), code);
        return std::string(text == nullptr ? "" : text);
      };
      refused.emplace(PQresultErrorMessage(result.get()), field(PG_DIAG_SQLSTATE),
                      field(PG_DIAG_CONSTRAINT_NAME));
    }
  }
  if (!is_sent) {  // a partly sent script leaves the session unusable
    machine_->is_broken = true;
    throw StoreError(StoreError::Kind::unavailable, PQerrorMessage(server));
  }
  if (!refused) return;
  machine_->is_broken = machine_->is_broken || machine_->has_ended();
  throw ScriptRefused(*refused);
}

std::string Connection::literal(std::string_view text) {
  const std::unique_ptr<char, decltype(&PQfreemem)> escaped(
      PQescapeLiteral(machine_->server(), text.data(), text.size()), PQfreemem);
  if (escaped == nullptr) {
    throw StoreError(StoreError::Kind::unavailable, PQerrorMessage(machine_->server()));
  }
  return escaped.get();
}

void Connection::run_once(const std::string& sql) {
  machine_->guard([&] { machine_->once(sql, ""); });
}

Rows Connection::query_once(const std::string& sql, const char* columns) {
  return machine_->guard([&] { return Rows(machine_->once(sql, columns)); });
}

void Connection::begin(TransactionKind kind) {
  if (machine_->engine == Engine::postgres) {
    machine_->guard([&] { machine_->session.begin(); });
    if (kind == TransactionKind::snapshot) {
      run_once("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    }
    return;
  }
  static constexpr Query immediate{"BEGIN IMMEDIATE"};
  static constexpr Query deferred{"BEGIN DEFERRED"};
  run(kind == TransactionKind::write ? immediate : deferred);
}

void Connection::commit() {
  if (machine_->engine == Engine::postgres) {
    machine_->guard([&] { machine_->session.commit(); });
    return;
  }
  static constexpr Query statement{"COMMIT"};
  run(statement);
}

void Connection::roll_back() {
  if (machine_->engine == Engine::postgres) {
    machine_->guard([&] { machine_->session.rollback(); });
    return;
  }
  static constexpr Query statement{"ROLLBACK"};
  run(statement);
}

}  // namespace turnpike::storage
