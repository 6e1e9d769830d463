// Successes that a route's no_charge_when makes free: /gifts in program_fixture.cpp declares
// empty_body, empty_at /items and upstream_over_ms 10000.
#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

constexpr std::string_view waived = "hold:acct_good:1 execute release:declared_no_charge reply";
constexpr std::string_view charged = "hold:acct_good:1 execute settle:success reply";

class ChargeRulesTest : public ServeTest {
 protected:
  std::string journal_of(const std::string& body, int status = 200) {
    journal.clear();
    provider.script = [&](ReplySink& sink, Call&) { return reply_with(sink, status, body); };
    run({.path = "/v1/gateway/acme/gifts"});
    EXPECT_EQ(writer->body, body) << "delivered unchanged, whatever it costs";
    return journal_text();
  }

  // A JSON text of that many bytes with an empty list at /items.
  static std::string padded(std::size_t bytes) {
    const std::string start = R"({"items":[],"pad":")";
    return start + std::string(bytes - start.size() - 2, 'x') + "\"}";
  }
};

TEST_F(ChargeRulesTest, NullOrAnEmptyListAtThePointerIsFree) {
  for (const char* body : {R"({"items":[]})", R"({"items":null})", R"({"a":1, "items" : [ ] })",
                           R"({"items":[1],"items":[ ]})"}) {
    EXPECT_EQ(journal_of(body), waived) << body;
    EXPECT_EQ(writer->facts.credits_charged, 0u) << body;
    EXPECT_EQ(ledger.released.back().outcome_reason, "declared_no_charge") << body;
    EXPECT_EQ(ledger.released.back().upstream_status, 200) << body;
    EXPECT_FALSE(ledger.released.back().charged) << body;
  }
}

TEST_F(ChargeRulesTest, AnythingElseIsCharged) {
  for (const char* body :
       {"{}", "[]", "null", R"({"items":[0]})", R"({"items":{}})", R"({"items":""})",
        R"({"items":false})", R"({"items":0})", R"({"items":[],)", "nul", R"({"items":[]} x)"}) {
    EXPECT_EQ(journal_of(body), charged) << body;
    EXPECT_EQ(writer->facts.credits_charged, 1u) << body;
  }
}

TEST_F(ChargeRulesTest, AReplyWithoutABodyIsFree) {
  EXPECT_EQ(journal_of(""), waived);
  provider.script = [](ReplySink& sink, Call&) -> Done {
    sink.head(204, {}, std::nullopt);
    return Unit{};
  };
  journal.clear();
  run({.path = "/v1/gateway/acme/gifts"});
  EXPECT_EQ(journal_text(), waived);
}

TEST_F(ChargeRulesTest, WithoutConditionsAnEmptyReplyIsCharged) {
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 200, ""); };
  run();
  EXPECT_EQ(journal_text(), charged);
}

TEST_F(ChargeRulesTest, OtherOutcomesKeepTheirOwnReason) {
  EXPECT_EQ(journal_of(R"({"items":[]})", 404),
            "hold:acct_good:1 execute release:upstream_status reply");
}

TEST_F(ChargeRulesTest, ASlowUpstreamIsFreeAtOneMillisecondPastItsBound) {
  const auto after = [&](std::int64_t ms) {
    provider.script = [&, ms](ReplySink& sink, Call&) {
      clock.ahead_ns += ms * 1'000'000;
      return reply_with(sink, 200, R"({"items":[1]})");
    };
    journal.clear();
    run({.path = "/v1/gateway/acme/gifts"});
    return journal_text();
  };
  EXPECT_EQ(after(9'000), charged);
  EXPECT_EQ(after(10'001), waived);
}

TEST_F(ChargeRulesTest, ThePoolReadsLongBodiesAndTheBoundHolds) {
  EXPECT_EQ(journal_of(padded(base::limits::heavy_json_bytes)), waived);
  EXPECT_EQ(journal_of(padded(base::limits::heavy_json_bytes + 1)), waived);
  EXPECT_EQ(journal_of(padded(base::limits::judged_body_bytes_max)), waived);
  const std::string past = padded(base::limits::judged_body_bytes_max + 1);
  EXPECT_TRUE(journal_of(past).starts_with("hold:acct_good:1 execute begin")) << journal_text();
  EXPECT_TRUE(journal_text().find("settle:success") != std::string::npos) << journal_text();
}

TEST_F(ChargeRulesTest, AFullPoolDoesNotDecideWhatACallCosts) {
  pool.stop(runtime::Deadline::after_ms(1'000));
  EXPECT_EQ(journal_of(padded(base::limits::heavy_json_bytes + 1)), waived);
}

TEST_F(ChargeRulesTest, ABodyOfUnknownLengthIsJudgedUpToTheBound) {
  const auto in_pieces = [&](std::size_t bytes) {
    const std::string body = padded(bytes);
    provider.script = [body](ReplySink& sink, Call&) -> Done {
      const HeaderField headers[] = {{"Content-Type", "application/json"}};
      sink.head(200, headers, std::nullopt);
      for (std::size_t at = 0; at < body.size(); at += 100'000) {
        if (!sink.body(std::string_view(body).substr(at, 100'000))) break;
      }
      return Unit{};
    };
    journal.clear();
    run({.path = "/v1/gateway/acme/gifts"});
    EXPECT_EQ(writer->body, body);
    return journal_text();
  };
  EXPECT_EQ(in_pieces(base::limits::judged_body_bytes_max), waived);
  const std::string past = in_pieces(base::limits::judged_body_bytes_max + 1);
  EXPECT_NE(past.find("settle:success"), past.npos) << past;
  EXPECT_EQ(writer->facts.credits_charged, 1u);
}

// The charge is announced in the head, so it holds even if the rest of the reply is slow.
TEST_F(ChargeRulesTest, AStreamIsJudgedByItsTimeWhenItBegins) {
  const auto streamed = [&](std::int64_t before_ms, std::int64_t after_ms) {
    provider.script = [&, before_ms, after_ms](ReplySink& sink, Call&) -> Done {
      const std::string piece(1'000'000, 'x');
      const HeaderField headers[] = {{"Content-Type", "application/json"}};
      clock.ahead_ns += before_ms * 1'000'000;
      sink.head(200, headers, 5'000'000);
      for (int at = 0; at < 5; ++at) {
        sink.body(piece);
        if (at == 0) clock.ahead_ns += after_ms * 1'000'000;
      }
      return Unit{};
    };
    journal.clear();
    run({.path = "/v1/gateway/acme/gifts"});
    EXPECT_EQ(writer->body.size(), 5'000'000u);
    return journal_text();
  };
  const std::string slow = streamed(10'001, 0);
  EXPECT_NE(slow.find("release:declared_no_charge"), slow.npos) << slow;
  EXPECT_EQ(writer->facts.credits_charged, 0u);
  const std::string slow_reader = streamed(0, 10'001);
  EXPECT_NE(slow_reader.find("settle:success"), slow_reader.npos) << slow_reader;
  EXPECT_EQ(writer->facts.credits_charged, 1u);
}

TEST_F(ChargeRulesTest, ThePaymentLaneIsReleasedAsWell) {
  install_payment_lane();
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 200, R"({"items":[]})"); };
  run({"GET", "/v1/gateway/acme/payable-gifts", "", {{"PAYMENT-SIGNATURE", "p"}}});
  EXPECT_NE(journal_text().find("release"), std::string::npos) << journal_text();
  EXPECT_EQ(journal_text().find("settle"), std::string::npos) << journal_text();
}

}  // namespace
}  // namespace turnpike::exchange
