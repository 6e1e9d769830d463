#include "stripe/events.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::stripe {
namespace {

struct EventRow {
  const char* type;
  const char* object;
  Hint::Of of;
  const char* id;
};

constexpr const char* ours = R"({"id":"cs_1","metadata":{"turnpike_purchase":"pur_1"}})";
constexpr const char* our_intent = R"({"id":"pi_1","metadata":{"turnpike_purchase":"pur_1"}})";
constexpr const char* our_setup = R"({"id":"seti_1","metadata":{"turnpike_setup":"pms_1"}})";
constexpr const char* of_payment = R"({"id":"re_1","payment_intent":"pi_1","metadata":{}})";
constexpr const char* method = R"({"id":"pm_1","customer":null})";
constexpr EventRow rows[] = {
    {"checkout.session.completed", ours, Hint::Of::reference, "cs_1"},
    {"checkout.session.async_payment_succeeded", ours, Hint::Of::reference, "cs_1"},
    {"checkout.session.async_payment_failed", ours, Hint::Of::reference, "cs_1"},
    {"checkout.session.expired", ours, Hint::Of::reference, "cs_1"},
    {"payment_intent.succeeded", our_intent, Hint::Of::purchase, "pur_1"},
    {"payment_intent.payment_failed", our_intent, Hint::Of::purchase, "pur_1"},
    {"payment_intent.canceled", our_intent, Hint::Of::purchase, "pur_1"},
    {"refund.created", of_payment, Hint::Of::payment, "pi_1"},
    {"refund.updated", of_payment, Hint::Of::payment, "pi_1"},
    {"refund.failed", of_payment, Hint::Of::payment, "pi_1"},
    {"charge.dispute.created", of_payment, Hint::Of::payment, "pi_1"},
    {"charge.dispute.closed", of_payment, Hint::Of::payment, "pi_1"},
    {"charge.dispute.funds_withdrawn", of_payment, Hint::Of::payment, "pi_1"},
    {"charge.dispute.funds_reinstated", of_payment, Hint::Of::payment, "pi_1"},
    {"setup_intent.succeeded", our_setup, Hint::Of::setup, "pms_1"},
    {"setup_intent.setup_failed", our_setup, Hint::Of::setup, "pms_1"},
    {"payment_method.detached", method, Hint::Of::method, "pm_1"},
    {"payment_method.automatically_updated", method, Hint::Of::method, "pm_1"}};

ReadEvent read(const std::string& type, const std::string& object,
               const std::string& livemode = "false") {
  const auto json =
      read_json(R"({"id":"evt_1","object":"event","type":")" + type + R"(","livemode":)" +
                livemode + R"(,"data":{"object":)" + object + "}}");
  EXPECT_TRUE(json) << object;
  return json ? read_event(JsonValue(*json), {"dep_1", false}) : ReadEvent{};
}

TEST(Events, EachThatIsUsedSaysWhatToLookUp) {
  EXPECT_EQ(std::size(rows), event_types().size());
  EXPECT_LE(event_types().size(), 20U);
  for (const EventRow& row : rows) {
    const ReadEvent event = read(row.type, row.object);
    ASSERT_EQ(event.kind, EventKind::told) << row.type;
    ASSERT_EQ(event.hints.size(), 1U) << row.type;
    EXPECT_EQ(event.hints[0].of, row.of) << row.type;
    EXPECT_EQ(event.hints[0].id, row.id) << row.type;
  }
}

TEST(Events, OthersSayNothing) {
  for (const char* type : {"invoice.paid", "charge.refunded", "payment_intent.requires_action",
                           "checkout.session", "refund.created.x", "v1.billing.meter.no_meter"}) {
    const ReadEvent event = read(type, ours);
    EXPECT_EQ(event.kind, EventKind::unused) << type;
    EXPECT_TRUE(event.hints.empty());
  }
}

TEST(Events, WhatOthersMadeSaysNothing) {
  for (const auto& [type, object] : {
           std::pair{"checkout.session.completed", R"({"id":"cs_1","metadata":{}})"},
           {"checkout.session.completed", R"({"id":"cs_1","metadata":null})"},
           {"payment_intent.succeeded", R"({"id":"pi_1","metadata":{"other":"x"}})"},
           {"payment_intent.succeeded", R"({"metadata":{"turnpike_purchase":"a/../b"}})"},
           {"payment_intent.succeeded",
            R"({"metadata":{"turnpike_purchase":"pur_1","turnpike_deployment":"dep_2"}})"},
           {"checkout.session.completed",
            R"({"id":"cs_1","metadata":{"turnpike_setup":"x","turnpike_deployment":"dep_2"}})"},
           {"setup_intent.succeeded",
            R"({"metadata":{"turnpike_setup":"x","turnpike_deployment":"dep_2"}})"},
           {"setup_intent.succeeded", R"({"id":"seti_1"})"},
           {"refund.created", R"({"id":"re_1","payment_intent":null,"charge":"ch_1"})"},
           {"payment_method.detached", R"({"id":7})"},
           {"payment_method.detached", "null"},
       }) {
    const ReadEvent event = read(type, object);
    EXPECT_EQ(event.kind, EventKind::foreign) << type << object;
    EXPECT_TRUE(event.hints.empty());
  }
  EXPECT_EQ(
      read("checkout.session.completed", R"({"id":"cs_1","metadata":{"turnpike_purchase":"pur_1",)"
                                         R"("turnpike_deployment":"dep_1"}})")
          .kind,
      EventKind::told);
}

TEST(Events, TheOtherModeIsForeign) {
  EXPECT_EQ(read("checkout.session.completed", ours, "true").kind, EventKind::foreign);
}

TEST(Events, WhatIsNoEventIsStrange) {
  for (const char* text : {"{}", "[]", "7", R"({"id":"evt_1"})", R"({"type":"refund.created"})",
                           R"({"id":"evt_1","type":7})"}) {
    const auto json = read_json(text);
    ASSERT_TRUE(json);
    EXPECT_EQ(read_event(JsonValue(*json), {"dep_1", false}).kind, EventKind::strange) << text;
  }
}

}  // namespace
}  // namespace turnpike::stripe
