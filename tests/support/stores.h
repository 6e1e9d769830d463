// TestStore: a migrated, empty database of one engine, and Nodes on it. On the test's Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "storage/node.h"
#include "support/postgres.h"
#include "support/sdk_fakes.h"
#include "support/temporary.h"

namespace turnpike::support {

// Settings with long timeouts, so a slow machine does not look like an outage.
storage::Settings patient_settings(std::uint32_t sessions);

class TestStore {
 public:
  // Uses patient_settings(). Throws std::runtime_error. REQUIRES: shared_postgres() for
  // Engine::postgres.
  explicit TestStore(storage::Engine engine, std::uint32_t sessions = 2);
  // Uses the given settings, except for the location of the database.
  TestStore(storage::Engine engine, const storage::Settings& settings);
  ~TestStore();
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  // Opens the database as another process would; gateways differ by `directory`.
  [[nodiscard]] std::unique_ptr<storage::Node> open(storage::Role role = storage::Role::gateway,
                                                    const std::string& directory = "node") const;

  [[nodiscard]] storage::Settings settings(const std::string& directory = "node") const;

  mutable ManualClock clock;
  mutable SeededRandom random{42};

 private:
  TemporaryDirectory directory_;
  storage::Settings settings_;
};

// For INSTANTIATE_TEST_SUITE_P and the names of its suites.
inline constexpr storage::Engine engines[] = {storage::Engine::sqlite, storage::Engine::postgres};
std::string name_of(storage::Engine engine);

// The reason why tests cannot use this engine here, or "". Throws instead if
// TURNPIKE_REQUIRE_POSTGRES is set.
std::string missing(storage::Engine engine);

}  // namespace turnpike::support
