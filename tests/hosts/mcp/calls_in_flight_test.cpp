#include "hosts/mcp/calls_in_flight.h"

#include <optional>

#include <gtest/gtest.h>

#include "runtime/runtime.h"
#include "runtime/wait.h"

namespace turnpike::hosts::mcp {
namespace {

using Call = CallsInFlight::Call;

TEST(CallsInFlightTest, ACallIsNamedByItsCredentialAndItsId) {
  CallsInFlight calls;
  Call one(calls, "key", "1"), other(calls, "key", "2"), text(calls, "key", "\"1\"");
  Call stranger(calls, "other key", "1");
  EXPECT_FALSE(calls.cancel("key", "3"));
  EXPECT_FALSE(calls.cancel("ke", "y1"));
  EXPECT_TRUE(calls.cancel("key", "1"));
  EXPECT_TRUE(one.is_cancelled());
  EXPECT_FALSE(other.is_cancelled());
  EXPECT_FALSE(text.is_cancelled());
  EXPECT_FALSE(stranger.is_cancelled());
  EXPECT_TRUE(calls.cancel("key", "1")) << "once more does no harm";
}

TEST(CallsInFlightTest, WithoutACredentialOrAnIdNobodyCanNameIt) {
  CallsInFlight calls;
  Call anonymous(calls, "", "1"), notification(calls, "key", "");
  EXPECT_FALSE(calls.cancel("", "1"));
  EXPECT_FALSE(calls.cancel("key", ""));
  EXPECT_FALSE(anonymous.is_cancelled());
  EXPECT_FALSE(notification.is_cancelled());
}

// Clients that share a key may use the same ids, so an ambiguous id must cancel no call.
TEST(CallsInFlightTest, OfSeveralOfOneNameNoneIsEnded) {
  CallsInFlight calls;
  Call first(calls, "key", "1");
  {
    Call second(calls, "key", "1");
    EXPECT_FALSE(calls.cancel("key", "1"));
    EXPECT_FALSE(first.is_cancelled());
    EXPECT_FALSE(second.is_cancelled());
  }
  EXPECT_TRUE(calls.cancel("key", "1"));
  EXPECT_TRUE(first.is_cancelled());
}

TEST(CallsInFlightTest, WhatHasEndedIsNotThereInWhateverOrder) {
  CallsInFlight calls;
  std::optional<Call> first, second, third;
  for (auto* call : {&first, &second, &third}) call->emplace(calls, "key", "1");
  second.reset();
  third.reset();
  EXPECT_TRUE(calls.cancel("key", "1"));
  EXPECT_TRUE(first->is_cancelled());
  first.reset();
  EXPECT_FALSE(calls.cancel("key", "1"));
}

TEST(CallsInFlightTest, TheWaitsOfItsFiberEnd) {
  CallsInFlight calls;
  runtime::Runtime runtime{runtime::RuntimeOptions{.loops = 2}};
  runtime::Event begun, ended;
  runtime::Wake wake = runtime::Wake::ready;
  runtime.loops()[0]->spawn([&] {
    Call call(calls, "key", "1");
    begun.set();
    wake = runtime::sleep_until(runtime::Deadline::after_ms(20'000));
    ended.set();
  });
  begun.wait(runtime::Deadline::never());
  runtime.loops()[1]->spawn([&] { EXPECT_TRUE(calls.cancel("key", "1")); });
  ended.wait(runtime::Deadline::never());
  EXPECT_EQ(wake, runtime::Wake::cancelled);
  runtime.stop(runtime::Deadline::after_ms(2'000), runtime::Deadline::never());
}

}  // namespace
}  // namespace turnpike::hosts::mcp
