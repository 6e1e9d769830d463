#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;

// ---- the paid call ----------------------------------------------------------------------------

TEST_F(ServeTest, ChargesASuccessBeforeItSendsIt) {
  const Served served = run();
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute settle:success reply");
  EXPECT_EQ(writer->status, 200);
  EXPECT_EQ(writer->body, "{}");
  EXPECT_EQ(writer->headers["Content-Type"], "application/json");
  EXPECT_EQ(writer->generation, "gen_test");
  EXPECT_EQ(writer->lane, "credits");
  EXPECT_EQ(writer->facts.from, ReplyFrom::provider);
  EXPECT_EQ(writer->facts.credits_charged, 1u);
  EXPECT_EQ(writer->facts.credits_remaining, 41);
  EXPECT_EQ(served.ending, Ending::replied);
  EXPECT_EQ(served.error, std::nullopt);
  EXPECT_EQ(served.upstream_status, 200);
  EXPECT_EQ(served.lane, "credits");
  EXPECT_EQ(served.provider, "acme");
  EXPECT_EQ(served.operation_method, "GET");
  EXPECT_EQ(served.operation_path, "/v1/gateway/acme/items");
  ASSERT_NE(served.principal, nullptr);
  EXPECT_EQ(served.principal->account_id, "acct_good");
  EXPECT_EQ(served.principal->key_id(), "key_good");
  EXPECT_EQ(served.upstream_part, UpstreamPart::worked);
  EXPECT_EQ(served.credits_charged, 1u);
  EXPECT_EQ(served.reply_bytes, 2u);
  EXPECT_EQ(loop.calls(), 0u);
}

// The path is not matched again, unless the host found the operation in another program.
TEST_F(ServeTest, RunsTheOperationThatTheHostHasFound) {
  const registry::Match match = service->program().match("/v1/gateway/acme/items");
  FoundOperation found{&service->program(),
                       service->program().operation(*match.route, Method::get)->index, match};
  const TestRequest request{.path = "/v1/gateway/of/no/route", .found = &found};
  EXPECT_EQ(run(request).operation_path, "/v1/gateway/acme/items");
  EXPECT_EQ(writer->status, 200);
  found.program = nullptr;  // not the program that serves
  EXPECT_EQ(refusal(request), "gateway.route_not_found");
}

TEST_F(ServeTest, RecordsWhatTheBooksNeed) {
  run();
  ASSERT_EQ(ledger.settled.size(), 1u);
  const RecordingLedger::Fact& fact = ledger.settled[0];
  EXPECT_EQ(fact.message_id, request_id);
  EXPECT_EQ(fact.request_id, request_id);
  EXPECT_EQ(fact.client_request_id, "mine-1");
  EXPECT_EQ(fact.account_id, "acct_good");
  EXPECT_EQ(fact.api_key_id, "key_good");
  EXPECT_EQ(fact.method, "GET");
  EXPECT_EQ(fact.lane, "credits");
  EXPECT_EQ(fact.generation, "gen_test");
  EXPECT_EQ(fact.credit_cost, 1u);
  EXPECT_TRUE(fact.charged);
  EXPECT_EQ(fact.upstream_status, 200);
}

TEST_F(ServeTest, HoldsUntilTheReplyCouldHaveBeenSent) {
  const std::int64_t before = clock.monotonic_ns();
  run();
  const std::int64_t whole_call_ns =
      (std::int64_t{base::limits::upstream_deadline_ms} + base::limits::transfer_ms_max) *
      1'000'000;
  EXPECT_GE(ledger.held_until.ns, before + whole_call_ns);
  EXPECT_LE(ledger.held_until.ns, clock.monotonic_ns() + whole_call_ns);
}

// ---- what reaches the upstream ----------------------------------------------------------------

TEST_F(ServeTest, ForwardsQueryAndBodyByteForByte) {
  TextBody body("{\"a\": 1,\r\n \"a\":2}\x01", true);
  run({"POST",
       "/v1/gateway/acme/search",
       "b=2&a=1&a=%20&undeclared&=&?/",
       {good_key},
       "Application/JSON ; charset=utf-8",
       &body});
  ASSERT_TRUE(provider.asked.has_value());
  EXPECT_EQ(provider.asked->query, "b=2&a=1&a=%20&undeclared&=&?/");
  EXPECT_EQ(provider.asked->body, "{\"a\": 1,\r\n \"a\":2}\x01");
  EXPECT_EQ(provider.asked->content_type, "Application/JSON ; charset=utf-8");
  EXPECT_EQ(provider.asked->method, Method::post);
}

TEST_F(ServeTest, DecodesParametersAndKeepsTheRawPath) {
  run({"GET", "/v1/gateway/acme/items/a%20b%3Afree", "", {good_key}});
  ASSERT_TRUE(provider.asked.has_value());
  EXPECT_EQ(provider.asked->path, "/v1/gateway/acme/items/a%20b%3Afree");
  ASSERT_EQ(provider.asked->parameters.size(), 1u);
  EXPECT_EQ(provider.asked->parameters[0].first, "id");
  EXPECT_EQ(provider.asked->parameters[0].second, "a b:free");
}

TEST_F(ServeTest, TakesAStreamSuffixForPartOfTheSegment) {
  run({"GET", "/v1/gateway/acme/items/x:stream", "", {good_key}});
  ASSERT_TRUE(provider.asked.has_value());
  EXPECT_EQ(provider.asked->parameters[0].second, "x:stream");
}

TEST_F(ServeTest, ForwardsListedHeadersAndNoCredential) {
  run({"GET",
       "/v1/gateway/acme/items",
       "",
       {{"X-Bench-Lane", "1"},
        {"ACCEPT-language", "de"},
        {"Cookie", "c"},
        {"If-None-Match", "\"e\""},
        {"Range", "bytes=0-1"},
        {"accept-language", "en"}}});
  ASSERT_TRUE(provider.asked.has_value());
  const std::vector<std::pair<std::string, std::string>> expected = {{"ACCEPT-language", "de"},
                                                                     {"accept-language", "en"}};
  EXPECT_EQ(provider.asked->headers, expected);
}

TEST_F(ServeTest, PassesOnNoFieldThatItsConnectionNames) {
  provider.script = [](ReplySink& sink, Call&) -> Done {
    const HeaderField headers[] = {{"Content-Type", "application/json"},
                                   {"ETag", "\"1\""},
                                   {"Connection", "keep-alive ,\teTag, content-type"}};
    sink.head(200, headers, std::nullopt);
    sink.body("[]");
    return Unit{};
  };
  run({"GET",
       "/v1/gateway/acme/items",
       "",
       {{"X-Bench-Lane", "1"},
        {"Accept-Language", "de"},
        {"Connection", "close"},
        {"connection", "Accept-Language"}}});
  ASSERT_TRUE(provider.asked.has_value());
  EXPECT_TRUE(provider.asked->headers.empty());
  const std::map<std::string, std::string> expected = {{"Content-Type", "application/json"}};
  EXPECT_EQ(writer->headers, expected);
}

TEST_F(ServeTest, PassesBackListedHeadersOnly) {
  provider.script = [](ReplySink& sink, Call&) -> Done {
    const HeaderField headers[] = {{"Content-Type", "application/json; charset=utf-8"},
                                   {"ETAG", "\"1\""},
                                   {"Set-Cookie", "s=1"},
                                   {"Server", "secret"},
                                   {"Content-Encoding", "br"},
                                   {"Turnpike-Lane", "forged"}};
    sink.head(200, headers, std::nullopt);
    sink.body("[]");
    return Unit{};
  };
  run();
  const std::map<std::string, std::string> expected = {
      {"Content-Type", "application/json; charset=utf-8"},
      {"ETAG", "\"1\""},
      {"Content-Encoding", "br"}};
  EXPECT_EQ(writer->headers, expected);
}

TEST_F(ServeTest, ReadsTheBodyOnlyWhenEverythingCheaperHeld) {
  TextBody body("{}", true);
  const auto post = [&](std::vector<HeaderField> headers, std::string query = {}) {
    return refusal(
        {"POST", "/v1/gateway/acme/search", std::move(query), headers, "application/json", &body});
  };
  EXPECT_EQ(post({}), "auth.credential_required");
  EXPECT_EQ(post({{"Authorization", "Bearer bad"}}), "auth.credential_invalid");
  EXPECT_EQ(post({good_key}, "%"), "request.query_malformed");
  provider.state = {Condition::blocked, "Not today."};
  EXPECT_EQ(post({good_key}), "gateway.route_blocked");
  EXPECT_EQ(body.reads, 0);
  provider.state = {};
  EXPECT_EQ(post({good_key}), "");
  EXPECT_EQ(body.reads, 1);
}

TEST_F(ServeTest, BoundsTheBodyAtTheLimitAndOnePast) {
  for (const bool is_declared : {true, false}) {
    TextBody fits(std::string(search_body_bytes_max, 'x'), is_declared);
    TextBody longer(std::string(search_body_bytes_max + 1, 'x'), is_declared);
    const auto post = [&](TextBody& body, std::string type) {
      return refusal({"POST", "/v1/gateway/acme/search", "", {good_key}, std::move(type), &body});
    };
    EXPECT_EQ(post(fits, "application/json"), "");
    EXPECT_EQ(provider.asked->body.size(), search_body_bytes_max);
    EXPECT_EQ(post(longer, "application/json"), "request.body_too_large");
    EXPECT_EQ(post(fits, "text/plain"), "request.media_type_rejected");
    EXPECT_EQ(post(fits, ""), "request.media_type_rejected");
  }
  EXPECT_EQ(count_of(journal, "hold"), 2u);
}

// Regression: a compressed body reached the upstream without its Content-Encoding.
TEST_F(ServeTest, TakesNoBodyWithAContentCoding) {
  TextBody body("{}", true);
  TestRequest request{"POST", "/v1/gateway/acme/search", "", {good_key}, "application/json", &body};
  request.content_coding = "gzip";
  EXPECT_EQ(refusal(request), "request.content_coding_rejected");
  EXPECT_EQ(body.reads, 0);
}

TEST_F(ServeTest, OmitsAnEmptyBody) {
  for (const bool is_declared : {true, false}) {
    TextBody empty("", is_declared);
    EXPECT_EQ(refusal({"POST", "/v1/gateway/acme/search", "", {good_key}, "text/odd", &empty}), "");
    EXPECT_EQ(provider.asked->content_type, "");
    EXPECT_EQ(provider.asked->body, "");
  }
}

TEST_F(ServeTest, RefusesABodyOnGet) {
  for (const bool is_declared : {true, false}) {
    TextBody body("x", is_declared);
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {good_key}, "text/plain", &body}),
              "request.body_not_allowed");
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/both", "", {good_key}, "text/plain", &body}),
              "request.body_not_allowed");
    TextBody empty("", is_declared);
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {good_key}, "", &empty}), "");
  }
}

// A call without the required body is neither charged nor answered with a payment challenge.
TEST_F(ServeTest, RefusesACallWithoutTheBodyThatItsRouteRequires) {
  install_payment_lane();
  TextBody announced("", true);
  TextBody in_chunks("", false);
  for (TextBody* const body : {static_cast<TextBody*>(nullptr), &announced, &in_chunks}) {
    for (const auto& headers : {std::vector<HeaderField>{good_key}, std::vector<HeaderField>{},
                                std::vector<HeaderField>{{"Payment-Signature", "s"}}}) {
      EXPECT_EQ(refusal({"POST", "/v1/gateway/acme/orders", "", headers, "application/json", body}),
                "request.body_rejected");
      ASSERT_EQ(writer->refusal->fields.size(), 1u);
      EXPECT_EQ(writer->refusal->fields[0].location, "body");
      EXPECT_EQ(writer->refusal->fields[0].fix, "Send one as: application/json, text/plain.");
    }
  }
  EXPECT_EQ(journal.size(), count_of(journal, "refuse")) << "no lane was asked";
  TextBody body("{}", true);
  EXPECT_EQ(refusal({"POST", "/v1/gateway/acme/orders", "", {good_key}, "application/json", &body}),
            "");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/orders"}), "") << "a GET takes none";
  EXPECT_EQ(refusal({"POST", "/v1/gateway/acme/search"}), "") << "nobody said that it needs one";
}

TEST_F(ServeTest, TellsABodyThatCouldNotBeRead) {
  TextBody body("{}", true);
  body.failure = base::Error{ErrorCode::request_timeout, "The body took too long."};
  EXPECT_EQ(refusal({"POST", "/v1/gateway/acme/search", "", {good_key}, "application/json", &body}),
            "request.timeout");
  EXPECT_EQ(count_of(journal, "hold"), 0u);
}

TEST_F(ServeTest, BoundsTheQueryAtTheLimitAndOnePast) {
  const std::string longest(base::limits::request_query_bytes_max, 'q');
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", longest}), "");
  EXPECT_EQ(provider.asked->query, longest);
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", longest + "q"}), "request.query_too_long");
  ASSERT_EQ(writer->refusal->fields.size(), 1u);
  EXPECT_EQ(writer->refusal->fields[0].location, "query");
}

TEST_F(ServeTest, RefusesAQueryThatIsNone) {
  for (const std::string query : {"%zz", "a=<", "a=\x80", "a=%2"}) {
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", query}), "request.query_malformed")
        << query;
  }
}

TEST_F(ServeTest, KeepsADeclaredPolicyOnlyWhereItIsEnforced) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "limit=eleven"}), "");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/strict", "limit=10"}), "");
  journal.clear();
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/strict", "limit=11"}), "request.query_rejected");
  EXPECT_FALSE(writer->refusal->fields.empty());
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/strict", "other=1"}), "request.query_rejected");
  EXPECT_EQ(writer->refusal->fields[0].location, "query.other");
  EXPECT_EQ(writer->refusal->fields[0].fix, "give only: limit");
  EXPECT_EQ(count_of(journal, "hold"), 0u) << "no money moves";
}

TEST_F(ServeTest, KeepsTheTypesOfPathParametersWhereTheyAreEnforced) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/typed/7"}), "");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/typed/%37", "half=0.75"}), "");
  journal.clear();
  for (const char* id : {"0", "100", "x", "7%20", "0x7"}) {
    EXPECT_EQ(refusal({"GET", std::string("/v1/gateway/acme/typed/") + id}),
              "request.path_malformed");
    ASSERT_EQ(writer->refusal->fields.size(), 1u);
    EXPECT_EQ(writer->refusal->fields.front().location, "path.itemId");
  }
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/typed/7", "half=0.25"}), "request.query_rejected");
  EXPECT_EQ(count_of(journal, "hold"), 0u) << "no money moves";
}

// They are checked before the call has a seat and its buffers.
TEST_F(ServeTest, JudgesPathParametersWithoutASeat) {
  LoopState::Seat taken[4];
  for (LoopState::Seat& seat : taken) ASSERT_TRUE(seat.enter(loop));
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/typed/100"}), "request.path_malformed");
  EXPECT_EQ(writer->refusal->fields.front().location, "path.itemId");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/typed/%31%30%30"}), "request.path_malformed");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/typed/7"}), "gateway.overloaded");
  EXPECT_EQ(loop.calls(), 4u);
}

TEST_F(ServeTest, JudgesEachMethodByItsOwnDefinitions) {
  const std::string path = "/v1/gateway/acme/typed/7";
  EXPECT_EQ(refusal({"POST", path, "half=0.75"}), "request.query_rejected") << "POST takes none";
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 201, "{}"); };
  EXPECT_EQ(refusal({"POST", path}), "");
  EXPECT_EQ(refusal({"GET", path}), "gateway.upstream_transport_or_response_failure");
  provider.script = [](ReplySink& sink, Call&) {
    return reply_with(sink, 201, R"({"more":"than 10"})");
  };
  EXPECT_EQ(refusal({"POST", path}), "gateway.upstream_response_too_large");
}

// ---- routes, methods, credentials -------------------------------------------------------------

TEST_F(ServeTest, KnowsItsRoutesAndMethods) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/nothing"}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items/"}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items/%zz"}), "request.path_malformed");
  for (const char* path : {"/v1/gateway/acme/items/\xC3\xA9", "/v1/gateway/acme/items/a\"b",
                           "/v1/gateway/acme/items/a#b", "/v1/gateway/acme/items/{id}"}) {
    EXPECT_EQ(refusal({"GET", path}), "request.path_malformed") << path;
  }
  EXPECT_EQ(refusal({"HEAD", "/v1/gateway/acme/items"}), "gateway.method_not_allowed");
  EXPECT_EQ(writer->allow, "GET");
  EXPECT_EQ(refusal({"DELETE", "/v1/gateway/acme/both"}), "gateway.method_not_allowed");
  EXPECT_EQ(writer->allow, "GET, POST");
  EXPECT_EQ(refusal({"POST", "/v1/gateway/acme/items"}), "gateway.method_not_allowed");
  EXPECT_EQ(refusal({"get", "/v1/gateway/acme/items"}), "gateway.method_not_allowed");
  EXPECT_EQ(refusal({"HEAD", "/v1/gateway/acme/nothing"}), "gateway.route_not_found");
  EXPECT_EQ(writer->allow, "");
  EXPECT_TRUE(journal.size() == count_of(journal, "refuse"));
}

// Each message helps the caller to correct the request.
TEST_F(ServeTest, RefusalsNameWhatIsWrong) {
  const auto said = [&](const TestRequest& request) {
    EXPECT_NE(refusal(request), "");
    return writer->refusal->message;
  };
  EXPECT_EQ(said({"get", "/v1/gateway/acme/both"}),
            "This path has no operation with this method; it has: GET, POST.");
  EXPECT_EQ(said({"GET", "/v1/gateway/acme/items/{id}"}),
            "The path still holds a parameter of its pattern.");
  EXPECT_EQ(writer->refusal->fields.at(0).problem, "It holds {id}.");
  install_free_lane();
  EXPECT_NE(said({"GET", "/v1/gateway/acme/items:free"}).find("no free variant"),
            std::string::npos);
  EXPECT_NE(said({"GET", "/v1/gateway/acme/nothing:free"}).find("No operation"), std::string::npos);
  EXPECT_NE(said({"GET", "/v1/gateway/acme/free:free", "", {{"X-Bench-Lane", "1"}}})
                .find("takes an API key and no other credential"),
            std::string::npos);
  const std::pair<std::string, std::string> faults[] = {{"a=1&title=x%zz&b=2", "query.title"},
                                                        {"%zz", "query"},
                                                        {"a%zz=1", "query"},
                                                        {"<", "query"},
                                                        {"a=<", "query.a"},
                                                        {"a=1&b=%2&c=%", "query.b"}};
  for (const auto& [query, location] : faults) {
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", query}), "request.query_malformed");
    EXPECT_EQ(writer->refusal->fields.at(0).location, location) << query;
  }
}

TEST_F(ServeTest, BoundsThePathAtTheLimitAndOnePast) {
  const std::string start = "/v1/gateway/acme/items/";
  const std::string longest(base::limits::request_path_bytes_max - start.size(), 'x');
  EXPECT_EQ(refusal({"GET", start + longest}), "");
  EXPECT_EQ(refusal({"GET", start + longest + "x"}), "request.target_too_long");
}

TEST_F(ServeTest, HasNoFreeVariantWithoutAFreeLane) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items:free"}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/free:free"}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items/:free"}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items/x:free"}), "gateway.route_not_found");
  EXPECT_EQ(count_of(journal, "hold"), 0u) << "never charged";
}

TEST_F(ServeTest, TakesAPaymentWhereItIsSoldAndNothingBesideIt) {
  install_payment_lane();
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {{"PAYMENT-SIGNATURE", "p"}}}),
            "x402.not_payable");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {good_key, {"PAYMENT-SIGNATURE", "p"}}}),
            "auth.credential_conflict");
  run({"GET", "/v1/gateway/acme/payable", "", {{"PAYMENT-SIGNATURE", "p"}}});
  EXPECT_EQ(writer->refusal, std::nullopt);
}

TEST_F(ServeTest, AsksForACredential) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {}}), "auth.credential_required");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/payable", "", {}}), "auth.credential_required");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {{"X-Service-Api-Key", "good"}}}),
            "auth.credential_invalid");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {{"Authorization", "Bearer nobody"}}}),
            "auth.credential_invalid");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/payable", "", {{"PAYMENT-SIGNATURE", "p"}}}),
            "auth.credential_required")
      << "no lane declares that header";
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {good_key, good_key}}),
            "auth.credential_conflict");
  EXPECT_EQ(refusal({"GET", "/nowhere", "", {good_key, good_key}}), "auth.credential_conflict");
}

TEST_F(ServeTest, RefusesAccountsThatMayNotCall) {
  using identity::AccountStatus;
  const std::pair<AccountStatus, std::string_view> cases[] = {
      {AccountStatus::suspended, "account.suspended"},
      {AccountStatus::closed, "account.closed"},
      {AccountStatus::provisioning, "account.provisioning"},
      {AccountStatus::provisioning_failed, "account.absent"}};
  for (const auto& [status, code] : cases) {
    add_key("other", status);
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {{"Authorization", "Bearer other"}}}),
              code);
  }
}

TEST_F(ServeTest, TellsWhyAnOperationIsNotReady) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/blocked"}), "gateway.route_blocked");
  EXPECT_EQ(writer->refusal->message, "It comes later.");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/blocked", "", {}}), "auth.credential_required");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/unpriced"}), "billing.pricing_unavailable");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/unpriced", "", {}}), "auth.credential_required");
  const std::pair<Condition, std::string_view> cases[] = {
      {Condition::blocked, "gateway.route_blocked"},
      {Condition::credential_missing, "gateway.upstream_credential"},
      {Condition::evidence_stale, "gateway.evidence_stale"}};
  for (const auto& [condition, code] : cases) {
    provider.state = {condition, "The reason."};
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items"}), code);
    EXPECT_EQ(writer->refusal->message, "The reason.");
    EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/unpriced"}), "billing.pricing_unavailable");
  }
  EXPECT_EQ(count_of(journal, "hold"), 0u);
}

// If only the operator can help, a retry is not advised. If the condition passes by itself, the
// caller learns when to retry.
TEST_F(ServeTest, SaysWhetherWaitingHelps) {
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/blocked"}), "gateway.route_blocked");
  EXPECT_EQ(writer->refusal->advice, base::Advice::never);
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/unpriced"}), "billing.pricing_unavailable");
  EXPECT_EQ(base::info_of(writer->refusal->code).advice, base::Advice::never);
  for (const Condition condition : {Condition::blocked, Condition::evidence_stale}) {
    provider.state = {condition, "Not now.", 7};
    refusal({"GET", "/v1/gateway/acme/items"});
    EXPECT_EQ(writer->refusal->advice, std::nullopt) << "the code's: after_delay";
    EXPECT_EQ(writer->refusal->retry_after_seconds, 7u);
  }
  provider.state = {Condition::credential_missing, "No credential."};
  refusal({"GET", "/v1/gateway/acme/items"});
  EXPECT_EQ(writer->refusal->advice, base::Advice::never);
}

// A request in which everything is wrong is refused for the first reason; with that corrected, for
// the second; and so on to the last.
TEST_F(ServeTest, KeepsTheOrderOfRefusal) {
  add_key("suspended", identity::AccountStatus::suspended);
  provider.state = {Condition::blocked, "Not today."};
  ledger.hold_error = base::Error{ErrorCode::billing_credits_exhausted, "Spent."};
  TestRequest request{"HEAD", "/v1/gateway/acme/nothing", "%zz", {good_key, good_key}};
  EXPECT_EQ(refusal(request), "auth.credential_conflict");
  request.headers.clear();
  EXPECT_EQ(refusal(request), "gateway.route_not_found");
  request.path = "/v1/gateway/acme/unpriced";
  EXPECT_EQ(refusal(request), "gateway.method_not_allowed");
  request.method = "GET";
  EXPECT_EQ(refusal(request), "auth.credential_required");
  request.headers = {{"Authorization", "Bearer nobody"}};
  EXPECT_EQ(refusal(request), "auth.credential_invalid");
  request.headers = {{"Authorization", "Bearer suspended"}};
  EXPECT_EQ(refusal(request), "account.suspended");
  request.headers = {good_key};
  EXPECT_EQ(refusal(request), "billing.pricing_unavailable");
  request.path = "/v1/gateway/acme/items";
  EXPECT_EQ(refusal(request), "gateway.route_blocked");
  provider.state = {};
  EXPECT_EQ(refusal(request), "request.query_malformed");
  request.query = "";
  EXPECT_EQ(refusal(request), "billing.credits_exhausted");
  ledger.hold_error.reset();
  EXPECT_EQ(refusal(request), "");
}

TEST_F(ServeTest, PassesTheLedgersRefusalsOn) {
  ledger.hold_error = base::Error{ErrorCode::billing_credits_reserved, "Held elsewhere.", 3};
  EXPECT_EQ(refusal({}), "billing.credits_reserved");
  EXPECT_EQ(writer->refusal->message, "Held elsewhere.");
  EXPECT_EQ(writer->refusal->retry_after_seconds, 3u);
  EXPECT_EQ(count_of(journal, "execute"), 0u);
}

TEST_F(ServeTest, NeedsARegistry) {
  service.reset();
  EXPECT_EQ(refusal({}), "registry.unavailable");
}

// ---- caps -------------------------------------------------------------------------------------

TEST_F(ServeTest, TurnsCallsAwayPastTheCapOfAnAccount) {
  LoopState::Seat seats[2];
  for (LoopState::Seat& seat : seats) {
    ASSERT_TRUE(seat.enter(loop));
    ASSERT_TRUE(seat.enter_account("acct_good"));
  }
  EXPECT_EQ(refusal({}), "gateway.account_concurrency_limited");
  EXPECT_EQ(writer->refusal->retry_after_seconds, 1u);
  EXPECT_EQ(count_of(journal, "hold"), 0u);
  // The cap also bounds bodies in memory. Faults that the head shows are reported first.
  TextBody body(std::string(search_body_bytes_max, 'x'), true);
  const TestRequest post = {"POST",     "/v1/gateway/acme/search", "",
                            {good_key}, "application/json",        &body};
  EXPECT_EQ(refusal(post), "gateway.account_concurrency_limited");
  TextBody longer(std::string(search_body_bytes_max + 1, 'x'), true);
  TestRequest post_longer = post;
  post_longer.body = &longer;
  EXPECT_EQ(refusal(post_longer), "request.body_too_large");
  EXPECT_EQ(body.reads + longer.reads, 0);
}

TEST_F(ServeTest, TurnsCallsAwayPastTheCapOfTheLoop) {
  LoopState::Seat seats[4];
  for (LoopState::Seat& seat : seats) ASSERT_TRUE(seat.enter(loop));
  EXPECT_EQ(refusal({}), "gateway.overloaded");
}

// A client that only announces a body takes no seat from others.
TEST_F(ServeTest, ABodyOfSomebodyUnknownIsAwaitedBeforeItTakesAPlaceOnTheLoop) {
  class Watching final : public BodySource {
   public:
    explicit Watching(const LoopState& loop) : loop_(loop) {}
    [[nodiscard]] std::optional<std::uint64_t> declared_length() const noexcept override {
      return 2;
    }
    Result<std::string_view, base::Error> read(std::uint64_t) override {
      calls_meanwhile = loop_.calls();
      return std::string_view("{}");
    }
    std::uint32_t calls_meanwhile = 99;

   private:
    const LoopState& loop_;
  };
  Invocation invocation;
  invocation.method = "POST";
  invocation.path = "/v1/gateway/acme/search";
  invocation.content_type = "application/json";
  invocation.request_id = request_id;
  invocation.caller = &caller;
  const Context context{service.get(), loop, authenticator, transfers, rules, clock};
  for (const bool is_known : {false, true}) {
    Watching body(loop);
    invocation.body = &body;
    const HeaderField credential = is_known ? good_key : HeaderField{"X-Bench-Lane", "1"};
    invocation.headers = {&credential, 1};
    RecordingWriter answer(journal, caller);
    static_cast<void>(serve(context, invocation, answer));
    EXPECT_EQ(body.calls_meanwhile, is_known ? 1u : 0u);
  }
  EXPECT_EQ(loop.calls(), 0u);
}

TEST_F(ServeTest, TurnsCallsAwayPastTheCapOfAnUpstream) {
  std::vector<runtime::InFlight::Seat> seats;
  for (int seat = 0; seat < 3; ++seat) seats.push_back(service->upstream(0).in_flight.try_enter());
  EXPECT_EQ(refusal({}), "gateway.overloaded");
  EXPECT_EQ(count_of(journal, "hold"), 0u);
  seats.pop_back();
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(service->upstream(0).in_flight.count(), 2u);
}

// ---- what the upstream answers ----------------------------------------------------------------

TEST_F(ServeTest, TreatsEveryStatusAsDecided) {
  for (int status = 100; status < 600; ++status) {
    journal.clear();
    provider.script = [status](ReplySink& sink, Call&) { return reply_with(sink, status, "{}"); };
    const std::string code = refusal({});
    if (status == 200) {
      EXPECT_EQ(journal_text(), "hold:acct_good:1 execute settle:success reply");
    } else if (status == 400 || status == 404 || status == 409 || status == 410 || status == 422) {
      EXPECT_EQ(journal_text(), "hold:acct_good:1 execute release:upstream_status reply");
      EXPECT_EQ(writer->status, status);
      EXPECT_EQ(writer->body, "{}");
      EXPECT_EQ(writer->facts.credits_charged, 0u);
      EXPECT_EQ(writer->facts.from, ReplyFrom::provider);
    } else {
      const std::string_view expected =
          status == 401 || status == 402 || status == 403 ? "gateway.upstream_credential"
          : status == 429                                 ? "gateway.upstream_rate_limited"
          : status >= 300 && status < 400                 ? "gateway.upstream_redirect"
                                          : "gateway.upstream_transport_or_response_failure";
      EXPECT_EQ(code, expected) << status;
      EXPECT_EQ(writer->facts.from, ReplyFrom::gateway);
      EXPECT_EQ(journal_text(), "hold:acct_good:1 execute release:upstream_status refuse:" + code);
      EXPECT_EQ(ledger.released.back().upstream_status, status);
    }
  }
}

TEST_F(ServeTest, PassesASaneRetryAfterOn) {
  const std::pair<std::string_view, std::uint32_t> cases[] = {
      {"7", 7},  {"0", 0},   {"3600", 3600},           {"3601", 3600},
      {"-1", 0}, {"1.5", 0}, {"99999999999999", 3600}, {"Wed, 21 Oct 2026 07:28:00 GMT", 0},
      {"", 0}};
  for (const auto& [value, seconds] : cases) {
    provider.script = [value = value](ReplySink& sink, Call&) -> Done {
      const HeaderField headers[] = {{"retry-after", value}};
      sink.head(429, headers, 0);
      return Unit{};
    };
    EXPECT_EQ(refusal({}), "gateway.upstream_rate_limited");
    EXPECT_EQ(writer->refusal->retry_after_seconds, seconds) << value;
  }
}

// Regression: these errors were answered with 502 as the provider's fault, although the provider
// told the caller's mistake.
TEST_F(ServeTest, PassesTheProvidersErrorsOnInTheFormsThatErrorsHave) {
  const std::string_view types[] = {"application/json", "Application/Problem+JSON; charset=utf-8",
                                    "text/plain", "text/html; charset=utf-8"};
  for (const int status : {400, 404, 409, 410, 422}) {
    for (const std::string_view type : types) {
      provider.script = [=](ReplySink& sink, Call&) {
        return reply_with(sink, status, "no such thing", type);
      };
      EXPECT_EQ(refusal({}), "") << status << type;
      EXPECT_EQ(writer->status, status);
      EXPECT_EQ(writer->body, "no such thing");
      EXPECT_EQ(writer->headers["Content-Type"], type);
    }
    provider.script = [=](ReplySink& sink, Call&) -> Done {
      sink.head(status, {}, 0);
      return Unit{};
    };
    EXPECT_EQ(refusal({}), "") << "without a content type";
    EXPECT_EQ(writer->status, status);
  }
  EXPECT_EQ(count_of(journal, "settle"), 0u);
}

TEST_F(ServeTest, ARouteMayNarrowTheFormsOfErrors) {
  const auto passes = [&](std::string_view type) {
    provider.script = [=](ReplySink& sink, Call&) -> Done {
      if (!type.empty()) return reply_with(sink, 404, "?", type);
      sink.head(404, {}, 0);
      return Unit{};
    };
    return refusal({"GET", "/v1/gateway/acme/narrow"}).empty();
  };
  EXPECT_TRUE(passes("application/problem+json"));
  EXPECT_TRUE(passes(""));
  EXPECT_FALSE(passes("text/html"));
  EXPECT_FALSE(passes("application/json"));
}

TEST_F(ServeTest, RefusesContentTypesThatTheRouteDoesNotAllow) {
  const auto refuses = [&](int status, std::string_view type) {
    provider.script = [=](ReplySink& sink, Call&) { return reply_with(sink, status, "{}", type); };
    return refusal({}) == "gateway.upstream_transport_or_response_failure";
  };
  for (const std::string_view type :
       {"text/html", "", "none", "application/jsonp", "application/json,"}) {
    EXPECT_TRUE(refuses(200, type)) << type;
  }
  for (const std::string_view type : {"image/png", "none", "application/jsonp", "text/html,"}) {
    EXPECT_TRUE(refuses(404, type)) << type;
  }
  provider.script = [](ReplySink& sink, Call&) -> Done {
    const HeaderField headers[] = {{"content-type", "application/json"},
                                   {"Content-Type", "application/json"}};
    sink.head(200, headers, 0);
    return Unit{};
  };
  EXPECT_EQ(refusal({}), "gateway.upstream_transport_or_response_failure");
  EXPECT_EQ(count_of(journal, "settle"), 0u);
  provider.script = [](ReplySink& sink, Call&) {
    return reply_with(sink, 200, "{}", "APPLICATION/json ;charset=utf-8");
  };
  EXPECT_EQ(refusal({}), "");
}

TEST_F(ServeTest, TreatsEveryFailureAsDecided) {
  struct FailureCase {
    FailureKind kind;
    std::string_view code;
    std::string_view reason;
  };
  const FailureCase cases[] = {
      {FailureKind::timeout, "gateway.upstream_timeout", "upstream_timeout"},
      {FailureKind::transport, "gateway.upstream_transport_or_response_failure",
       "upstream_failure"},
      {FailureKind::contract, "gateway.upstream_transport_or_response_failure", "upstream_failure"},
      {FailureKind::too_large, "gateway.upstream_response_too_large", "response_too_large"},
      {FailureKind::redirect, "gateway.upstream_redirect", "upstream_status"},
      {FailureKind::credential, "gateway.upstream_credential", "upstream_failure"},
      {FailureKind::unavailable, "gateway.upstream_unavailable", "upstream_failure"},
      {FailureKind::cancelled, "gateway.upstream_transport_or_response_failure",
       "upstream_failure"},
      {FailureKind::plugin_fault, "gateway.plugin_fault", "upstream_failure"},
      {FailureKind::invalid_settings, "gateway.plugin_fault", "upstream_failure"}};
  for (const FailureCase& c : cases) {
    journal.clear();
    provider.script = [&](ReplySink&, Call&) -> Done {
      return Failure{c.kind, "connect 10.0.0.1: secret", {}, false};
    };
    const Served served = run();
    EXPECT_EQ(journal_text(), "hold:acct_good:1 execute release:" + std::string(c.reason) +
                                  " refuse:" + std::string(c.code));
    EXPECT_EQ(writer->refusal->message.find("10.0.0.1"), std::string::npos);
    EXPECT_EQ(served.operator_note, "connect 10.0.0.1: secret");
  }
}

TEST_F(ServeTest, AnswersAStopThatCutTheCallShort) {
  provider.script = [&](ReplySink&, Call& call) -> Done {
    caller.now = Standing::stopping;
    EXPECT_TRUE(call.cancelled());
    return Failure{FailureKind::cancelled, "", {}, true};
  };
  EXPECT_EQ(refusal({}), "gateway.stopping");
  EXPECT_EQ(count_of(journal, "release:gateway_stopped"), 1u);
}

TEST_F(ServeTest, HoldsTheUpstreamToItsDeadline) {
  for (const std::int64_t past_ns : {std::int64_t{-1'000'000'000}, std::int64_t{1}}) {
    provider.script = [&](ReplySink& sink, Call& call) {
      clock.ahead_ns += call.deadline_ns() - clock.monotonic_ns() + past_ns;
      return reply_with(sink, 200, "{}");
    };
    EXPECT_EQ(refusal({}), past_ns > 0 ? "gateway.upstream_timeout" : "");
  }
  EXPECT_EQ(count_of(journal, "release:upstream_timeout"), 1u);
}

TEST_F(ServeTest, BoundsTheReplyAtTheLimitAndOnePast) {
  for (const bool is_announced : {true, false}) {
    for (const std::uint64_t size : {items_reply_bytes_max, items_reply_bytes_max + 1}) {
      journal.clear();
      bool head_was_taken = false;
      provider.script = [&](ReplySink& sink, Call&) -> Done {
        const HeaderField headers[] = {{"content-type", "application/json"}};
        const auto length = is_announced ? std::optional(size) : std::nullopt;
        head_was_taken = sink.head(200, headers, length);
        if (!head_was_taken) return Unit{};
        const std::string chunk(1000, 'x');
        for (std::uint64_t sent = 0; sent < size; sent += chunk.size()) {
          const auto part = std::min<std::uint64_t>(chunk.size(), size - sent);
          if (!sink.body(std::string_view(chunk).substr(0, part))) break;
        }
        return Unit{};
      };
      const Served served = run();
      if (size == items_reply_bytes_max) {
        EXPECT_EQ(served.ending, Ending::replied);
        EXPECT_TRUE(writer->is_complete);
        EXPECT_EQ(writer->body.size(), size);
        EXPECT_EQ(writer->announced.has_value(), is_announced);
      } else if (is_announced) {
        EXPECT_FALSE(head_was_taken);
        EXPECT_EQ(served.error, ErrorCode::gateway_upstream_response_too_large);
        EXPECT_EQ(served.ending, Ending::refused);
      } else {
        EXPECT_EQ(served.error, ErrorCode::gateway_upstream_response_too_large);
        EXPECT_EQ(served.ending, Ending::cut);
        EXPECT_FALSE(writer->is_complete);
      }
    }
  }
  EXPECT_EQ(count_of(journal, "release:response_too_large"), 1u);
}

TEST_F(ServeTest, BuffersUpToTheLimitAndStreamsOnePast) {
  for (const std::size_t size : {std::size_t{base::limits::response_buffer_bytes_max},
                                 std::size_t{base::limits::response_buffer_bytes_max} + 1}) {
    const std::string body(size, 'x');
    provider.script = [&](ReplySink& sink, Call&) { return reply_with(sink, 200, body); };
    journal.clear();
    run();
    const bool is_streamed = size > base::limits::response_buffer_bytes_max;
    EXPECT_EQ(count_of(journal, "begin"), is_streamed ? 1u : 0u);
    EXPECT_EQ(count_of(journal, "reply"), is_streamed ? 0u : 1u);
    EXPECT_EQ(writer->body, body);
    EXPECT_TRUE(writer->is_complete);
    EXPECT_EQ(writer->facts.credits_charged, 1u) << "named in the head, streamed or not";
  }
}

TEST_F(ServeTest, FindsPluginsThatBreakTheInterface) {
  const HeaderField json[] = {{"content-type", "application/json"}};
  const std::pair<Script, std::string_view> cases[] = {
      {[](ReplySink&, Call&) -> Done { return Unit{}; }, "gateway.plugin_fault"},
      {[](ReplySink& sink, Call&) -> Done {
         EXPECT_FALSE(sink.body("{}"));
         return Unit{};
       },
       "gateway.plugin_fault"},
      {[&](ReplySink& sink, Call&) -> Done {
         EXPECT_TRUE(sink.head(200, json, std::nullopt));
         EXPECT_FALSE(sink.head(200, json, std::nullopt));
         EXPECT_FALSE(sink.body("{}"));
         return Unit{};
       },
       "gateway.plugin_fault"},
      {[&](ReplySink& sink, Call&) -> Done {
         EXPECT_TRUE(sink.head(200, json, 3));
         EXPECT_TRUE(sink.body("{}"));
         return Unit{};
       },
       "gateway.upstream_transport_or_response_failure"},
      {[&](ReplySink& sink, Call&) -> Done {
         EXPECT_TRUE(sink.head(200, json, 1));
         EXPECT_FALSE(sink.body("{}"));
         return Unit{};
       },
       "gateway.upstream_transport_or_response_failure"},
  };
  for (const auto& [script, code] : cases) {
    journal.clear();
    provider.script = script;
    EXPECT_EQ(refusal({}), code);
    EXPECT_EQ(count_of(journal, "settle"), 0u);
    EXPECT_EQ(count_of(journal, "release:upstream_failure"), 1u);
  }
}

TEST_F(ServeTest, SharesTheHeavyTransfersOut) {
  const std::string light(base::limits::heavy_transfer_bytes, 'x');
  const std::string heavy(base::limits::heavy_transfer_bytes + 1, 'x');
  auto first = transfers.acquire(runtime::Deadline::never());
  auto second = transfers.acquire(runtime::Deadline::never());
  ASSERT_TRUE(first && second);
  provider.script = [&](ReplySink& sink, Call&) { return reply_with(sink, 200, light); };
  EXPECT_EQ(refusal({}), "");
  provider.script = [&](ReplySink& sink, Call&) { return reply_with(sink, 200, heavy); };
  journal.clear();
  EXPECT_EQ(refusal({}), "gateway.transfer_limit");
  EXPECT_EQ(journal_text(),
            "hold:acct_good:1 execute release:response_too_large refuse:gateway.transfer_limit");
  // A reply without a declared length counts as heavy once it is streamed.
  provider.script = [&](ReplySink& sink, Call&) -> Done {
    const HeaderField headers[] = {{"content-type", "application/json"}};
    sink.head(200, headers, std::nullopt);
    sink.body(light);
    return Unit{};
  };
  EXPECT_EQ(refusal({}), "gateway.transfer_limit");
  first = {};
  EXPECT_EQ(refusal({}), "");
  EXPECT_TRUE(transfers.acquire(runtime::Deadline::never())) << "the slot was given back";
}

// ---- other lanes ------------------------------------------------------------------------------

TEST_F(ServeTest, ServesALaneByItsOwnHeader) {
  const Served served = run({"GET", "/v1/gateway/acme/items", "", {{"X-Bench-Lane", "1"}}});
  EXPECT_EQ(journal_text(), "hold: execute settle:success reply");
  EXPECT_EQ(served.lane, "bench");
  EXPECT_EQ(writer->facts.credits_charged, 0u);
  const std::vector<std::pair<std::string, std::string>> expected = {{"X-Bench-Lane", "1"}};
  EXPECT_EQ(bench.seen_credentials, expected);
}

TEST_F(ServeTest, ServesAPaymentLaneAsAPluginBringsIt) {
  ScriptedLane& lane = install_payment_lane();
  ASSERT_EQ(lane.operations.size(), service->program().operations().size());
  const TestRequest anonymous{"GET", "/v1/gateway/acme/payable", "", {}};
  lane.admission = [](const LaneRequest&) -> Admission {
    Refusal challenge{"x402.not_payable", "Pay first.", 0, {{"PAYMENT-REQUIRED", "terms"}}, {}, {}};
    challenge.body = "{\"x402Version\":2}";
    challenge.content_type = "application/json";
    return challenge;
  };
  EXPECT_EQ(refusal(anonymous), "x402.not_payable");
  EXPECT_EQ(writer->body, "{\"x402Version\":2}");
  EXPECT_EQ(writer->lane_headers["PAYMENT-REQUIRED"], "terms");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", {}}), "auth.credential_required");

  lane.admission = nullptr;
  std::string settled;
  lane.finish = [&](const ReplyView& reply) -> Finish {
    settled = reply.body;
    return Charged{{{"PAYMENT-RESPONSE", "tx"}}, 0, -1};
  };
  const std::string body(base::limits::response_whole_bytes_max, 'x');
  provider.script = [&](ReplySink& sink, Call&) { return reply_with(sink, 200, body); };
  const TestRequest paying{"GET", "/v1/gateway/acme/payable", "", {{"Payment-Signature", "s"}}};
  EXPECT_EQ(refusal(paying), "");
  EXPECT_EQ(settled, body) << "the lane settles with the whole reply";
  EXPECT_EQ(writer->lane_headers["PAYMENT-RESPONSE"], "tx");
  provider.script = [&](ReplySink& sink, Call&) { return reply_with(sink, 200, body + "x"); };
  EXPECT_EQ(refusal(paying), "gateway.upstream_response_too_large");
}

TEST_F(ServeTest, AsksNobodyToPayWhatCannotBePaidForButHearsWhoHasPaid) {
  ScriptedLane& lane = install_payment_lane();
  lane.state = {Condition::blocked, "No facilitator."};
  lane.admission = [](const LaneRequest& request) -> Admission {
    EXPECT_FALSE(request.credentials.empty());
    return Replay{200, {}, "what was paid for"};
  };
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/payable", "", {}}), "x402.unavailable");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/payable", "", {{"Payment-Signature", "s"}}}), "");
  EXPECT_EQ(writer->body, "what was paid for");
}

// A reply that was paid for is delivered even if the registry has changed since.
TEST_F(ServeTest, RecallsWhatWasPaidForWhereTheOperationIsNotOfferedAnyMore) {
  ScriptedLane& lane = install_payment_lane();
  lane.admission = [](const LaneRequest&) -> Admission {
    ADD_FAILURE() << "nothing is begun";
    return Refusal{"x402.not_payable", "", 0, {}, {}, {}};
  };
  std::vector<std::string> asked;
  lane.recalled = [&asked](const LaneRequest& request) -> Recalled {
    EXPECT_EQ(request.credentials.size(), 1u);
    asked.push_back(std::string(name_of(request.method)) + " " + std::string(request.path) + " " +
                    std::string(request.body));
    return Replay{200, {{"PAYMENT-RESPONSE", "tx"}}, "what was paid for"};
  };
  const std::vector<HeaderField> paid = {{"Payment-Signature", "s"}};
  TextBody body("{}", true);
  const TestRequest requests[] = {
      {"GET", "/v1/gateway/acme/removed", "", paid},            // 404
      {"POST", "/v1/gateway/acme/items", "", paid, {}, &body},  // 405
      {"GET", "/v1/gateway/acme/items", "", paid},              // not offered per call
      {"GET", "/v1/gateway/acme/blocked", "", paid},
      {"GET", "/v1/gateway/acme/unpriced", "", paid},
  };
  for (const TestRequest& request : requests) {
    EXPECT_EQ(refusal(request), "") << request.path;
    EXPECT_EQ(writer->body, "what was paid for") << request.path;
    EXPECT_EQ(writer->lane_headers["PAYMENT-RESPONSE"], "tx") << request.path;
  }
  EXPECT_EQ(asked, (std::vector<std::string>{
                       "GET /v1/gateway/acme/removed ", "POST /v1/gateway/acme/items {}",
                       "GET /v1/gateway/acme/items ", "GET /v1/gateway/acme/blocked ",
                       "GET /v1/gateway/acme/unpriced "}));
}

TEST_F(ServeTest, RecallsForNobodyElseAndRefusesAsEverWhatIsNotKnown) {
  ScriptedLane& lane = install_payment_lane();
  int asked = 0;
  lane.recalled = [&asked](const LaneRequest&) -> Recalled {
    ++asked;
    return {};
  };
  const std::vector<HeaderField> paid = {{"Payment-Signature", "s"}};
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/removed", "", paid}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/items", "", paid}), "x402.not_payable");
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/removed", "", {}}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/free:free", "", paid}), "gateway.route_not_found");
  EXPECT_EQ(refusal({"GET",
                     "/v1/gateway/acme/removed",
                     "",
                     {{"Payment-Signature", "s"}, {"Authorization", "Bearer good"}}}),
            "auth.credential_conflict");
  EXPECT_EQ(asked, 2);
  lane.recalled = [](const LaneRequest&) -> Recalled {
    return Refusal{"x402.settlement_unknown", "Not known yet.", 2, {}, {}, {}};
  };
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/removed", "", paid}), "x402.settlement_unknown");
}

TEST_F(ServeTest, GivesAStoredReplyAgain) {
  bench.admission = [](const LaneRequest&) -> Admission {
    return Replay{200, {{"Idempotent-Replayed", "true"}, {"Content-Type", "text/plain"}}, "again"};
  };
  const Served served = run({"GET", "/v1/gateway/acme/items", "", {{"X-Bench-Lane", "1"}}});
  EXPECT_EQ(journal_text(), "reply");
  EXPECT_EQ(writer->body, "again");
  EXPECT_EQ(writer->lane_headers["Idempotent-Replayed"], "true");
  EXPECT_EQ(served.credits_charged, 0u);
  EXPECT_EQ(served.ending, Ending::replied);
}

// A caller without a key cannot use the account routes.
TEST_F(ServeTest, OnlyWhoHasAnAccountIsSentToItsCalls) {
  ScriptedLane& lane = install_payment_lane();
  const Refusal open{"billing.settlement_unknown", "out of luck", 0, {}, {}, {}};
  lane.finish = [&](const ReplyView&) -> Finish { return Unknown{open}; };
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/payable", "", {{"Payment-Signature", "s"}}}),
            "billing.settlement_unknown");
  EXPECT_EQ(writer->refusal->message.find("/v1/calls"), std::string::npos);
  EXPECT_NE(writer->refusal->message.find(request_id), std::string::npos);
  ledger.settlement = ledger::SettlementUnknown{};
  EXPECT_EQ(refusal({}), "billing.settlement_unknown");
  EXPECT_NE(writer->refusal->message.find("/v1/calls/" + std::string(request_id)),
            std::string::npos);
}

TEST_F(ServeTest, KeepsTheTextsOfFailedLanesFromCallers) {
  const TestRequest request{"GET", "/v1/gateway/acme/items", "", {{"X-Bench-Lane", "1"}}};
  for (const std::string_view code : {"gateway.plugin_fault", "no.such_code"}) {
    bench.admission = [&](const LaneRequest&) -> Admission {
      return Refusal{std::string(code), "std::bad_alloc at 0x7f", 0, {}, {}, {}};
    };
    const Served served = run(request);
    EXPECT_EQ(writer->refusal->code, ErrorCode::gateway_plugin_fault);
    EXPECT_EQ(writer->refusal->message.find("bad_alloc"), std::string::npos);
    EXPECT_NE(served.operator_note.find("bad_alloc"), std::string::npos);
    EXPECT_EQ(served.upstream_part, UpstreamPart::none);
  }
  bench.admission = [](const LaneRequest&) -> Admission { return std::unique_ptr<Ticket>(); };
  EXPECT_EQ(refusal(request), "gateway.plugin_fault");
}

}  // namespace
}  // namespace turnpike::exchange
