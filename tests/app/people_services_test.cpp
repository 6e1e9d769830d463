#include "app/services/people_services.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "support/no_http.h"
#include "support/stores.h"

namespace turnpike::app {
namespace {

using base::ErrorCode;

struct Machine {
  std::uint32_t processors;
  std::uint32_t hashes_at_once;
};
class HashesOn : public testing::TestWithParam<Machine> {};

// Slow hashing must delay only sign-ins, so it has threads of its own, and half of the processors.
TEST_P(HashesOn, HaveThreadsAndAQueueOfTheirOwn) {
  const support::TestStore store(storage::Engine::sqlite);
  const auto node = store.open();
  runtime::BlockingPool pool(6, 300);
  support::NoHttp http;
  const auto people = PeopleServices::open(*node, Config(), "http://localhost:8404",
                                           {.pool = pool,
                                            .processors = GetParam().processors,
                                            .clock = store.clock,
                                            .random = store.random,
                                            .http = http,
                                            .key_revoked = [](std::string_view) {}});
  ASSERT_TRUE(people.ok()) << people.error();
  const hosts::account::PooledPeople& asked = (*people)->of_hosts();

  const std::uint32_t running_max = GetParam().hashes_at_once;
  constexpr std::uint32_t queued_max = 32;
  std::latch gate(1);
  std::atomic<std::uint32_t> running = 0;
  std::atomic<std::uint32_t> most_running = 0;
  std::atomic<std::uint32_t> done = 0;
  std::vector<std::thread> signing_in;
  for (std::uint32_t at = 0; at < running_max + queued_max; ++at) {
    signing_in.emplace_back([&] {
      const auto answer = asked.ask_hashing([&]() -> Result<Unit, base::Error> {
        const std::uint32_t now = ++running;
        for (std::uint32_t most = most_running;
             most < now && !most_running.compare_exchange_weak(most, now);) {
        }
        gate.wait();
        --running;
        return Unit{};
      });
      if (answer.ok()) ++done;
    });
  }
  while (running < running_max || asked.hashes().queued < queued_max) std::this_thread::yield();

  const auto one_more = asked.ask_hashing([]() -> Result<Unit, base::Error> { return Unit{}; });
  EXPECT_FALSE(one_more.ok());
  EXPECT_EQ(one_more.error().code, ErrorCode::auth_overloaded);
  EXPECT_GT(one_more.error().retry_after_seconds, 0u);
  // All other work for people continues.
  EXPECT_TRUE(asked.ask([&] { return node->people().list(); }).ok());

  gate.count_down();
  for (std::thread& each : signing_in) each.join();
  EXPECT_EQ(done, running_max + queued_max);
  EXPECT_EQ(most_running, running_max);
}

INSTANTIATE_TEST_SUITE_P(PeopleServices, HashesOn,
                         testing::Values(Machine{0, 1}, Machine{2, 1}, Machine{3, 1}, Machine{4, 2},
                                         Machine{64, 2}),
                         [](const auto& each) {
                           return std::to_string(each.param.processors) + "Processors";
                         });

}  // namespace
}  // namespace turnpike::app
