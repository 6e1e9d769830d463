// A host's ceiling on replies (Invocation::reply_bytes_max): on every lane, a longer reply is free
// and a shorter one arrives complete.
#include <gtest/gtest.h>

#include "base/limits.h"
#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;
namespace limits = base::limits;

class ServeCeilingTest : public ServeTest {
 protected:
  ServeCeilingTest() {
    install_free_lane();
    install_payment_lane();
  }

  // One call on each kind of lane.
  static std::vector<TestRequest> calls() {
    const std::string root = "/v1/gateway/acme";
    return {{"GET", root + "/items"},
            {"GET", root + "/free:free"},
            {"GET", root + "/gifts"},
            {"GET", root + "/items", "", {{"X-Bench-Lane", "1"}}},
            {"GET", root + "/payable", "", {{"Payment-Signature", "s"}}}};
  }

  // An upstream that sends `size` bytes and continues even if it is told to stop.
  void answer_with(std::size_t size, bool is_announced) {
    provider.script = [=](ReplySink& sink, Call&) -> Done {
      const HeaderField headers[] = {{"Content-Type", "application/json"}};
      (void)sink.head(200, headers, is_announced ? std::optional(size) : std::nullopt);
      const std::string part(10'007, 'x');
      for (std::size_t sent = 0; sent < size; sent += part.size()) {
        (void)sink.body(std::string_view(part).substr(0, size - sent));
      }
      return Unit{};
    };
  }
};

TEST_F(ServeCeilingTest, ALongerReplyIsRefusedUnchargedOnEveryLaneAndOtherwiseComesWhole) {
  for (const std::size_t ceiling : {std::size_t{1'024}, std::size_t{limits::mcp_reply_bytes_max},
                                    std::size_t{limits::response_whole_bytes_max}}) {
    for (TestRequest request : calls()) {
      for (const bool is_announced : {true, false}) {
        SCOPED_TRACE(request.path + " " + request.headers[0].name.data() + " " +
                     std::to_string(ceiling));
        request.reply_bytes_max = ceiling;
        answer_with(ceiling, is_announced);
        journal.clear();
        EXPECT_EQ(refusal(request), "");
        EXPECT_EQ(writer->body.size(), ceiling);
        EXPECT_EQ(provider.asked->reply_bytes_max, ceiling) << "the upstream is told";
        EXPECT_EQ(count_of(journal, "reply"), 1u) << "whole";
        EXPECT_EQ(count_of(journal, "begin"), 0u);

        answer_with(ceiling + 1, is_announced);
        journal.clear();
        const Served served = run(request);
        EXPECT_EQ(served.error, ErrorCode::gateway_upstream_response_too_large);
        EXPECT_EQ(served.ending, Ending::refused);
        EXPECT_EQ(served.credits_charged, 0u);
        // A caller's own ceiling is not the provider's fault.
        const bool is_routes = request.path.find("/payable") != std::string::npos &&
                               ceiling == limits::response_whole_bytes_max;
        EXPECT_EQ(writer->refusal->fault == base::Fault::gateway, !is_routes);
        EXPECT_EQ(count_of(journal, "settle"), 0u);
        EXPECT_EQ(count_of(journal, "begin") + count_of(journal, "reply"), 0u);
        const bool holds = !request.path.ends_with(":free");
        EXPECT_EQ(count_of(journal, "release:response_too_large"), holds ? 1u : 0u);
        EXPECT_NE(writer->refusal->message.find(std::to_string(ceiling) + " bytes"),
                  std::string::npos)
            << writer->refusal->message;
      }
    }
  }
}

TEST_F(ServeCeilingTest, TheRoutesAndTheLanesCeilingsStand) {
  TestRequest request = calls().front();
  request.reply_bytes_max = items_reply_bytes_max + 1;
  answer_with(items_reply_bytes_max + 1, true);
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
  request = calls().back();
  request.reply_bytes_max = limits::response_whole_bytes_max + 1;
  answer_with(limits::response_whole_bytes_max + 1, true);
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
}

TEST_F(ServeCeilingTest, ACeilingAboveWhatIsKeptWholeStreams) {
  constexpr std::size_t ceiling = limits::response_whole_bytes_max + 1;
  TestRequest request = calls().front();
  request.reply_bytes_max = ceiling;
  answer_with(ceiling, true);
  EXPECT_EQ(refusal(request), "");
  EXPECT_EQ(count_of(journal, "begin"), 1u);
  EXPECT_EQ(writer->body.size(), ceiling);
  answer_with(ceiling + 1, true);
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
}

// A reply that was paid for upfront is not lost if this host cannot carry it.
TEST_F(ServeCeilingTest, WhatALaneKeepsIsSettledAndSaidToBeThere) {
  ScriptedLane& lane = install_payment_lane();
  lane.keeps_reply = true;
  std::size_t settled = 0;
  lane.finish = [&](const ReplyView& reply) -> Finish {
    settled = reply.body.size();
    return Charged{{{"PAYMENT-RESPONSE", "tx"}}, 0, -1};
  };
  TestRequest request = calls().back();
  request.reply_bytes_max = 1'024;
  answer_with(1'025, true);
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
  EXPECT_EQ(settled, 1'025u);
  EXPECT_NE(writer->refusal->message.find("It is kept"), std::string::npos);
  EXPECT_EQ(writer->lane_headers["PAYMENT-RESPONSE"], "tx");
  EXPECT_EQ(provider.asked->reply_bytes_max, limits::response_whole_bytes_max);
  lane.admission = [](const LaneRequest&) -> Admission {
    return Replay{200, {{"PAYMENT-RESPONSE", "tx"}}, std::string(1'025, 'x')};
  };
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
  EXPECT_EQ(writer->lane_headers["PAYMENT-RESPONSE"], "tx");

  lane.admission = nullptr;
  settled = 0;
  journal.clear();
  answer_with(limits::response_whole_bytes_max + 1, true);
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
  EXPECT_EQ(settled, 0u) << "no host could carry it";
  EXPECT_EQ(count_of(journal, "release:response_too_large"), 1u);
}

// The ticket decides this anew for each call.
TEST_F(ServeCeilingTest, WhatATicketDoesNotKeepIsBoundByTheHostAndReleased) {
  ScriptedLane& lane = install_payment_lane();
  TestRequest request = calls().back();
  request.reply_bytes_max = 1'024;
  answer_with(1'025, true);
  for (const bool keeps : {false, true, false}) {
    lane.keeps_reply = keeps;
    journal.clear();
    EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
    EXPECT_EQ(count_of(journal, "settle:success"), keeps ? 1u : 0u);
    EXPECT_EQ(count_of(journal, "release:response_too_large"), keeps ? 0u : 1u);
    EXPECT_EQ(provider.asked->reply_bytes_max, keeps ? limits::response_whole_bytes_max : 1'024);
    EXPECT_EQ(writer->refusal->message.find("It is kept") != std::string::npos, keeps);
  }
}

TEST_F(ServeCeilingTest, AStoredReplyKeepsItToo) {
  constexpr std::size_t size = 300'000;
  TestRequest request = calls().front();
  request.key = "k";
  answer_with(size, false);
  EXPECT_EQ(refusal(request), "");
  request.reply_bytes_max = size - 1;
  journal.clear();
  EXPECT_EQ(refusal(request), "gateway.upstream_response_too_large");
  EXPECT_EQ(count_of(journal, "execute") + count_of(journal, "settle"), 0u);
  request.reply_bytes_max = size;
  EXPECT_EQ(refusal(request), "");
  EXPECT_EQ(writer->lane_headers["Idempotent-Replayed"], "true");
  EXPECT_EQ(writer->body.size(), size);
}

// For example, a lane may have to report an upfront payment even if the call failed.
TEST_F(ServeCeilingTest, TheLaneStillAnswersToItsRelease) {
  TestRequest request = calls().back();
  request.reply_bytes_max = 1'024;
  answer_with(1'025, true);
  payment->answer_to_release =
      Refusal{"billing.settlement_unknown", "owed", 0, {{"PAYMENT-RESPONSE", "tx"}}, {}, {}};
  EXPECT_EQ(refusal(request), "billing.settlement_unknown");
  EXPECT_EQ(writer->lane_headers["PAYMENT-RESPONSE"], "tx");
}

}  // namespace
}  // namespace turnpike::exchange
