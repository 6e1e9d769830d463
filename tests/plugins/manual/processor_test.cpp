#include "manual/processor.h"

#include <gtest/gtest.h>

#include <turnpike/helpers/test_host.h>

namespace turnpike::manual {
namespace {

constexpr std::int64_t a_day_ms = 24 * 3'600'000ll;
constexpr char purchase[] = "pur_1";

class Manual : public testing::Test {
 protected:
  std::unique_ptr<BoundProcessor> bind(const Settings& settings) {
    ManualProcessor processor;
    auto bound = processor.bind({.settings = settings,
                                 .public_origin = "https://api.example",
                                 .environment = "development",
                                 .deployment_id = "d"},
                                host_);
    return bound.ok() ? *std::move(bound) : nullptr;
  }
  Result<Begun> begin(BoundProcessor& bound, std::int64_t minor = 1'000) {
    Order order;
    order.purchase_id = purchase;
    order.step_key = "k";
    order.price = {"USD", minor};
    return bound.begin(order, call_);
  }
  Payment look(BoundProcessor& bound) {
    auto payment = bound.look_up(purchase, call_);
    EXPECT_TRUE(payment.ok());
    return payment.ok() ? *payment : Payment{};
  }

  TestHost host_;
  TestCall call_;
};

TEST_F(Manual, RefusesSettingsThatItDoesNotKnow) {
  const auto where = [](const Settings& settings) {
    const auto read = read_settings(settings);
    return read.ok() ? std::string("taken") : read.error().where;
  };
  EXPECT_EQ(where(Settings{}), "taken");
  EXPECT_EQ(where(settings_of({{"days_to_pay", "30"}})), "taken");
  EXPECT_EQ(where(settings_of({{"days_to_pay", "91"}})), "days_to_pay");
  EXPECT_EQ(where(settings_of({{"instructions_url", "javascript:x"}})), "instructions_url");
  EXPECT_EQ(where(settings_of({{"instruction_url", "https://x.example"}})), "instruction_url");
}

TEST_F(Manual, AnOrderIsOpenUntilItsTimeIsOver) {
  const auto bound = bind(
      settings_of({{"instructions_url", "https://x.example/?r={purchase}"}, {"days_to_pay", "3"}}));
  ASSERT_NE(bound, nullptr);
  const auto begun = begin(*bound);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->reference, purchase);
  EXPECT_EQ(begun->url, "https://x.example/?r=pur_1");
  EXPECT_EQ(begun->expires_at_ms, host_.time_ms + 3 * a_day_ms);
  host_.time_ms += a_day_ms;
  EXPECT_EQ(begin(*bound)->expires_at_ms, begun->expires_at_ms) << "begun again, it is the same";
  EXPECT_EQ(look(*bound).progress, Progress::open);
  host_.time_ms += 3 * a_day_ms;
  EXPECT_EQ(look(*bound).progress, Progress::expired);
  // Money that arrives late can still be confirmed.
  ASSERT_TRUE(bound->confirm(purchase, {"USD", 1'000}, "statement 7", call_).ok());
  EXPECT_EQ(look(*bound).progress, Progress::paid);
}

TEST_F(Manual, OnlyTheAmountThatWasOrderedIsConfirmed) {
  const auto bound = bind(Settings{});
  ASSERT_TRUE(begin(*bound).ok());
  EXPECT_FALSE(bound->confirm(purchase, {"USD", 999}, "", call_).ok());
  EXPECT_FALSE(bound->confirm(purchase, {"EUR", 1'000}, "", call_).ok());
  EXPECT_FALSE(bound->confirm("pur_none", {"USD", 1'000}, "", call_).ok());
  EXPECT_EQ(look(*bound).progress, Progress::open);
  ASSERT_TRUE(bound->confirm(purchase, {"USD", 1'000}, "a note of words", call_).ok());
  ASSERT_TRUE(bound->confirm(purchase, {"USD", 1'000}, "again", call_).ok());
  const Payment payment = look(*bound);
  EXPECT_EQ(payment.progress, Progress::paid);
  EXPECT_EQ(payment.net, 1'000);
  EXPECT_EQ(payment.currency, "USD");
  EXPECT_EQ(payment.payment, purchase);
  EXPECT_EQ(payment.purchase_id, purchase);
}

TEST_F(Manual, ARefundCountsOnceUnderItsKey) {
  const auto bound = bind(Settings{});
  ASSERT_TRUE(begin(*bound).ok());
  ASSERT_TRUE(bound->confirm(purchase, {"USD", 1'000}, "", call_).ok());
  for (int time = 0; time < 3; ++time) {
    ASSERT_TRUE(bound->refund(purchase, {"USD", 300}, "ref_1", call_).ok());
  }
  ASSERT_TRUE(bound->refund(purchase, {"USD", 200}, "ref_2", call_).ok());
  EXPECT_EQ(look(*bound).refunded, 500);
  EXPECT_FALSE(host_.log.empty()) << "the operator is told to send the money";
}

}  // namespace
}  // namespace turnpike::manual
