// All failures of upstream, caller and ledger in combination, checked against the invariants of
// every call.
#include <algorithm>

#include "exchange/serve_fixture.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;

// How an upstream's reply ends, after its last byte or instead of the next one.
enum class End { whole, transport_failure, plugin_fault, short_of_length, late };

struct FaultCase {
  std::size_t bytes;  // sent by the upstream
  bool is_announced;
  int status;
  End end;
  int writer_fails_at;  // 0: never
  int settlement;       // 0 settled, 1 refused, 2 unknown
  std::size_t chunk;
};

class ServeFaultTest : public ServeTest {
 protected:
  Served run_case(const FaultCase& c) {
    journal.clear();
    caller.now = Standing::waiting;
    clock.ahead_ns = 0;
    fails_at = c.writer_fails_at;
    ledger.settlement = ledger::Settled{1, 41};
    if (c.settlement == 1) {
      ledger.settlement = ledger::SettlementRefused{{ErrorCode::billing_lease_lost, "Lost."}};
    }
    if (c.settlement == 2) ledger.settlement = ledger::SettlementUnknown{};
    ledger.while_settling = [this] { written_when_settled = writer->body.size(); };
    provider.script = [this, c](ReplySink& sink, Call& call) { return play(c, sink, call); };
    return run();
  }

  Done play(const FaultCase& c, ReplySink& sink, Call& call) {
    const HeaderField headers[] = {{"Content-Type", "application/json"}};
    const std::size_t announced = c.bytes + (c.end == End::short_of_length ? 1 : 0);
    const auto length = c.is_announced ? std::optional<std::uint64_t>(announced) : std::nullopt;
    if (!sink.head(c.status, headers, length)) return Unit{};
    sent = pattern(c.bytes);
    for (std::size_t at = 0; at < sent.size(); at += c.chunk) {
      if (!sink.body(std::string_view(sent).substr(at, c.chunk))) return Unit{};
    }
    if (c.end == End::transport_failure) return Failure{FailureKind::transport, "reset", {}, true};
    if (c.end == End::plugin_fault) return Failure{FailureKind::plugin_fault, "threw", {}, true};
    if (c.end == End::late) clock.ahead_ns += call.deadline_ns() - clock.monotonic_ns() + 1;
    return Unit{};
  }

  static std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t at = 0; at < size; ++at) text[at] = static_cast<char>('a' + at % 23);
    return text;
  }

  // Whether the calls on the writer form one of the sequences that reply.h allows.
  [[nodiscard]] bool is_writer_sequence_legal() const {
    std::string calls;
    for (const std::string& event : journal) {
      if (event == "reply") calls += 'r';
      if (event == "begin") calls += 'b';
      if (event == "write") calls += 'w';
      if (event == "finish") calls += 'f';
      if (event == "cut") calls += 'c';
      if (event.starts_with("refuse")) calls += 'e';
    }
    if (calls.empty() || calls == "r" || calls == "e" || calls == "b") return true;
    if (calls.front() != 'b') return false;
    const std::size_t end = calls.find_first_not_of('w', 1);
    if (end == calls.npos) return true;
    return end == calls.size() - 1 && (calls[end] == 'f' || calls[end] == 'c');
  }

  [[nodiscard]] std::size_t position(std::string_view event) const {
    return static_cast<std::size_t>(std::find(journal.begin(), journal.end(), event) -
                                    journal.begin());
  }

  void check(const FaultCase& c, const Served& served) {
    const std::size_t settled = count_of(journal, "settle");
    const std::size_t released = count_of(journal, "release");
    ASSERT_EQ(count_of(journal, "hold"), 1u);
    ASSERT_EQ(settled + released, 1u) << "a hold ends exactly once";
    ASSERT_TRUE(is_writer_sequence_legal());

    const bool is_good = c.end == End::whole || (c.end == End::short_of_length && !c.is_announced);
    const bool was_charged = settled == 1 && c.settlement == 0;
    ASSERT_EQ(served.credits_charged, was_charged ? 1u : 0u);
    if (!is_good || c.status != 200) {
      ASSERT_EQ(settled, 0u) << "only a declared success is charged";
    }
    if (writer->is_complete) {
      ASSERT_EQ(writer->body, sent) << "a complete reply has all bytes, unchanged";
      ASSERT_TRUE(is_good);
      ASSERT_EQ(served.ending, Ending::replied);
      const std::size_t completed = std::min(position("reply"), position("finish"));
      if (c.status == 200) {
        ASSERT_TRUE(was_charged) << "a complete success is charged";
        ASSERT_LT(position("settle:success"), completed) << "and charged before it is complete";
      } else {
        ASSERT_EQ(released, 1u);
        ASSERT_LT(position("release:upstream_status"), completed);
      }
    } else {
      ASSERT_NE(served.ending, Ending::replied);
    }
    if (settled == 1) {
      const std::size_t withheld = std::min<std::size_t>(c.bytes, base::limits::withheld_bytes);
      ASSERT_LE(written_when_settled + withheld, c.bytes) << "the end is withheld until then";
    }
    // Once the body has begun, the upstream's outcome decides the charge, not the caller's.
    const bool has_begun = count_of(journal, "begin") == 1 && c.writer_fails_at != 1;
    if (has_begun && is_good && c.status == 200) {
      ASSERT_EQ(settled, 1u) << "leaving midway buys nothing";
    }
    if (c.writer_fails_at == 0) {
      ASSERT_NE(served.ending, Ending::caller_gone);
    }
    ASSERT_EQ(loop.calls(), 0u);
    ASSERT_EQ(service->upstream(0).in_flight.count(), 0u);
  }

  std::string sent;
  std::size_t written_when_settled = 0;
};

TEST_F(ServeFaultTest, KeepsItsPromisesUnderEveryCombinationOfFaults) {
  constexpr std::size_t buffer = base::limits::response_buffer_bytes_max;
  constexpr std::size_t withheld = base::limits::withheld_bytes;
  const std::size_t sizes[] = {0, 1, 1000, buffer, buffer + 1, buffer + withheld, 700'000};
  int cases = 0;
  for (const std::size_t bytes : sizes) {
    for (const bool is_announced : {true, false}) {
      for (const int status : {200, 404}) {
        for (const End end : {End::whole, End::transport_failure, End::plugin_fault,
                              End::short_of_length, End::late}) {
          for (const int failing : {0, 1, 2, 3, 5, 9}) {
            for (const int settlement : {0, 1, 2}) {
              for (const std::size_t chunk : {std::size_t{5'000}, std::size_t{100'000}}) {
                const FaultCase c{bytes, is_announced, status, end, failing, settlement, chunk};
                const Served served = run_case(c);
                check(c, served);
                ++cases;
                ASSERT_FALSE(HasFailure())
                    << bytes << " bytes, announced " << is_announced << ", status " << status
                    << ", end " << static_cast<int>(end) << ", writer fails at " << failing
                    << ", settlement " << settlement << ", chunk " << chunk << "\n"
                    << journal_text();
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(cases, 7 * 2 * 2 * 5 * 6 * 3 * 2);
}

// Exact outcomes of cases for which the combinations above check only bounds.

TEST_F(ServeFaultTest, SaysNothingDefiniteAboutAnUnknownSettlement) {
  const Served buffered = run_case({100, true, 200, End::whole, 0, 2, 5'000});
  EXPECT_EQ(journal_text(),
            "hold:acct_good:1 execute settle:success refuse:billing.settlement_unknown");
  EXPECT_EQ(buffered.error, ErrorCode::billing_settlement_unknown);
  EXPECT_EQ(writer->body, "");
  const Served streamed = run_case({300'000, true, 200, End::whole, 0, 2, 500'000});
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute begin write settle:success cut");
  EXPECT_EQ(streamed.error, ErrorCode::billing_settlement_unknown);
  EXPECT_EQ(streamed.ending, Ending::cut);
}

TEST_F(ServeFaultTest, TellsTheLedgersReasonWhenASettlementIsRefused) {
  const Served served = run_case({100, true, 200, End::whole, 0, 1, 5'000});
  EXPECT_EQ(served.error, ErrorCode::billing_lease_lost);
  EXPECT_EQ(writer->refusal->message, "Lost.");
}

TEST_F(ServeFaultTest, ReleasesAndCutsWhenTheUpstreamBreaksMidway) {
  const Served served = run_case({300'000, true, 200, End::transport_failure, 0, 0, 500'000});
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute begin write release:upstream_failure cut");
  EXPECT_EQ(served.ending, Ending::cut);
  EXPECT_EQ(writer->body.size(), 300'000 - base::limits::withheld_bytes);
}

TEST_F(ServeFaultTest, NamesNoChargeInTheHeadOfALongReplyThatIsOnlyPassedOn) {
  const Served served = run_case({700'000, true, 404, End::whole, 0, 0, 100'000});
  EXPECT_TRUE(writer->is_complete);
  EXPECT_EQ(count_of(journal, "begin"), 1u);
  EXPECT_EQ(writer->facts.credits_charged, 0u);
  EXPECT_EQ(served.credits_charged, 0u);
}

TEST_F(ServeFaultTest, DrainsAndChargesWhenTheCallerLeavesMidway) {
  const Served served = run_case({700'000, true, 200, End::whole, 2, 0, 100'000});
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute begin write settle:success");
  EXPECT_EQ(served.ending, Ending::caller_gone);
  EXPECT_EQ(served.credits_charged, 1u);
  EXPECT_EQ(served.reply_bytes, 700'000u);
}

constexpr std::int64_t whole_deadline_ns =
    std::int64_t{base::limits::upstream_deadline_ms} * 1'000'000;

TEST_F(ServeFaultTest, DoesNotCountTheCallersTimeAgainstTheUpstream) {
  while_writing = [&] { clock.ahead_ns += whole_deadline_ns; };
  std::int64_t left_ns = 0;
  provider.script = [&](ReplySink& sink, Call& call) -> Done {
    const Done done = reply_with(sink, 200, pattern(700'000));
    left_ns = call.deadline_ns() - clock.monotonic_ns();
    return done;
  };
  const Served served = run();
  EXPECT_EQ(served.ending, Ending::replied);
  EXPECT_EQ(served.credits_charged, 1u);
  EXPECT_GT(left_ns, whole_deadline_ns / 2);
  EXPECT_LT(served.upstream_us, whole_deadline_ns / 2 / 1000);
}

TEST_F(ServeFaultTest, HoldsTheUpstreamToItsOwnTimeAfterTheCallers) {
  while_writing = [&] { clock.ahead_ns += whole_deadline_ns; };
  const Served served = run_case({700'000, true, 200, End::late, 0, 0, 100'000});
  EXPECT_EQ(served.error, ErrorCode::gateway_upstream_timeout);
  EXPECT_EQ(served.ending, Ending::cut);
  EXPECT_EQ(count_of(journal, "release:upstream_timeout"), 1u);
}

TEST_F(ServeFaultTest, ChargesACallerWhoStallsPastTheDeadlineAndIsGivenUp) {
  while_writing = [&] { clock.ahead_ns += 2 * whole_deadline_ns; };
  const Served served = run_case({700'000, true, 200, End::whole, 2, 0, 100'000});
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute begin write settle:success");
  EXPECT_EQ(served.ending, Ending::caller_gone);
  EXPECT_EQ(served.credits_charged, 1u);
}

TEST_F(ServeFaultTest, DoesNotChargeACallerThatLeftBeforeTheReply) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{700'000}}) {
    journal.clear();
    caller.now = Standing::waiting;
    provider.script = [&](ReplySink& sink, Call& call) -> Done {
      EXPECT_FALSE(call.cancelled());
      caller.now = Standing::gone;
      EXPECT_TRUE(call.cancelled());
      return reply_with(sink, 200, pattern(bytes));
    };
    const Served served = run();
    EXPECT_EQ(journal_text(), "hold:acct_good:1 execute release:client_gone_before_reply");
    EXPECT_EQ(served.ending, Ending::caller_gone);
    EXPECT_EQ(served.credits_charged, 0u);
  }
}

TEST_F(ServeFaultTest, GivesACancelledCallsUnitsBack) {
  provider.script = [&](ReplySink&, Call&) -> Done {
    caller.now = Standing::gone;
    return Failure{FailureKind::cancelled, "", {}, true};
  };
  run();
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute release:client_gone_before_reply");
}

TEST_F(ServeFaultTest, GoesOnForACallerThatLeftAfterTheFirstByte) {
  provider.script = [&](ReplySink& sink, Call& call) -> Done {
    const HeaderField headers[] = {{"content-type", "application/json"}};
    EXPECT_TRUE(sink.head(200, headers, std::nullopt));
    EXPECT_TRUE(sink.body(pattern(300'000)));
    caller.now = Standing::gone;
    EXPECT_FALSE(call.cancelled()) << "the upstream must not be told to stop";
    EXPECT_TRUE(sink.body(pattern(300'000)));
    return Unit{};
  };
  run();
  EXPECT_EQ(count_of(journal, "settle:success"), 1u);
}

TEST_F(ServeFaultTest, ChargesWhenTheCallerLeavesWhileItIsSettled) {
  provider.script = [](ReplySink& sink, Call&) { return reply_with(sink, 200, "{}"); };
  ledger.while_settling = [&] { caller.now = Standing::gone; };
  fails_at = 1;
  const Served served = run();
  EXPECT_EQ(journal_text(), "hold:acct_good:1 execute settle:success reply");
  EXPECT_EQ(served.credits_charged, 1u);
  EXPECT_EQ(served.ending, Ending::caller_gone);
}

TEST_F(ServeFaultTest, DoesNotCancelASettlement) {
  bench.finish = [&](const ReplyView&) -> Finish { return Charged{}; };
  caller.now = Standing::stopping;
  run({"GET", "/v1/gateway/acme/items", "", {{"X-Bench-Lane", "1"}}});
  EXPECT_EQ(journal_text(), "hold: execute settle:success reply");
}

}  // namespace
}  // namespace turnpike::exchange
