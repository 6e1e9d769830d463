// The shells of <turnpike/plugin.h> without any loading: nothing that an author's code throws or
// forgets leaves them.
#include <turnpike/plugin.h>

#include <gtest/gtest.h>

namespace turnpike {
namespace {

struct Private {};

class ThrowingProvider final : public Provider {
 public:
  explicit ThrowingProvider(int what) : what_(what) {}
  Result<std::unique_ptr<Upstream>> bind(const Binding&, Host&) override {
    if (what_ == 0) throw std::runtime_error("no luck");
    if (what_ == 1) throw Private{};
    return std::unique_ptr<Upstream>();
  }

 private:
  int what_;
};

class EmptyLane final : public Lane {
 public:
  [[nodiscard]] LaneTraits traits() const noexcept override { return {}; }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding&, Host&) override {
    return std::unique_ptr<BoundLane>();
  }
};

class EmptyBoundLane final : public BoundLane {
 public:
  Admission admit(const LaneRequest&, Call&) override { return std::unique_ptr<Ticket>(); }
};

// The objects above touch neither host nor call, so none is needed.
template <class Interface>
Interface& untouched() {
  alignas(std::max_align_t) static char bytes[sizeof(void*)] = {};
  return *reinterpret_cast<Interface*>(bytes);
}

std::string bind_error(int what) {
  FactoryError error;
  const std::unique_ptr<Provider> provider(shell::make<Provider, shell::GuardedProvider>(
      error, [what] { return std::make_unique<ThrowingProvider>(what); }));
  const Settings settings;
  auto bound = provider->bind(Binding{"u", settings, {}}, untouched<Host>());
  EXPECT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().kind, FailureKind::plugin_fault);
  return bound.error().message;
}

TEST(Shell, ExceptionsOfBindBecomeFailures) {
  EXPECT_EQ(bind_error(0), "the plugin threw: no luck");
  EXPECT_EQ(bind_error(1), "the plugin threw: an exception of a type that is not std::exception");
  EXPECT_EQ(bind_error(2), "bind() returned no upstream");
}

TEST(Shell, AFactoryThatThrowsOrReturnsNothingLeavesItsReason) {
  FactoryError error;
  const auto throwing = []() -> std::unique_ptr<Provider> { throw std::runtime_error("no store"); };
  EXPECT_EQ((shell::make<Provider, shell::GuardedProvider>(error, throwing)), nullptr);
  EXPECT_STREQ(error.text, "the factory threw: no store");
  const auto empty = [] { return std::unique_ptr<Provider>(); };
  EXPECT_EQ((shell::make<Provider, shell::GuardedProvider>(error, empty)), nullptr);
  EXPECT_STREQ(error.text, "the factory returned nothing");
  const auto wordy = []() -> std::unique_ptr<Provider> {
    throw std::runtime_error(std::string(1000, 'x'));
  };
  EXPECT_EQ((shell::make<Provider, shell::GuardedProvider>(error, wordy)), nullptr);
  EXPECT_EQ(std::string_view(error.text).size(), sizeof(error.text) - 1);
}

TEST(Shell, ALaneThatBindsOrAdmitsNothingIsAFaultAndNoCrash) {
  shell::GuardedLane lane(std::make_unique<EmptyLane>());
  const Settings settings;
  const auto bound = lane.bind(LaneBinding{{}, settings, {}, {}}, untouched<Host>());
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().message, "bind() returned no lane");

  shell::GuardedBoundLane bound_lane(std::make_unique<EmptyBoundLane>());
  const Admission admission = bound_lane.admit(LaneRequest{}, untouched<Call>());
  const auto* refusal = std::get_if<Refusal>(&admission);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->code, "gateway.plugin_fault");
  EXPECT_EQ(refusal->message, "admit() returned no ticket");
}

class FailingTicket final : public Ticket {
 public:
  Finish settle(const ReplyView&, Call&) override { throw std::runtime_error("out of luck"); }
  std::optional<Refusal> release(Outcome, int, Call&) override {
    throw std::runtime_error("out of luck");
  }
};

// With the code of a fault, so that the gateway counts it and tells its operator.
TEST(Shell, WhatATicketThrowsIsAFaultThatTheGatewayCanTell) {
  shell::GuardedTicket ticket(std::make_unique<FailingTicket>());
  const Finish finish = ticket.settle(ReplyView{}, untouched<Call>());
  const auto* unknown = std::get_if<Unknown>(&finish);
  ASSERT_NE(unknown, nullptr) << "whether it charged is not known";
  EXPECT_EQ(unknown->refusal.code, "gateway.plugin_fault");
  EXPECT_EQ(unknown->refusal.message, "out of luck");
  const auto answer = ticket.release(Outcome::upstream_failure, 0, untouched<Call>());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, "gateway.plugin_fault");
  EXPECT_EQ(answer->message, "out of luck");
}

}  // namespace
}  // namespace turnpike
