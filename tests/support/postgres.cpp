#include "support/postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "storage/engine/connection.h"

namespace turnpike::support {
namespace {

const std::string database_word = " dbname=";

std::string find_binaries() {
  std::string newest;
  std::error_code absent;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", absent)) {
    const std::string path = version.path() / "bin";
    if (std::filesystem::exists(path + "/initdb") && path > newest) newest = path;
  }
  return newest;
}

const passwd* other_user() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

// Starts `words` with its output in `log`. Runs as user postgres if this process is root.
pid_t spawn(const std::vector<std::string>& words, const std::string& log) {
  const passwd* user = other_user();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                          ::setuid(user->pw_uid) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent) ::_exit(126);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Postgres::Postgres() : binaries_(find_binaries()) {
  if (const passwd* user = other_user()) {
    if (::chown(directory_.path().c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw std::runtime_error("chown failed");
    }
  }
  const std::string log = directory_.path() + "/initdb.log";
  const pid_t setup = spawn({binaries_ + "/initdb", "-D", directory_.path() + "/data", "-U",
                             "turnpike", "-A", "trust", "-E", "UTF8", "--no-sync"},
                            log);
  int status = 0;
  ::waitpid(setup, &status, 0);
  if (status != 0) throw std::runtime_error("initdb failed: " + text_of(log));
  start();
}

Postgres::~Postgres() { stop(); }

void Postgres::start() {
  const std::string log = directory_.path() + "/server.log";
  server_ = spawn({binaries_ + "/postgres", "-D", directory_.path() + "/data", "-c",
                   "listen_addresses=", "-c", "unix_socket_directories=" + directory_.path(), "-c",
                   "max_connections=100", "-c", "fsync=on"},
                  log);
  storage::Settings settings;
  settings.engine = storage::Engine::postgres;
  for (int attempt = 0; attempt < 600; ++attempt) {
    int status = 0;
    if (::waitpid(server_, &status, WNOHANG) == server_) break;
    try {
      const storage::Connection ready(
          settings, "host=" + directory_.path() + " user=turnpike dbname=postgres");
      return;
    } catch (const storage::StoreError&) {
      ::poll(nullptr, 0, 50);  // the server does not report when it is ready
    }
  }
  server_ = -1;
  throw std::runtime_error("PostgreSQL did not start: " + text_of(log));
}

void Postgres::stop() {
  if (server_ < 0) return;
  ::kill(server_, SIGQUIT);
  int status = 0;
  ::waitpid(server_, &status, 0);
  server_ = -1;
}

std::string Postgres::server_name() const { return "host=" + directory_.path() + " user=turnpike"; }

std::string Postgres::url() const { return server_name() + database_word + "postgres"; }

std::string Postgres::new_schema() {
  storage::Settings settings;
  settings.engine = storage::Engine::postgres;
  storage::Connection connection(settings, url());
  // With a capital, since operators may name theirs so.
  const std::string schema = "\"Test_" + std::to_string(++schemas_) + "\"";
  connection.run_once("CREATE SCHEMA " + schema);
  return url() + " options=-csearch_path=" + schema;
}

std::string Postgres::new_migrated(const Migrate& migrate) {
  storage::Settings settings;
  settings.engine = storage::Engine::postgres;
  storage::Connection connection(settings, url());
  if (databases_ == 0) {
    connection.run_once("CREATE DATABASE migrated");
    migrate(server_name() + database_word + "migrated");
  }
  const std::string name = "test_" + std::to_string(++databases_);
  // Copying the files of this small database takes half as long as writing its pages to the log.
  connection.run_once("CREATE DATABASE " + name + " TEMPLATE migrated STRATEGY file_copy");
  return server_name() + database_word + name;
}

void Postgres::drop(const std::string& migrated_url) noexcept {
  try {
    storage::Settings settings;
    settings.engine = storage::Engine::postgres;
    storage::Connection connection(settings, url());
    const std::string name =
        migrated_url.substr(migrated_url.rfind(database_word) + database_word.size());
    connection.run_once("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
  } catch (const storage::StoreError&) {
    // A test stopped the server. Its data is temporary, so nothing needs to be dropped.
  }
}

Postgres* shared_postgres() {
  if (find_binaries().empty()) return nullptr;
  static Postgres server;
  return &server;
}

}  // namespace turnpike::support
