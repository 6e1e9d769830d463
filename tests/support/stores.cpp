#include "support/stores.h"

#include <stdexcept>

namespace turnpike::support {

TestStore::TestStore(storage::Engine engine, std::uint32_t sessions) {
  settings_.engine = engine;
  settings_.data_dir = directory_.path() + "/node";
  settings_.sqlite_path = directory_.path() + "/test.db";
  settings_.sessions = sessions;
  if (engine == storage::Engine::postgres) settings_.postgres_url = shared_postgres()->new_schema();
  const auto steps = storage::migrate(settings_, clock, false);
  if (!steps) throw std::runtime_error(steps.error());
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
  return "PostgreSQL is not installed (package postgresql): these tests cannot run";
}

}  // namespace turnpike::support
