#include "base/sources.h"
#include "quota/node_store.h"
#include "quota/quota_store_conformance.h"
#include "storage/redis_quota.h"
#include "support/redis.h"
#include "support/stores.h"

namespace turnpike::quota {
namespace {

// A NodeStore in memory only, or with its counts in a real database.
class NodeStoreUnderTest final : public StoreUnderTest {
 public:
  NodeStoreUnderTest() : node_store_(std::make_unique<NodeStore>(clock_, std::nullopt)) {}
  explicit NodeStoreUnderTest(storage::Engine engine)
      : database_(std::make_unique<support::TestStore>(engine)), node_(database_->open()) {
    node_store_ =
        std::make_unique<NodeStore>(clock_, NodeStore::Durable{node_->free_counts(), pool_, *log_});
    EXPECT_TRUE(node_store_->start().ok());
  }
  QuotaStore& store() override { return *node_store_; }

 private:
  base::SystemClock clock_;
  runtime::BlockingPool pool_{2, 64};
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<support::TestStore> database_;
  std::unique_ptr<storage::Node> node_;
  std::unique_ptr<NodeStore> node_store_;
};

// Two nodes on one server.
class RedisUnderTest final : public StoreUnderTest {
 public:
  RedisUnderTest() : first_(open()), second_(open()) {}
  QuotaStore& store() override { return *first_; }
  QuotaStore& other() override { return *second_; }

 private:
  std::unique_ptr<QuotaStore> open() {
    auto made = storage::make_redis_quota({.url = server_.url()}, random_, *log_);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  base::SystemRandom random_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  support::Redis server_;
  std::unique_ptr<QuotaStore> first_;
  std::unique_ptr<QuotaStore> second_;
};

std::unique_ptr<StoreUnderTest> on_redis() {
  if (!support::redis_missing().empty()) return nullptr;
  return std::make_unique<RedisUnderTest>();
}

MakeStore on(storage::Engine engine) {
  return [engine]() -> std::unique_ptr<StoreUnderTest> {
    if (!support::missing(engine).empty()) return nullptr;
    return std::make_unique<NodeStoreUnderTest>(engine);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Stores, QuotaStoreConformance,
    testing::Values(std::pair<std::string, MakeStore>(
                        "memory", [] { return std::make_unique<NodeStoreUnderTest>(); }),
                    std::pair<std::string, MakeStore>("sqlite", on(storage::Engine::sqlite)),
                    std::pair<std::string, MakeStore>("redis", on_redis),
                    std::pair<std::string, MakeStore>("postgres", on(storage::Engine::postgres))),
    [](const auto& each) { return each.param.first; });

}  // namespace
}  // namespace turnpike::quota
