// Notifications beside calls, on a scripted store: what becomes of taken deliveries at a stop.
#include "app/services/notice_services.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "base/metrics.h"
#include "support/stores.h"

namespace turnpike::app {
namespace {

using notices::Delivery;
using notices::DisabledReason;
using notices::DueDelivery;
using notices::Endpoint;
using runtime::Deadline;
using ::testing::ElementsAre;

// One delivery is due. take_due() waits until the test sets `go_on`, as for a slow database.
class SlowStore final : public notices::NoticeStore {
 public:
  runtime::Event taking;
  runtime::Event go_on;
  std::vector<std::string> given_back;  // read after the stop

  Answer<std::vector<DueDelivery>> take_due(std::int64_t, std::uint32_t) override {
    taking.set();
    (void)go_on.wait(Deadline::never());
    DueDelivery due;
    due.id = "dlv_1";
    due.url = "http://127.0.0.1:1/";
    return std::vector{due};
  }
  Answer<DisabledReason> finish(const DueDelivery& delivery, const notices::Attempt& attempt,
                                std::uint32_t) override {
    if (attempt.is_cut) given_back.push_back(delivery.id);
    return DisabledReason::none;
  }
  Answer<bool> take_scan(notices::Scan, std::int64_t) override { return false; }

  // Nothing below is asked.
  Answer<Endpoint> create(const notices::NewEndpoint&, const identity::Actor&) override {
    return unused();
  }
  Answer<std::vector<Endpoint>> endpoints(std::string_view) override { return unused(); }
  Answer<std::optional<Endpoint>> change(std::string_view, std::string_view,
                                         const notices::EndpointWish&,
                                         const identity::Actor&) override {
    return unused();
  }
  Answer<bool> remove(std::string_view, std::string_view, const identity::Actor&) override {
    return unused();
  }
  Answer<std::optional<Endpoint>> rotate(std::string_view, std::string_view, std::string_view,
                                         const identity::Actor&) override {
    return unused();
  }
  Answer<std::optional<Delivery>> test(std::string_view, std::string_view,
                                       const identity::Actor&) override {
    return unused();
  }
  Answer<std::vector<Delivery>> deliveries(const notices::DeliveryQuery&) override {
    return unused();
  }
  Answer<std::optional<Delivery>> retry(std::string_view, std::string_view,
                                        const identity::Actor&) override {
    return unused();
  }
  Answer<notices::NoticeSettings> settings(std::string_view) override { return unused(); }
  Answer<notices::NoticeSettings> set(std::string_view, const notices::NoticeSettings&,
                                      const identity::Actor&) override {
    return unused();
  }
  Answer<notices::NoticeStanding> standing() override { return unused(); }
  Answer<std::uint32_t> tell_low_credits() override { return unused(); }
  Answer<std::uint32_t> tell_reached_caps() override { return unused(); }
  Answer<std::uint32_t> note_prices(std::string_view,
                                    std::span<const notices::RoutePrice>) override {
    return unused();
  }
  Answer<std::uint32_t> sweep(std::int64_t) override { return unused(); }

 private:
  static base::Error unused() {
    ADD_FAILURE() << "not expected";
    return {base::ErrorCode::notification_unavailable, "", 0};
  }
};

// If it were not, it would be sent a minute later, when its lease has expired.
TEST(NoticeServices, ADeliveryThatIsTakenDuringTheStopIsGivenBack) {
  const support::TestStore database(storage::Engine::sqlite);
  const auto node = database.open();
  const auto log = base::make_silent_log();
  const auto metrics = base::make_metrics();
  const Serving serving;
  SlowStore store;
  runtime::Runtime runtime{runtime::RuntimeOptions{}};
  const runtime::Loop& loop = *runtime.loops().front();
  NoticeServices services(Config(), {.runtime = runtime,
                                     .store = store,
                                     .usage = node->usage(),
                                     .serving = serving,
                                     .clock = database.clock,
                                     .random = database.random,
                                     .log = *log,
                                     .metrics = *metrics});
  services.start();
  (void)store.taking.wait(Deadline::never());
  services.cancel();
  while (loop.fibers() > 1) std::this_thread::yield();  // all but the one that takes
  store.go_on.set();
  EXPECT_TRUE(services.has_ended(Deadline::after_ms(60'000)));
  services.stop_client();
  EXPECT_THAT(store.given_back, ElementsAre("dlv_1"));
}

}  // namespace
}  // namespace turnpike::app
