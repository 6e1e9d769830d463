#include "hosts/dashboard/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hosts/dashboard/navigation.h"
#include "text/time_text.h"

namespace turnpike::hosts::dashboard {
namespace {

ledger::UsageRow call_that_ended(std::string reason, std::int64_t status) {
  ledger::UsageRow call;
  call.outcome_reason = std::move(reason);
  call.upstream_status = status;
  call.credit_cost = 2;
  call.credits_charged = call.outcome_reason == "success" ? 2 : 0;
  return call;
}

TEST(Words, FiguresHaveCommas) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(999), "999");
  EXPECT_EQ(figure(1'000), "1,000");
  EXPECT_EQ(figure(-1'234'567), "-1,234,567");
  EXPECT_EQ(figure(-100), "-100");
}

TEST(Words, PercentagesAreNeverRoundedUp) {
  EXPECT_EQ(percent(0, 0), "-");
  EXPECT_EQ(percent(0, 3), "0 %");
  EXPECT_EQ(percent(1, 1), "100 %");
  EXPECT_EQ(percent(9'999, 10'000), "99.9 %");
  EXPECT_EQ(percent(1, 2), "50 %");
}

TEST(Words, TimesAreInUtcAndComeBackAsTheyWere) {
  const std::int64_t at_ms = *text::parse_rfc3339("2026-11-24T14:03:00Z");
  EXPECT_EQ(when(at_ms), "2026-11-24 14:03:00 UTC");
  for (const std::int64_t more_ms : {0, 5'000, 5'123}) {
    const std::string text = query_time(at_ms + more_ms);
    EXPECT_EQ(text::parse_rfc3339(full_time(text)), at_ms + more_ms) << text;
  }
  EXPECT_EQ(query_time(at_ms), "2026-11-24T14:03");
  EXPECT_EQ(full_time("2026-11-24"), "2026-11-24T00:00:00Z");
  for (const char* const other : {"", "yesterday", "2026-11-24T14:03:00Z", "2026-11-24T14:03:00+01",
                                  "<script>alert(1)</script>"}) {
    EXPECT_EQ(full_time(other), other);
  }
}

TEST(Words, SpansThatComeAgainAreExact) {
  EXPECT_EQ(each_span(1), "Each second");
  EXPECT_EQ(each_span(60), "Each minute");
  EXPECT_EQ(each_span(90), "Each 90 seconds");
  EXPECT_EQ(each_span(900), "Each 15 minutes");
  EXPECT_EQ(each_span(86'400), "Each day");
  EXPECT_EQ(each_span(7 * 86'400), "Each 7 days");
}

TEST(Words, OriginsAreNoNamesOfTheDatabase) {
  using ledger::Origin;
  for (const Origin origin : {Origin::starter_grant, Origin::purchase, Origin::auto_top_up,
                              Origin::operator_grant, Origin::correction}) {
    EXPECT_EQ(origin_text(origin).find('_'), std::string_view::npos);
    EXPECT_FALSE(origin_text(origin).empty());
  }
  EXPECT_EQ(origin_text(Origin::starter_grant), "starter grant");
}

TEST(Words, LengthsAreInTheLargestUnit) {
  EXPECT_EQ(length_of(60'000), "1 minute");
  EXPECT_EQ(length_of(86'400'000), "1 day");
  EXPECT_EQ(length_of(7'199'999), "1 hour");
  EXPECT_EQ(length_of(2'000), "2 seconds");
  EXPECT_EQ(length_of(999), "less than a second");
}

TEST(Words, LinksEncodeTheirValuesAndLeaveOutWhatIsEmpty) {
  EXPECT_EQ(Href("/x").text(), "/x");
  EXPECT_EQ(Href("/x").add("a", "").add("b", "1&c=<2>").add("d", "e f").text(),
            "/x?b=1%26c%3D%3C2%3E&d=e%20f");
}

// Every reason with which a call may end has its own sentence.
TEST(WhyCharged, IsASentenceForEveryReason) {
  EXPECT_EQ(why_charged(call_that_ended("success", 200)),
            "Charged 2 Credits: the provider answered 200, which this operation declares a "
            "success.");
  std::vector<std::string> sentences;
  for (const char* const reason :
       {"upstream_status", "upstream_timeout", "upstream_failure", "response_too_large",
        "declared_no_charge", "client_gone_before_reply", "gateway_stopped", "settlement_failed",
        "replayed"}) {
    const std::string sentence = why_charged(call_that_ended(reason, 404));
    EXPECT_TRUE(sentence.starts_with("Not charged: ")) << sentence;
    EXPECT_TRUE(sentence.ends_with(".")) << sentence;
    EXPECT_EQ(sentence.find("it ended as"), sentence.npos) << sentence;
    EXPECT_EQ(std::find(sentences.begin(), sentences.end(), sentence), sentences.end());
    sentences.push_back(sentence);
  }
  EXPECT_EQ(why_charged(call_that_ended("something_new", 0)),
            "Not charged: it ended as something_new.");
}

TEST(WhyCharged, TellsWhatWasGivenBack) {
  ledger::UsageRow call = call_that_ended("success", 200);
  call.restored = {"cor_1", ledger::CorrectionKind::refund, 1,
                   *text::parse_rfc3339("2026-11-24T14:03:00Z")};
  EXPECT_TRUE(why_charged(call).ends_with(
      " Given back: 1 Credit on 2026-11-24 14:03:00 UTC (refund)."));
}

TEST(WhyCharged, OfAPriceOfNothingSaysSo) {
  ledger::UsageRow call = call_that_ended("success", 200);
  call.credits_charged = 0;
  EXPECT_TRUE(why_charged(call).starts_with("It cost nothing: "));
}

TEST(Gates, EndWithTheChargeWhateverBecameOfTheCall) {
  for (const char* const reason : {"success", "upstream_status", "upstream_timeout", "replayed",
                                   "declared_no_charge", "settlement_failed"}) {
    const auto gates = gates_of(call_that_ended(reason, 200));
    ASSERT_EQ(gates.size(), 6u);
    EXPECT_EQ(gates.back().name, "Charge");
    EXPECT_EQ(gates.back().state == "ok", std::string_view(reason) == "success") << reason;
  }
  EXPECT_EQ(gates_of(call_that_ended("upstream_timeout", 0))[3].state, "bad");
}

TEST(Navigation, HasEveryPageInItsOrderAndMarksOne) {
  const auto links = side_of("acc_1", "/calls");
  ASSERT_EQ(links.size(), 13u);
  EXPECT_EQ(links[0].path, "/dashboard/acc_1");
  EXPECT_EQ(links[1].path, "/dashboard/acc_1/calls");
  EXPECT_EQ(links[12].label, "Status for me");
  for (const auto& link : links) EXPECT_EQ(link.is_here, link.label == "Calls");
  EXPECT_TRUE(side_of("acc_1", "")[0].is_here);
}

}  // namespace
}  // namespace turnpike::hosts::dashboard
