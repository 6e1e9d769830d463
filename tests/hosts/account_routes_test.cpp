// Bodies and queries of the account routes, against scripted books.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "hosts/account_query.h"
#include "hosts/host_fixture.h"

namespace turnpike::tests {
namespace {

using nlohmann::json;

class AccountRoutesTest : public HostFixture {
 protected:
  HttpReply read(const std::string& route) {
    return get("/v1/billing-accounts/acc_good" + route, {"Authorization: Bearer good"});
  }
  // Expects a 400 that names the field and how to correct it.
  void expect_rejected(const std::string& route, const std::string& location) {
    const HttpReply reply = read(route);
    EXPECT_EQ(reply.status, 400) << route;
    EXPECT_EQ(code_of(reply), "request.query_rejected") << route;
    EXPECT_EQ(reply.header("cache-control"), "private, no-store") << route;
    const json fields = json::parse(reply.body)["error"]["fields"];
    ASSERT_EQ(fields.size(), 1u) << route;
    EXPECT_EQ(fields[0]["location"], location) << route;
    EXPECT_FALSE(fields[0]["problem"].get<std::string>().empty()) << route;
    EXPECT_FALSE(fields[0]["fix"].get<std::string>().empty()) << route;
  }
};

ledger::UsageRow charged_row() {
  ledger::UsageRow row;
  row.message_id = "019aa3a0-0000-7000-8000-000000000001";
  row.request_id = "019aa3a0-0000-7000-8000-000000000002";
  row.client_request_id = "mine-7";
  row.account_id = "acc_good";
  row.api_key_id = "key_1";
  row.occurred_at_ms = 1'795'242'540'123;
  row.route_id = "route-00000000000000000000000000000001";
  row.route_revision = 3;
  row.method = "GET";
  row.lane = "credits";
  row.credit_cost = row.credits_charged = 1;
  row.price_version = 4;
  row.generation = "gen_1";
  row.outcome_reason = "success";
  row.upstream_status = 200;
  row.upstream_ms = 41;
  return row;
}

TEST_F(AccountRoutesTest, UsagePageHasTheDocumentedBody) {
  statements_.usage_page.items = {charged_row()};
  statements_.usage_page.generated_at_ms = 1'795'242'600'000;
  const HttpReply reply = read("/billing?collection=usage");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("cache-control"), "private, no-store");
  EXPECT_EQ(reply.body,
            R"({"billingAccountId":"acc_good","collection":"usage","items":[{)"
            R"("messageId":"019aa3a0-0000-7000-8000-000000000001",)"
            R"("requestId":"019aa3a0-0000-7000-8000-000000000002","clientRequestId":"mine-7",)"
            R"("occurredAt":"2026-11-21T06:29:00.123Z",)"
            R"("routeId":"route-00000000000000000000000000000001","routeRevision":3,)"
            R"("method":"GET","lane":"credits","creditCost":"1","creditsCharged":"1",)"
            R"("priceVersion":4,"generation":"gen_1","outcome":"charged",)"
            R"("outcomeReason":"success","upstreamStatus":200,"upstreamMs":41,)"
            R"("apiKeyId":"key_1","correction":null}],"nextCursor":null,)"
            R"("generatedAt":"2026-11-21T06:30:00.000Z"})");
}

TEST_F(AccountRoutesTest, WhatACallHasNotIsNull) {
  ledger::UsageRow row = charged_row();
  row.client_request_id.clear();
  row.api_key_id.clear();
  row.upstream_status = 0;
  row.credits_charged = 0;
  row.outcome_reason = "upstream_timeout";
  row.restored = {"cor_1", ledger::CorrectionKind::refund, 1, 1'795'242'600'000};
  statements_.usage_page.items = {row};
  const json item = json::parse(read("/billing?collection=usage").body)["items"][0];
  EXPECT_TRUE(item["clientRequestId"].is_null());
  EXPECT_TRUE(item["apiKeyId"].is_null());
  EXPECT_TRUE(item["upstreamStatus"].is_null());
  EXPECT_EQ(item["outcome"], "released");
  EXPECT_EQ(item["creditsCharged"], "0");
  EXPECT_EQ(item["correction"], (json{{"correctionId", "cor_1"},
                                      {"kind", "refund"},
                                      {"creditsRestored", "1"},
                                      {"recordedAt", "2026-11-21T06:30:00.000Z"}}));
}

TEST_F(AccountRoutesTest, AllocationPageHasTheDocumentedBody) {
  ledger::Allocation allocation;
  allocation.id = "alc_1";
  allocation.origin = ledger::Origin::starter_grant;
  allocation.units = 1000;
  allocation.remaining = 9;
  allocation.effective_at_ms = 1'795'242'540'000;
  allocation.expires_at_ms = 1'826'778'540'000;
  statements_.allocation_page.items = {allocation};
  statements_.allocation_page.generated_at_ms = 1'795'242'600'000;
  const HttpReply reply = read("/billing?collection=allocations");
  EXPECT_EQ(reply.body,
            R"({"billingAccountId":"acc_good","collection":"allocations","items":[{"id":"alc_1",)"
            R"("origin":"starter_grant","credits":"1000","remaining":"9",)"
            R"("effectiveAt":"2026-11-21T06:29:00.000Z","expiresAt":"2027-11-21T06:29:00.000Z",)"
            R"("status":"active"}],"nextCursor":null,"generatedAt":"2026-11-21T06:30:00.000Z"})");
}

TEST_F(AccountRoutesTest, InvoicesAreEmptyUntilThereArePurchases) {
  const json body = json::parse(read("/billing?collection=invoices&limit=1").body);
  EXPECT_EQ(body["collection"], "invoices");
  EXPECT_EQ(body["items"], json::array());
  EXPECT_TRUE(body["nextCursor"].is_null());
  expect_rejected("/billing?collection=invoices&limit=0", "query.limit");
}

TEST_F(AccountRoutesTest, TheCursorLeadsOnFromTheLastItem) {
  statements_.usage_page.next = ledger::Place{77, "m77"};
  const json first = json::parse(read("/billing?collection=usage&limit=2").body);
  EXPECT_EQ(statements_.page_query.limit, 2u);
  EXPECT_FALSE(statements_.page_query.after.has_value());
  const std::string cursor = first["nextCursor"];
  ASSERT_EQ(read("/billing?collection=usage&after=" + cursor).status, 200);
  EXPECT_EQ(statements_.page_query.account_id, "acc_good");
  EXPECT_EQ(statements_.page_query.limit, base::limits::billing_page_default);
  ASSERT_TRUE(statements_.page_query.after.has_value());
  EXPECT_EQ(statements_.page_query.after->number, 77);
  EXPECT_EQ(statements_.page_query.after->id, "m77");
}

TEST_F(AccountRoutesTest, ACursorServesItsAccountAndCollectionAlone) {
  using hosts::Collection;
  const std::string key(32, 'k');
  const auto cursor_of = [&](const std::string& account, Collection collection,
                             const std::string& with) {
    return hosts::make_billing_cursor(account, collection, {5, "m5"}, with);
  };
  const std::string good = cursor_of("acc_good", Collection::usage, key);
  EXPECT_EQ(read("/billing?collection=usage&after=" + good).status, 200);
  std::string altered = good;
  altered[4] = altered[4] == 'A' ? 'B' : 'A';
  for (const std::string& bad : {cursor_of("acc_other", Collection::usage, key),
                                 cursor_of("acc_good", Collection::allocations, key),
                                 cursor_of("acc_good", Collection::usage, std::string(32, 'x')),
                                 altered, good.substr(0, good.size() - 1), std::string(),
                                 std::string("x"), std::string(2'000, 'a')}) {
    expect_rejected("/billing?collection=usage&after=" + bad, "query.after");
  }
}

TEST_F(AccountRoutesTest, BillingQueriesAreJudged) {
  const std::string page = "/billing?collection=usage";
  expect_rejected("/billing", "query.collection");
  expect_rejected("/billing?limit=5", "query.collection");
  expect_rejected("/billing?collection=", "query.collection");
  expect_rejected("/billing?collection=Usage", "query.collection");
  expect_rejected("/billing?collection=usage&collection=usage", "query.collection");
  expect_rejected(page + "&cursor=x", "query.cursor");
  for (const char* limit : {"", "0", "101", "-1", "+1", "01", "1.0", "1%20", "x", "4294967297"}) {
    expect_rejected(page + "&limit=" + limit, "query.limit");
  }
  EXPECT_EQ(read(page + "&limit=1").status, 200);
  EXPECT_EQ(read(page + "&limit=100").status, 200);
  EXPECT_EQ(statements_.page_query.limit, base::limits::billing_page_max);
}

TEST_F(AccountRoutesTest, SummaryHasTheDocumentedBody) {
  statements_.sums.totals = {3, 2, 1, 2};
  statements_.sums.series = {{1'795'219'200'000, {3, 2, 1, 2}}};
  statements_.sums.by_operation = {{"route-1", "GET", {3, 2, 1, 2}}};
  statements_.sums.by_key = {{"key_1", {3, 2, 1, 2}}};
  const HttpReply reply = read("/usage?from=2026-11-21T00:00:00Z&to=2026-11-21T12:00:00.500Z");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("cache-control"), "private, no-store");
  const std::string sums = R"("requests":3,"charged":2,"released":1,"creditsCharged":"2"})";
  EXPECT_EQ(reply.body, R"({"from":"2026-11-21T00:00:00.000Z","to":"2026-11-21T12:00:00.500Z",)"
                        R"("granularity":"day","totals":{)" +
                            sums + R"(,"series":[{"start":"2026-11-21T00:00:00.000Z",)" + sums +
                            R"(],"byOperation":[{"routeId":"route-1","method":"GET",)" + sums +
                            R"(],"byKey":[{"apiKeyId":"key_1",)" + sums + "]}");
}

TEST_F(AccountRoutesTest, SummaryIsOfTheLastThirtyDaysUnlessAsked) {
  constexpr std::int64_t day_ms = 86'400'000;
  const std::int64_t before_ms = clock_.now_ms();
  ASSERT_EQ(read("/usage").status, 200);
  const ledger::SummaryQuery& query = statements_.summary_query;
  EXPECT_EQ(query.to_ms % day_ms, 0);
  EXPECT_GT(query.to_ms, before_ms);
  EXPECT_LE(query.to_ms, clock_.now_ms() + day_ms);
  EXPECT_EQ(query.to_ms - query.from_ms, 30 * day_ms);
  EXPECT_EQ(query.granularity, ledger::Granularity::day);
  EXPECT_EQ(query.filter.account_id, "acc_good");
  EXPECT_EQ(query.filter.route_id, "");
  ASSERT_EQ(read("/usage?granularity=month&route_id=route-1&api_key_id=key%5F1").status, 200);
  EXPECT_EQ(query.granularity, ledger::Granularity::month);
  EXPECT_EQ(query.filter.route_id, "route-1");
  EXPECT_EQ(query.filter.api_key_id, "key_1");
}

TEST_F(AccountRoutesTest, SummaryQueriesAreJudged) {
  expect_rejected("/usage?range=7d", "query.range");
  expect_rejected("/usage?granularity=week", "query.granularity");
  expect_rejected("/usage?granularity=", "query.granularity");
  for (const char* time : {"", "2026-11-21", "2026-11-21T00:00:00%2B01:00", "1795242540",
                           "2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z"}) {
    expect_rejected(std::string("/usage?from=") + time, "query.from");
    expect_rejected(std::string("/usage?to=") + time, "query.to");
  }
  expect_rejected("/usage?from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z", "query.from");
  expect_rejected("/usage?from=2026-01-03T00:00:00Z&to=2026-01-02T00:00:00Z", "query.from");
  expect_rejected("/usage?route_id=", "query.route_id");
  expect_rejected("/usage?api_key_id=" + std::string(129, 'k'), "query.api_key_id");
  expect_rejected("/usage?route_id=route-1%00", "query.route_id");
  EXPECT_EQ(read("/usage?api_key_id=" + std::string(128, 'k')).status, 200);
}

TEST_F(AccountRoutesTest, BucketsAreBounded) {
  // 1,000 hours are 41 days and 16 hours.
  EXPECT_EQ(
      read("/usage?granularity=hour&from=2026-01-01T00:00:00Z&to=2026-02-11T16:00:00Z").status,
      200);
  expect_rejected("/usage?granularity=hour&from=2026-01-01T00:00:00Z&to=2026-02-11T16:00:00.001Z",
                  "query.granularity");
  EXPECT_EQ(read("/usage?granularity=month&from=1970-01-01T00:00:00Z").status, 200);
}

}  // namespace
}  // namespace turnpike::tests
