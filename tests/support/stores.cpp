#include "support/stores.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace turnpike::support {
namespace {

void migrate(const storage::Settings& empty, const Clock& clock) {
  const auto steps = storage::migrate(empty, clock, false);
  if (!steps) throw std::runtime_error(steps.error());
}

// A migrated file for others to copy, which is faster than to migrate each.
class MigratedFile {
 public:
  MigratedFile(storage::Settings settings, const Clock& clock) {
    settings.data_dir = directory_.path();
    settings.sqlite_path = path();
    migrate(settings, clock);
  }
  [[nodiscard]] std::string path() const { return directory_.path() + "/migrated.db"; }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

storage::Settings patient_settings(std::uint32_t sessions) {
  constexpr std::uint32_t patience_ms = 60'000;
  storage::Settings settings;
  settings.sessions = sessions;
  settings.session_wait_ms = settings.statement_timeout_ms = settings.busy_timeout_ms = patience_ms;
  settings.connect_timeout_s = patience_ms / 1'000;
  return settings;
}

TestStore::TestStore(storage::Engine engine, std::uint32_t sessions)
    : TestStore(engine, patient_settings(sessions)) {}

TestStore::TestStore(storage::Engine engine, const storage::Settings& settings)
    : settings_(settings) {
  settings_.engine = engine;
  settings_.data_dir = directory_.path() + "/node";
  settings_.sqlite_path = directory_.path() + "/test.db";
  if (engine == storage::Engine::sqlite) {
    static const MigratedFile migrated(settings_, clock);
    std::filesystem::copy_file(migrated.path(), settings_.sqlite_path);
    return;
  }
  settings_.postgres_url = shared_postgres()->new_migrated([&](const std::string& url) {
    storage::Settings empty = settings_;
    empty.postgres_url = url;
    migrate(empty, clock);
  });
}

TestStore::~TestStore() {
  const bool is_postgres = settings_.engine == storage::Engine::postgres;
  if (is_postgres) shared_postgres()->drop(settings_.postgres_url);
}

storage::Settings TestStore::settings(const std::string& directory) const {
  storage::Settings settings = settings_;
  settings.data_dir = directory_.path() + "/" + directory;
  return settings;
}

std::unique_ptr<storage::Node> TestStore::open(storage::Role role,
                                               const std::string& directory) const {
  auto node = storage::Node::open(settings(directory), role,
                                  {clock, random, storage::TimeSource::argument, nullptr});
  if (!node) throw std::runtime_error(node.error());
  return *std::move(node);
}

std::string name_of(storage::Engine engine) {
  return engine == storage::Engine::sqlite ? "sqlite" : "postgres";
}

std::string missing(storage::Engine engine) {
  if (engine == storage::Engine::sqlite || shared_postgres() != nullptr) return "";
  const std::string why =
      "PostgreSQL is not installed (package postgresql): these tests cannot run";
  // `./dev test` installs PostgreSQL, so its absence there is a failure, not a reason to skip.
  if (std::getenv("TURNPIKE_REQUIRE_POSTGRES") != nullptr) throw std::runtime_error(why);
  return why;
}

}  // namespace turnpike::support
