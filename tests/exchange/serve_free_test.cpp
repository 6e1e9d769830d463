// The free lane inside serve(): who is admitted, that the ledger is never called, and that a permit
// is returned however a call ends. The lane and its store are real.
#include <stdexcept>

#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

constexpr std::uint32_t window_limit = 60;  // acme.free in program_fixture.cpp
const std::string free_path = "/v1/gateway/acme/free:free";

class ServeFreeTest : public ServeTest {
 protected:
  ServeFreeTest() { install_free_lane(); }

  quota::Standing standing() {
    const quota::Limits limits = service->program().free_policies().front();
    const auto read = free_counts.read("acct_good", free_counts.bucket("provider:acme"), limits,
                                       runtime::Deadline::never());
    EXPECT_TRUE(read.ok());
    return read.ok() ? *read : quota::Standing{};
  }
  std::string free_refusal(const TestRequest& request) {
    journal.clear();
    const std::string code = refusal(request);
    EXPECT_EQ(count_of(journal, "execute"), 0u) << code;
    EXPECT_EQ(count_of(journal, "hold"), 0u) << code;
    return code;
  }
};

TEST_F(ServeFreeTest, ForwardsTheSameRequestAndNeverAsksTheLedger) {
  const Served served = run({"GET", free_path, "a=1&a=%20", {good_key}});
  EXPECT_EQ(writer->status, 200);
  EXPECT_EQ(writer->lane, "free");
  EXPECT_EQ(writer->facts.credits_charged, 0u);
  EXPECT_EQ(served.credits_charged, 0u);
  EXPECT_EQ(provider.asked->path, "/v1/gateway/acme/free");
  EXPECT_EQ(provider.asked->query, "a=1&a=%20");
  EXPECT_EQ(journal_text(), "execute reply") << "no hold, no settlement, no usage fact";
  EXPECT_EQ(writer->lane_headers["RateLimit-Policy"],
            "\"window\";q=60;w=60, \"concurrency\";q=4;qu=\"concurrent-requests\"");
  EXPECT_EQ(writer->lane_headers["RateLimit"], "\"window\";r=59;t=40, \"concurrency\";r=3");

  TextBody body("{\"a\":1}", true);
  run({"POST", free_path, "", {good_key}, "application/json", &body});
  EXPECT_EQ(writer->status, 200);
  EXPECT_EQ(provider.asked->body, "{\"a\":1}");
}

TEST_F(ServeFreeTest, IgnoresAnIdempotencyKey) {
  for (std::uint32_t used = 1; used <= 2; ++used) {
    run({"GET", free_path, "", {good_key, {"Idempotency-Key", "same"}}});
    EXPECT_EQ(writer->status, 200);
    EXPECT_EQ(standing().counts.window, used);
  }
  EXPECT_EQ(count_of(journal, "execute"), 2u);
}

TEST_F(ServeFreeTest, OnlyARawSuffixSelectsIt) {
  run({"GET", "/v1/gateway/acme/items/x%3Afree", "", {good_key}});
  EXPECT_EQ(writer->lane, "credits");
  // ":free" in the last parameter of a route without a free variant: not found and not charged.
  EXPECT_EQ(free_refusal({"GET", "/v1/gateway/acme/items/x:free"}), "gateway.route_not_found");
  EXPECT_EQ(free_refusal({"GET", "/v1/gateway/acme/free:free:free"}), "gateway.route_not_found");
  EXPECT_EQ(free_refusal({"GET", "/v1/gateway/acme/free:free/"}), "gateway.route_not_found");
  EXPECT_EQ(free_refusal({"GET", "/v1/gateway/acme/free:stream"}), "gateway.route_not_found");
}

// Each request also has all faults of the requests below it.
TEST_F(ServeFreeTest, RefusesInTheOrderOfTheInterface) {
  install_payment_lane();
  add_key("asleep", identity::AccountStatus::suspended);
  const std::string bad_query = "%zz";
  const std::string nothing = "/v1/gateway/acme/nothing:free";
  const HeaderField payment_header = {"PAYMENT-SIGNATURE", "x"};
  for (std::uint32_t at = 0; at < window_limit; ++at) run({"GET", free_path, "", {good_key}});
  provider.state = {Condition::blocked, "It rests."};
  EXPECT_EQ(free_refusal({"GET", nothing, bad_query, {good_key, payment_header}}),
            "auth.credential_conflict");
  EXPECT_EQ(free_refusal({"PUT", nothing, bad_query, {}}), "gateway.route_not_found");
  EXPECT_EQ(free_refusal({"PUT", free_path, bad_query, {}}), "gateway.method_not_allowed");
  EXPECT_EQ(free_refusal({"GET", free_path, bad_query, {}}), "auth.credential_required")
      << "not anonymous";
  EXPECT_EQ(free_refusal({"GET", free_path, bad_query, {payment_header}}), "x402.not_payable")
      << "not for payments";
  EXPECT_EQ(free_refusal({"GET", free_path, bad_query, {{"Authorization", "Bearer bad"}}}),
            "auth.credential_invalid");
  EXPECT_EQ(free_refusal({"GET", free_path, bad_query, {{"Authorization", "Bearer asleep"}}}),
            "account.suspended");
  EXPECT_EQ(free_refusal({"GET", free_path, bad_query, {good_key}}), "gateway.route_blocked");
  provider.state = {};
  EXPECT_EQ(free_refusal({"GET", free_path, bad_query, {good_key}}), "request.query_malformed");
  TextBody body("x", true);
  EXPECT_EQ(free_refusal({"GET", free_path, "", {good_key}, "", &body}),
            "request.body_not_allowed");
  EXPECT_EQ(free_refusal({"GET", free_path, "", {good_key}}), "gateway.free_rate_limited");
  EXPECT_EQ(writer->refusal->retry_after_seconds, 40u);
  EXPECT_EQ(writer->lane_headers["RateLimit"], "\"window\";r=0;t=40");
  EXPECT_EQ(refusal({"GET", "/v1/gateway/acme/free", "", {good_key}}), "") << "paid, it goes on";
}

TEST_F(ServeFreeTest, AnUpstreamCredentialDoesNotMakeARouteIneligible) {
  provider.state = {Condition::credential_missing, "No token."};
  EXPECT_EQ(free_refusal({"GET", free_path, "", {good_key}}), "gateway.upstream_credential");
  provider.state = {};
  EXPECT_EQ(refusal({"GET", free_path, "", {good_key}}), "");
}

// All ways in which a call can end.
class ServeFreeEndTest : public ServeFreeTest {
 protected:
  struct Way {
    const char* what;
    Script script;
    int writer_fails_at = 0;
  };
  std::vector<Way> ways();
  void be_late(Call& call) { clock.ahead_ns += call.deadline_ns() - clock.monotonic_ns() + 1; }
  const std::string big = std::string(700'000, 'x');
};

std::vector<ServeFreeEndTest::Way> ServeFreeEndTest::ways() {
  return {
      {"reply sent", [](auto& sink, auto&) { return reply_with(sink, 200, "{}"); }},
      {"long reply sent", [this](auto& sink, auto&) { return reply_with(sink, 200, big); }},
      {"declared failure", [](auto& sink, auto&) { return reply_with(sink, 404, "{}"); }},
      {"upstream failure", [](auto& sink, auto&) { return reply_with(sink, 500, "{}"); }},
      {"refused content type",
       [](auto& sink, auto&) { return reply_with(sink, 200, "x", "text/html"); }},
      {"too large",
       [](auto& sink, auto&) { return reply_with(sink, 200, std::string(3'000'001, 'x')); }},
      {"no connection",
       [](auto&, auto&) {
         return Failure{FailureKind::transport, "refused", {}, false};
       }},
      {"broken midway",
       [this](auto& sink, auto&) -> Done {
         (void)reply_with(sink, 200, big);
         return Failure{FailureKind::transport, "reset", {}, true};
       }},
      {"upstream timeout",
       [this](auto&, auto& call) {
         be_late(call);
         return Failure{FailureKind::timeout, "deadline", {}, true};
       }},
      {"late reply",
       [this](auto& sink, auto& call) {
         be_late(call);
         return reply_with(sink, 200, "{}");
       }},
      {"plugin fault",
       [](auto&, auto&) {
         return Failure{FailureKind::plugin_fault, "threw", {}, true};
       }},
      {"plugin exception",
       [](auto&, auto&) -> Done { throw std::runtime_error("not caught by any guard"); }},
      {"caller gone before the reply",
       [this](auto& sink, auto&) {
         caller.now = Standing::gone;
         return reply_with(sink, 200, "{}");
       }},
      {"caller gone when replied", [](auto& sink, auto&) { return reply_with(sink, 200, "{}"); },
       1},
      {"caller gone midway", [this](auto& sink, auto&) { return reply_with(sink, 200, big); }, 2},
  };
}

TEST_F(ServeFreeEndTest, ThePermitComesBackHoweverTheCallEnds) {
  std::uint32_t used = 0;
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.what);
    caller.now = Standing::waiting;
    fails_at = way.writer_fails_at;
    provider.script = [&](ReplySink& sink, Call& call) {
      EXPECT_EQ(standing().in_use, 1u);
      return way.script(sink, call);
    };
    try {
      run({"GET", free_path, "", {good_key}});
    } catch (const std::runtime_error&) {
      EXPECT_STREQ(way.what, "plugin exception");
    }
    EXPECT_EQ(standing().in_use, 0u);
    EXPECT_EQ(standing().counts.window, ++used) << "and nothing but the permit";
  }
}

}  // namespace
}  // namespace turnpike::exchange
