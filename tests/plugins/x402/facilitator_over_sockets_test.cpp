// The facilitator client over the gateway's HTTP client and real sockets, on a fiber and on a plain
// Thread. It must report truthfully whether a request may have been sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "plugin/call_by_hand.h"
#include "plugin/host.h"
#include "plugin/surroundings.h"
#include "plugins/http/raw_upstream.h"
#include "runtime/runtime.h"
#include "support/deaf_socket.h"
#include "wire/client.h"
#include "x402/remote/facilitator.h"

namespace turnpike::x402 {
namespace {

using http::RawUpstream;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Outcome = Settlement::Outcome;

const std::string hash = "0x" + std::string(64, 'a');

std::string reply_of(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}
std::string settled_body() {
  return R"({"success":true,"network":"eip155:84532","transaction":")" + hash + "\"}";
}

class OverSocketsTest : public ::testing::Test {
 protected:
  OverSocketsTest() {
    auto resources = surroundings_.resources();
    client_ = wire::make_client(runtime_, {});
    host_ = std::make_unique<plugin::PluginHost>("x402",
                                                 plugin::HostResources{.log = resources.log,
                                                                       .metrics = resources.metrics,
                                                                       .clock = resources.clock,
                                                                       .random = resources.random,
                                                                       .http = *client_,
                                                                       .pool = runtime_.pool(),
                                                                       .stores = resources.stores});
  }
  ~OverSocketsTest() override { client_->stop(); }

  void use(const std::vector<std::string>& urls, const char* settle_timeout_ms = "30000",
           bool allow_private_addresses = true) {
    Settings list;
    list.kind = Settings::Kind::list;
    for (const std::string& url : urls) {
      list.items.push_back(map({{"url", scalar(url)},
                                {"settle_timeout_ms", scalar(settle_timeout_ms)},
                                {"allow_private_addresses", scalar("true")}}));
    }
    auto read = read_facilitators(list);
    ASSERT_TRUE(read.ok()) << read.error().where << read.error().message;
    // The settings refuse a private IP address; the real case is a name that resolves to one.
    for (auto& facilitator : *read) facilitator.allow_private_addresses = allow_private_addresses;
    facilitators_.emplace(*std::move(read), *host_);
  }
  Settlement settle() {
    plugin::CallByHand call;
    return facilitators_->settle(request_, call);
  }
  // Runs `function` on this plain Thread and on a fiber.
  void twice(const std::function<void()>& function) {
    function();
    runtime::Event ended;
    runtime_.loops()[0]->spawn([&] {
      function();
      ended.set();
    });
    ASSERT_EQ(ended.wait(runtime::Deadline::after_ms(60'000)), runtime::Wake::ready);
  }

  plugin::Surroundings surroundings_;
  runtime::Runtime runtime_{runtime::RuntimeOptions{}};
  std::unique_ptr<wire::Client> client_;
  std::unique_ptr<plugin::PluginHost> host_;
  std::optional<Facilitators> facilitators_;
  FacilitatorRequest request_{
      R"({"x402Version":2})", R"({"scheme":"exact"})", "exact", "eip155:84532", {}};
};

TEST_F(OverSocketsTest, SettlesAndVerifies) {
  RawUpstream settles{reply_of(200, settled_body())};
  use({settles.url() + "/platform/"});
  twice([&] {
    const Settlement settlement = settle();
    EXPECT_EQ(settlement.outcome, Outcome::settled);
    EXPECT_EQ(settlement.transaction, hash);
  });
  ASSERT_THAT(settles.requests(), SizeIs(2));
  for (const std::string& request : settles.requests()) {
    EXPECT_THAT(request, StartsWith("POST /platform/settle HTTP/1.1\r\n"));
    EXPECT_THAT(request, HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(request, HasSubstr("\r\n\r\n{\"x402Version\":2,\"paymentPayload\":{"));
  }
  RawUpstream verifies{reply_of(402, R"({"isValid":false,"invalidReason":"insufficient_funds"})")};
  use({verifies.url()});
  twice([&] {
    plugin::CallByHand call;
    const Verification verification = facilitators_->verify(request_, true, call);
    EXPECT_EQ(verification.outcome, Verification::Outcome::invalid);
    EXPECT_EQ(verification.reason, "insufficient_funds");
  });
  EXPECT_THAT(surroundings_.metrics->text(),
              HasSubstr("turnpike_plugin_facilitator_settle_settled_total{plugin=\"x402\"} 2"));
}

TEST_F(OverSocketsTest, ALostAnswerIsUnknownAndGoesToNobodyElse) {
  const std::string whole = reply_of(200, settled_body());
  for (const std::string& cut :
       {whole.substr(0, whole.size() - 1), whole.substr(0, 20), std::string("\r\n")}) {
    RawUpstream loses{cut};
    RawUpstream other{whole};
    use({loses.url(), other.url()});
    twice([&] { EXPECT_EQ(settle().outcome, Outcome::unknown) << cut; });
    EXPECT_THAT(loses.requests(), SizeIs(2));
    EXPECT_THAT(other.requests(), IsEmpty());
  }
}

TEST_F(OverSocketsTest, ASilentFacilitatorIsUnknownAtItsTimeout) {
  twice([&] {
    // On a busy machine the call may time out before it sends anything, so the timeout grows until
    // it does.
    for (int timeout_ms = 100;; timeout_ms *= 2) {
      ASSERT_LT(timeout_ms, 20'000);
      RawUpstream silent{""};
      RawUpstream other{reply_of(200, settled_body())};
      use({silent.url(), other.url()}, std::to_string(timeout_ms).c_str());
      const Settlement settlement = settle();
      if (silent.requests().empty()) continue;
      EXPECT_EQ(settlement.outcome, Outcome::unknown);
      EXPECT_THAT(other.requests(), IsEmpty());
      break;
    }
  });
}

TEST_F(OverSocketsTest, WhereNobodyListensNothingWasSent) {
  const support::DeafSocket deaf;
  RawUpstream other{reply_of(200, settled_body())};
  use({deaf.url()});
  twice([&] { EXPECT_EQ(settle().outcome, Outcome::not_sent); });
  use({deaf.url(), other.url()});
  twice([&] {
    const Settlement settlement = settle();
    EXPECT_EQ(settlement.outcome, Outcome::settled);
    EXPECT_EQ(settlement.facilitator, other.url());
  });
}

TEST_F(OverSocketsTest, PrivateAddressesAreRefusedUnlessAllowed) {
  RawUpstream server{reply_of(200, settled_body())};
  use({server.url()}, "30000", false);
  twice([&] { EXPECT_EQ(settle().outcome, Outcome::not_sent); });
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(OverSocketsTest, ARedirectIsNotFollowed) {
  RawUpstream other{reply_of(200, settled_body())};
  RawUpstream redirects{"HTTP/1.1 307 X\r\nLocation: " + other.url() +
                        "/settle\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
  use({redirects.url()});
  twice([&] { EXPECT_EQ(settle().outcome, Outcome::unknown); });
  EXPECT_THAT(other.requests(), IsEmpty());
}

TEST_F(OverSocketsTest, AnyThreadMayAskAtAnyTime) {
  const std::string all = R"({"isValid":true,"kinds":[{"x402Version":2,"scheme":"exact",)"
                          R"("network":"eip155:84532"}],)" +
                          settled_body().substr(1);
  RawUpstream server{reply_of(200, all)};
  const support::DeafSocket deaf;
  use({deaf.url(), server.url()});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < 10; ++round) {
        plugin::CallByHand call;
        bool is_right = true;
        switch ((number + round) % 4) {
          case 0:
            is_right = facilitators_->settle(request_, call).outcome == Outcome::settled;
            break;
          case 1:
            is_right =
                facilitators_->verify(request_, true, call).outcome == Verification::Outcome::valid;
            break;
          case 2:
            is_right = !facilitators_->refresh_supported(call) &&
                       facilitators_->supports("exact", "eip155:84532") &&
                       facilitators_->extra_of("exact", "eip155:84532").has_value();
            break;
          default:
            is_right = facilitators_->state().size() == 2;
        }
        wrong += is_right ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(facilitators_->state()[0].is_behind);
  EXPECT_FALSE(facilitators_->state()[1].is_behind);
}

}  // namespace
}  // namespace turnpike::x402
