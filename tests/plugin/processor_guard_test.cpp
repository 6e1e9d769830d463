// Processors behind the guard: an answer that breaks the interface is the plugin's fault and never
// a payment. Blocking calls run on the pool with their own copies of the arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "plugin/call_by_hand.h"
#include "plugin/guard.h"
#include "plugin/surroundings.h"
#include "runtime/runtime.h"

namespace turnpike::plugin {
namespace {

using runtime::Deadline;
using ::testing::HasSubstr;

// The answers of the processor below; with `throws`, its functions throw.
struct ProcessorScript {
  bool throws = false;
  Begun begun{"ref_1", "https://pay.example/1", "cus_1", 0, {}};
  Payment payment;
  SetupState setup;
  Refunded refunded{"re_1", {}};
  std::optional<std::string> url;
  Notice notice;
  Changes changes;
  std::string seen;  // the arguments, read inside the function
  bool was_on_a_loop = false;
  runtime::Event inside;
  runtime::Event go_on;
  bool waits = false;

  template <class T>
  Result<T> answer(T value, std::string arguments = {}) {
    seen = std::move(arguments);
    was_on_a_loop = runtime::Loop::current() != nullptr;
    inside.set();
    if (waits) go_on.wait(Deadline::never());
    if (throws) throw std::runtime_error("out of luck");
    return value;
  }
};

std::string text_of(const Order& order) {
  std::string text;
  for (const std::string_view each :
       {order.purchase_id, order.account_id, order.title, order.customer, order.saved_method,
        order.success_url, order.cancel_url, order.step_key, order.price.currency}) {
    text += std::string(each) + "|";
  }
  return text + std::to_string(order.price.minor) + "|" + std::to_string(order.expires_at_ms) +
         (order.saves_method ? "|saves" : "");
}

class ScriptedBoundProcessor final : public BoundProcessor {
 public:
  explicit ScriptedBoundProcessor(ProcessorScript& script) : script_(script) {}
  Result<Begun> begin(const Order& order, Call&) override {
    return script_.answer(script_.begun, text_of(order));
  }
  Result<Payment> look_up(std::string_view reference, Call&) override {
    return script_.answer(script_.payment, std::string(reference));
  }
  Result<Payment> charge(const Order& order, std::string_view reference, Call&) override {
    return script_.answer(script_.payment, text_of(order) + std::string(reference));
  }
  Done cancel(std::string_view reference, Call&) override {
    return script_.answer(Unit{}, std::string(reference));
  }
  Result<Refunded> refund(std::string_view payment, Price price, std::string_view key,
                          Call&) override {
    return script_.answer(script_.refunded, std::string(payment) + std::string(price.currency) +
                                                std::to_string(price.minor) + std::string(key));
  }
  Done confirm(std::string_view reference, Price price, std::string_view note, Call&) override {
    return script_.answer(Unit{}, std::string(reference) + std::string(price.currency) +
                                      std::to_string(price.minor) + std::string(note));
  }
  Result<Begun> begin_setup(const Order& order, Call&) override {
    return script_.answer(script_.begun, text_of(order));
  }
  Result<SetupState> look_up_setup(std::string_view reference, Call&) override {
    return script_.answer(script_.setup, std::string(reference));
  }
  Done forget_method(std::string_view method, Call&) override {
    return script_.answer(Unit{}, std::string(method));
  }
  Result<std::optional<std::string>> payment_document(std::string_view reference,
                                                      PaymentDocument kind, Call&) override {
    return script_.answer(script_.url, std::string(reference) + std::string(name_of(kind)));
  }
  Result<Notice> notice(const IntakeRequest& request, Call&) override {
    return script_.answer(script_.notice,
                          std::string(request.body) + std::string(request.headers[0].value));
  }
  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call&) override {
    return script_.answer(script_.changes, std::to_string(since_ms) + std::string(cursor));
  }
  std::vector<Finding> check(Call&) override {
    return *script_.answer(std::vector<Finding>{{false, "all is well"}});
  }

 private:
  ProcessorScript& script_;
};

class ScriptedProcessor final : public Processor {
 public:
  explicit ScriptedProcessor(ProcessorScript& script) : script_(script) {}
  [[nodiscard]] ProcessorTraits traits() const noexcept override {
    ProcessorTraits traits;
    traits.name = "scripted";
    return traits;
  }
  Result<std::unique_ptr<BoundProcessor>> bind(const ProcessorBinding&, Host&) override {
    if (script_.throws) throw std::runtime_error("out of luck");
    return std::unique_ptr<BoundProcessor>(std::make_unique<ScriptedBoundProcessor>(script_));
  }

 private:
  ProcessorScript& script_;
};

class ProcessorGuardTest : public ::testing::TestWithParam<Execution> {
 protected:
  ProcessorGuardTest()
      : guard_("scripted", 1, GetParam(),
               {surroundings_.pool, surroundings_.log, *surroundings_.metrics},
               {.pool_threads_max = 2, .pool_queued_max = 0}),
        processor_(guard_.wrap(plain_)) {
    auto bound = bind();
    bound_ = *std::move(bound);
    script_.payment.progress = Progress::paid;
    script_.payment.currency = "USD";
    script_.payment.net = 1000;
    script_.payment.total = 1190;
    script_.payment.payment = "pay_1";
  }
  Result<std::unique_ptr<BoundProcessor>> bind() {
    const Settings settings;
    PluginHost host("scripted", surroundings_.resources());
    return processor_->bind({settings, {}, {}, {}}, host);
  }
  // An order whose views end with the call that receives it.
  struct OwnOrder {
    std::string id = "pur_1 that dies with this call", key = "step";
    [[nodiscard]] Order view() const {
      return {id, "acc", "title", "cus", "pm", "ok", "no", key, {"USD", 1000}, 7, true};
    }
  };
  static constexpr std::string_view whole_order =
      "pur_1 that dies with this call|acc|title|cus|pm|ok|no|step|USD|1000|7|saves";

  Result<Begun> begin() {
    CallByHand call;
    const OwnOrder order;
    return bound_->begin(order.view(), call);
  }
  Result<Payment> look_up() {
    CallByHand call;
    return bound_->look_up(std::string("ref_1"), call);
  }
  template <class T>
  void expect_fault(const Result<T>& result, const std::string& text) {
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().kind, FailureKind::plugin_fault) << text;
    EXPECT_TRUE(result.error().maybe_sent) << text;
    EXPECT_THAT(result.error().message, HasSubstr(text));
  }

  ProcessorScript script_;
  ScriptedProcessor plain_{script_};
  std::optional<runtime::Runtime> runtime_;
  Surroundings surroundings_;
  Guard guard_;
  std::unique_ptr<Processor> processor_;
  std::unique_ptr<BoundProcessor> bound_;
};

INSTANTIATE_TEST_SUITE_P(Execution, ProcessorGuardTest,
                         ::testing::Values(Execution::cooperative, Execution::blocking),
                         [](const auto& instance) {
                           return std::string(
                               instance.param == Execution::blocking ? "blocking" : "cooperative");
                         });

TEST_P(ProcessorGuardTest, WhatKeepsTheInterfacePasses) {
  CallByHand call;
  const OwnOrder order;
  const auto begun = begin();
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->reference, "ref_1");
  EXPECT_EQ(script_.seen, whole_order);
  ASSERT_TRUE(look_up().ok());
  EXPECT_EQ(script_.seen, "ref_1");
  ASSERT_TRUE(bound_->charge(order.view(), std::string("ref_1"), call).ok());
  EXPECT_EQ(script_.seen, std::string(whole_order) + "ref_1");
  ASSERT_TRUE(bound_->cancel(std::string("ref_1"), call).ok());
  EXPECT_EQ(script_.seen, "ref_1");
  ASSERT_TRUE(bound_->refund("pay_1", {"USD", 5}, "ref_9", call).ok());
  EXPECT_EQ(script_.seen, "pay_1USD5ref_9");
  ASSERT_TRUE(bound_->confirm("ref_1", {"EUR", 5}, "seen", call).ok());
  EXPECT_EQ(script_.seen, "ref_1EUR5seen");
  ASSERT_TRUE(bound_->begin_setup(order.view(), call).ok());
  EXPECT_EQ(script_.seen, whole_order);
  ASSERT_TRUE(bound_->look_up_setup("ref_2", call).ok());
  EXPECT_EQ(script_.seen, "ref_2");
  ASSERT_TRUE(bound_->forget_method("pm_1", call).ok());
  EXPECT_EQ(script_.seen, "pm_1");
  ASSERT_TRUE(bound_->payment_document("ref_1", PaymentDocument::invoice_pdf, call).ok());
  EXPECT_EQ(script_.seen, "ref_1invoice_pdf");
  ASSERT_TRUE(bound_->changes(77, "cursor", call).ok());
  EXPECT_EQ(script_.seen, "77cursor");
  const HeaderField header{"X-Signature", "signed"};
  IntakeRequest request;
  request.headers = {&header, 1};
  request.body = "body";
  ASSERT_TRUE(bound_->notice(request, call).ok());
  EXPECT_EQ(script_.seen, "bodysigned");
  ASSERT_EQ(bound_->check(call).size(), 1u);
  EXPECT_FALSE(bound_->check(call)[0].is_wrong);
}

TEST_P(ProcessorGuardTest, ABeginningThatBreaksTheInterfaceIsAFault) {
  const std::pair<std::function<void(Begun&)>, const char*> breaches[] = {
      {[](Begun& begun) { begun.reference.clear(); }, "without a reference"},
      {[](Begun& begun) { begun.reference = "a b"; }, "without a reference"},
      {[](Begun& begun) { begun.reference = std::string(256, 'r'); }, "without a reference"},
      {[](Begun& begun) { begun.customer = "a\nb"; }, "name of a customer"},
      {[](Begun& begun) { begun.url = "javascript:alert(1)"; }, "none of the web"},
      {[](Begun& begun) { begun.url = "https://a b"; }, "none of the web"},
      {[](Begun& begun) { begun.url = "https://" + std::string(4'096, 'u'); }, "none of the web"}};
  const Begun right = script_.begun;
  for (const auto& [spoil, text] : breaches) {
    script_.begun = right;
    spoil(script_.begun);
    expect_fault(begin(), text);
    CallByHand call;
    expect_fault(bound_->begin_setup(OwnOrder().view(), call), text);
  }
  // In a refusal, the other members are ignored.
  script_.begun = {};
  script_.begun.refusal = "refused";
  EXPECT_TRUE(begin().ok());
  script_.begun = right;
  script_.begun.reference = std::string(255, 'r');
  script_.begun.url.clear();
  EXPECT_TRUE(begin().ok());
}

TEST_P(ProcessorGuardTest, APaymentThatBreaksTheInterfaceIsAFaultAndNeverPaid) {
  const std::pair<std::function<void(Payment&)>, const char*> breaches[] = {
      {[](Payment& payment) { payment.payment.clear(); }, "paid without"},
      {[](Payment& payment) { payment.currency.clear(); }, "paid without"},
      {[](Payment& payment) { payment.net = 0; }, "paid without"},
      {[](Payment& payment) { payment.total = 999; }, "do not fit"},
      {[](Payment& payment) { payment.refunded = -1; }, "do not fit"},
      {[](Payment& payment) { payment.refunded = 1191; }, "do not fit"},
      {[](Payment& payment) { payment.payment = "a b"; }, "names of a payment"},
      {[](Payment& payment) { payment.dispute_id = std::string(256, 'd'); }, "names of a payment"},
      {[](Payment& payment) { payment.code = std::string(201, 'c'); }, "names of a payment"}};
  const Payment right = script_.payment;
  CallByHand call;
  for (const auto& [spoil, text] : breaches) {
    script_.payment = right;
    spoil(script_.payment);
    expect_fault(look_up(), text);
    expect_fault(bound_->charge(OwnOrder().view(), "ref_1", call), text);
  }
  script_.payment = {};  // open: nothing is known yet
  EXPECT_TRUE(look_up().ok());
  script_.payment.net = -1;
  expect_fault(look_up(), "do not fit");
}

TEST_P(ProcessorGuardTest, OtherAnswersAreHeldToTheInterface) {
  CallByHand call;
  script_.setup.method.emplace();
  expect_fault(bound_->look_up_setup("ref_1", call), "a method without a reference");
  script_.url = "file:///etc/passwd";
  expect_fault(bound_->payment_document("ref_1", PaymentDocument::receipt, call), "its document");
  const HeaderField header{"X", "v"};
  IntakeRequest request;
  request.headers = {&header, 1};
  script_.notice.reply.status = 99;
  expect_fault(bound_->notice(request, call), "status");
  script_.notice.reply.status = 200;
  script_.notice.reply.headers.push_back({"Set-Cookie", "a=b"});
  expect_fault(bound_->notice(request, call), "Set-Cookie");
}

TEST_P(ProcessorGuardTest, WhatThrowsIsAFaultOfEachFunction) {
  script_.throws = true;
  CallByHand call;
  const HeaderField header{"X", "v"};
  IntakeRequest request;
  request.headers = {&header, 1};
  const std::string text = "the plugin threw: out of luck";
  expect_fault(begin(), text);
  expect_fault(look_up(), text);
  expect_fault(bound_->charge(OwnOrder().view(), "r", call), text);
  expect_fault(bound_->cancel("r", call), text);
  expect_fault(bound_->refund("r", {"USD", 1}, "k", call), text);
  expect_fault(bound_->confirm("r", {"USD", 1}, "n", call), text);
  expect_fault(bound_->begin_setup(OwnOrder().view(), call), text);
  expect_fault(bound_->look_up_setup("r", call), text);
  expect_fault(bound_->forget_method("r", call), text);
  expect_fault(bound_->payment_document("r", PaymentDocument::invoice, call), text);
  expect_fault(bound_->notice(request, call), text);
  expect_fault(bound_->changes(0, {}, call), text);
  const auto found = bound_->check(call);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_wrong);
  EXPECT_THAT(found[0].text, HasSubstr(text));
  EXPECT_FALSE(bind().ok());
  EXPECT_THAT(surroundings_.log.lines(), HasSubstr(R"("event":"plugin_fault")"));
}

TEST_P(ProcessorGuardTest, WhatBlocksRunsOnThePool) {
  runtime_.emplace(runtime::RuntimeOptions{});
  runtime::Event ended;
  runtime_->loops()[0]->spawn([&] {
    EXPECT_TRUE(look_up().ok());
    ended.set();
  });
  ASSERT_EQ(ended.wait(Deadline::after_ms(60'000)), runtime::Wake::ready);
  EXPECT_EQ(script_.was_on_a_loop, GetParam() == Execution::cooperative);
}

// The arguments must live as long as the plugin reads them.
TEST_P(ProcessorGuardTest, AStuckProcessorIsLeftAtTheDeadline) {
  if (GetParam() == Execution::cooperative) return;  // its waits go through the host and return
  script_.waits = true;
  // On a busy machine the call may not have begun by the deadline, and then never begins.
  for (int wait_ms = 100;; wait_ms *= 2) {
    CallByHand call(Deadline::after_ms(wait_ms));
    const auto left = bound_->begin(OwnOrder().view(), call);
    ASSERT_FALSE(left.ok());
    if (left.error().maybe_sent) break;
  }
  script_.go_on.set();
  EXPECT_TRUE(surroundings_.pool.stop(Deadline::after_ms(30'000)));
  EXPECT_EQ(script_.seen, whole_order);
}

}  // namespace
}  // namespace turnpike::plugin
