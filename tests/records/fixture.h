// The Stores that share one contract: those on SQLite and PostgreSQL, and the one in memory that
// tests of plugins use. TestCall: a call with a given timeout. Used by the test's Thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <turnpike/call.h>
#include <turnpike/store.h>

#include "base/log.h"
#include "base/metrics.h"
#include "records/durable_stores.h"
#include "runtime/deadline.h"
#include "support/memory_store.h"
#include "support/stores.h"

namespace turnpike::records {

class TestCall final : public Call {
 public:
  explicit TestCall(std::int64_t wait_ms = 120'000)
      : deadline_ns_(runtime::Deadline::after_ms(wait_ms).ns) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return "request"; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t) noexcept override { return false; }

 private:
  const std::int64_t deadline_ns_;
};

// DurableStores and their surroundings.
struct Running {
  explicit Running(Table& table, const Clock& clock, Random& random)
      : stores(table, {clock, random, *log, *metrics, pool,
                       [this](std::string_view reason) { fatal = reason; }}) {
    const auto started = stores.start();
    EXPECT_TRUE(started.ok());
  }

  std::string fatal;
  std::unique_ptr<base::Log> log = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  runtime::BlockingPool pool{2, 64};
  DurableStores stores;
};

// A database with the access of two processes.
struct OnDatabase {
  explicit OnDatabase(storage::Engine engine)
      : database(engine),
        node(database.open()),
        tool(database.open(storage::Role::tool, "tool")),
        gateway(node->records(), database.clock, database.random),
        command_line(tool->records(), database.clock, database.random) {}

  support::TestStore database;
  std::unique_ptr<storage::Node> node;
  std::unique_ptr<storage::Node> tool;
  Running gateway;
  Running command_line;
};

enum class Kind : std::uint8_t { sqlite, postgres, memory };

inline std::string name_of(Kind kind) {
  return kind == Kind::sqlite ? "sqlite" : kind == Kind::postgres ? "postgres" : "memory";
}

class OnEveryStore : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::memory) return;
    const auto engine =
        GetParam() == Kind::sqlite ? storage::Engine::sqlite : storage::Engine::postgres;
    if (const std::string why = support::missing(engine); !why.empty()) GTEST_SKIP() << why;
    durable_ = std::make_unique<OnDatabase>(engine);
  }
  // `other`: as another process on the same database.
  std::unique_ptr<Store> store_of(std::string_view plugin, bool other = false) {
    if (durable_ == nullptr) return memory_.store_of(plugin);
    return (other ? durable_->command_line : durable_->gateway).stores.store_of(plugin);
  }

  std::unique_ptr<OnDatabase> durable_;
  support::MemoryStores memory_;
  TestCall call_;
};

#define TURNPIKE_ON_EVERY_STORE(Suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(Stores, Suite,                                               \
                           testing::Values(Kind::sqlite, Kind::postgres, Kind::memory), \
                           [](const auto& each) { return name_of(each.param); })

// Short names for the arguments of an apply.
using Checks = std::vector<StoreCheck>;
using Writes = std::vector<StoreWrite>;

}  // namespace turnpike::records
