// Idempotency-Keys through serve(): when they are looked up, which replies a repeat gets, and what
// an unknown settlement reports (docs/decisions.md, "Idempotency-Key").
#include <gtest/gtest.h>

#include "base/limits.h"
#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;

class ServeReplayTest : public ServeTest {
 protected:
  static TestRequest keyed(std::string key = "k") {
    TestRequest request;
    request.key = std::move(key);
    return request;
  }
  std::string repeated_header() const {
    const auto found = writer->lane_headers.find("Idempotent-Replayed");
    return found == writer->lane_headers.end() ? "" : found->second;
  }
};

TEST_F(ServeReplayTest, ARepeatIsAnsweredWithoutUpstreamHoldOrCharge) {
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 200, "{\"n\":1}"); };
  run(keyed());
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute settle:success reply");
  EXPECT_EQ(repeated_header(), "");
  journal.clear();
  const Served served = run(keyed());
  EXPECT_EQ(journal_text(), "release:replayed reply");
  EXPECT_EQ(writer->status, 200);
  EXPECT_EQ(writer->body, "{\"n\":1}");
  EXPECT_EQ(repeated_header(), "true");
  EXPECT_EQ(writer->lane_headers["Content-Type"], "application/json");
  EXPECT_EQ(writer->facts.credits_charged, 0u);
  EXPECT_EQ(writer->facts.from, ReplyFrom::provider);
  EXPECT_EQ(served.credits_charged, 0u);
  EXPECT_EQ(served.ending, Ending::replied);
}

TEST_F(ServeReplayTest, AnotherRequestUnderTheKeyIsAConflict) {
  EXPECT_EQ(refusal(keyed()), "");
  TestRequest other = keyed();
  other.query = "limit=1";
  EXPECT_EQ(refusal(other), "idempotency.conflict");
  other = keyed();
  other.path = "/v1/gateway/acme/strict";
  EXPECT_EQ(refusal(other), "idempotency.conflict");
  EXPECT_EQ(count_of(journal, "execute"), 1u);
}

TEST_F(ServeReplayTest, AccountsDoNotShareKeys) {
  add_key("other", identity::AccountStatus::active);
  EXPECT_EQ(refusal(keyed()), "");
  TestRequest theirs = keyed();
  theirs.headers = {{"Authorization", "Bearer other"}};
  EXPECT_EQ(refusal(theirs), "");
  EXPECT_EQ(count_of(journal, "execute"), 2u);
}

TEST_F(ServeReplayTest, ACallThatStillRunsIsToldAsSuch) {
  provider.script = [&](ReplySink& sink, Call&) {
    const std::unique_ptr<RecordingWriter> outer = std::move(writer);
    EXPECT_EQ(refusal(keyed()), "idempotency.in_progress");
    EXPECT_EQ(base::info_of(writer->refusal->code).advice, base::Advice::after_delay);
    EXPECT_GT(writer->refusal->retry_after_seconds, 0u);
    return reply_with(sink, 200, "{}");
  };
  std::unique_ptr<RecordingWriter> first = std::make_unique<RecordingWriter>(journal, caller);
  Invocation invocation;
  invocation.method = "GET";
  invocation.path = "/v1/gateway/acme/items";
  const HeaderField headers[] = {{"Authorization", "Bearer good"}};
  invocation.headers = headers;
  invocation.request_id = request_id;
  invocation.idempotency_key = "k";
  invocation.caller = &caller;
  const Context context{service.get(), loop, authenticator, transfers, rules, clock};
  EXPECT_EQ(serve(context, invocation, *first).ending, Ending::replied);
  EXPECT_EQ(count_of(journal, "hold"), 1u);
}

TEST_F(ServeReplayTest, AnUnchargedOutcomeFreesTheKey) {
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 404, "{}"); };
  EXPECT_EQ(refusal(keyed()), "");
  EXPECT_EQ(writer->status, 404);
  provider.script = [](ReplySink&, Call&) -> Done {
    return Failure{FailureKind::transport, "broken", {}, false};
  };
  EXPECT_EQ(refusal(keyed()), "gateway.upstream_transport_or_response_failure");
  ledger.hold_error = base::Error{ErrorCode::billing_credits_exhausted, "Spent."};
  EXPECT_EQ(refusal(keyed()), "billing.credits_exhausted");
  ledger.hold_error.reset();
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 200, "{}"); };
  EXPECT_EQ(refusal(keyed()), "");
  EXPECT_EQ(writer->status, 200);
  EXPECT_EQ(repeated_header(), "") << "each of them ran";
}

TEST_F(ServeReplayTest, TheKeyIsLookedUpAfterEveryCheaperRefusal) {
  EXPECT_EQ(refusal(keyed()), "");
  const int claims = ledger.replays.claims;
  TestRequest bad = keyed();
  bad.headers = {{"Authorization", "Bearer unknown"}};
  EXPECT_EQ(refusal(bad), "auth.credential_invalid");
  bad = keyed();
  bad.query = "%zz";
  EXPECT_EQ(refusal(bad), "request.query_malformed");
  bad = keyed();
  bad.path = "/v1/gateway/acme/none";
  EXPECT_EQ(refusal(bad), "gateway.route_not_found");
  EXPECT_EQ(ledger.replays.claims, claims);
}

TEST_F(ServeReplayTest, StreamedRepliesAreStoredUpToTheLimitAndNotOnePast) {
  for (const bool is_announced : {true, false}) {
    for (const std::size_t size : {std::size_t{base::limits::replay_reply_bytes_max},
                                   std::size_t{base::limits::replay_reply_bytes_max} + 1}) {
      const std::string key = std::to_string(size) + (is_announced ? "a" : "b");
      std::string whole;
      provider.script = [&](ReplySink& sink, Call&) -> Done {
        const HeaderField headers[] = {{"Content-Type", "application/json"}};
        EXPECT_TRUE(sink.head(200, headers, is_announced ? std::optional(size) : std::nullopt));
        for (std::size_t at = 0; at < size; at += 10'007) {
          const std::string part(std::min<std::size_t>(10'007, size - at),
                                 static_cast<char>('a' + at % 26));
          EXPECT_TRUE(sink.body(part));
          whole += part;
        }
        return Unit{};
      };
      journal.clear();
      EXPECT_EQ(refusal(keyed(key)), "");
      EXPECT_EQ(count_of(journal, "begin"), 1u) << "streamed";
      EXPECT_TRUE(writer->body == whole);
      journal.clear();
      if (size > base::limits::replay_reply_bytes_max) {
        EXPECT_EQ(refusal(keyed(key)), "idempotency.reply_not_stored");
      } else {
        EXPECT_EQ(refusal(keyed(key)), "");
        EXPECT_TRUE(writer->body == whole);
        EXPECT_EQ(repeated_header(), "true");
      }
      EXPECT_EQ(count_of(journal, "execute") + count_of(journal, "hold"), 0u);
    }
  }
}

TEST_F(ServeReplayTest, AnUnknownSettlementAdvisesTheSameRequestOnlyUnderAKey) {
  ledger.settlement = ledger::SettlementUnknown{};
  EXPECT_EQ(refusal(keyed()), "billing.settlement_unknown");
  EXPECT_EQ(writer->refusal->advice, base::Advice::same_request);
  EXPECT_EQ(refusal({}), "billing.settlement_unknown");
  EXPECT_EQ(writer->refusal->advice, std::nullopt);
  EXPECT_EQ(base::info_of(writer->refusal->code).advice, base::Advice::never);
  EXPECT_NE(writer->refusal->message.find("/v1/calls/" + std::string(request_id)),
            std::string::npos);
}

}  // namespace
}  // namespace turnpike::exchange
