#include "app/commands/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "hosts/row_lines.h"
#include "support/stores.h"

namespace turnpike::app {
namespace {

using nlohmann::json;

// Parses CSV as RFC 4180 defines it.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string field;
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_quoted && c == '"' && text[at + 1] == '"') {
      field += text[++at];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (c == ',' || c == '\r')) {
      rows.back().push_back(std::exchange(field, ""));
      if (c == '\r') rows.emplace_back(), ++at;
    } else {
      field += c;
    }
  }
  rows.pop_back();
  return rows;
}

class ExportTest : public testing::TestWithParam<storage::Engine> {
 protected:
  void SetUp() override {
    if (const std::string why = support::missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
    store_ = std::make_unique<support::TestStore>(GetParam());
    node_ = store_->open();
    for (int at = 0; at < 3; ++at) {
      accounts_.push_back(node_->accounts().create("Test")->id);
      ASSERT_TRUE(node_->accounts().activate(accounts_[at], {3'000, 86'400'000}).ok());
    }
    ASSERT_TRUE(node_->ledger().start().ok());
    stream_ = *node_->ledger().open_stream();
    leases_ = node_->ledger().open_leases();
    charge(accounts_[0], 1'203, "mine");  // more than one page
    store_->clock.move_ms(1'000);
    charge(accounts_[1], 2, "a \"b\", c\r\nd");
  }
  void TearDown() override {
    stream_.reset();
    leases_.reset();
  }

  void charge(const std::string& account, int calls, const std::string& client_id) {
    const ledger::LeaseRequest requests[] = {{.account_id = account,
                                              .calls = std::vector<ledger::Credits>(calls, 1),
                                              .hold_ms = 30'000,
                                              .settle_ms = 90'000}};
    const auto lease = (*leases_->acquire(requests))[0].grants.at(0);
    const std::vector<ledger::LeaseShare> shares{{lease.lease_id, lease.epoch, 1}};
    std::vector<std::string> ids;
    for (int at = 0; at < calls; ++at) ids.push_back(account + "-" + std::to_string(at));
    std::vector<ledger::UsageFact> facts(ids.size());
    std::vector<ledger::SettleEntry> entries;
    for (std::size_t at = 0; at < ids.size(); ++at) {
      ledger::UsageFact& fact = facts[at];
      fact.message_id = fact.request_id = ids[at];
      fact.client_request_id = client_id;
      fact.account_id = account;
      fact.occurred_at_ms = store_->clock.now_ms();
      fact.outcome_reason = "success";
      fact.method = "GET";
      entries.push_back({&fact, shares});
    }
    ASSERT_TRUE(stream_->settle(++number_, entries)->committed());
  }

  // Returns the written rows and stores their totals in totals_.
  std::string written(ExportRequest request) {
    std::ostringstream out;
    const auto done = write_export(*node_, request, out);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error());
    if (done.ok()) totals_ = json::parse(done->json)["totals"];
    return out.str();
  }
  static std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
    return lines;
  }
  ledger::Credits charged_by_the_books() {
    ledger::Credits charged = 0;
    for (const auto& account : node_->ledger().verify()->accounts) charged += account.charged;
    return charged;
  }

  std::unique_ptr<support::TestStore> store_;
  std::unique_ptr<storage::Node> node_;
  std::vector<std::string> accounts_;
  std::unique_ptr<ledger::SettlementStream> stream_;
  std::unique_ptr<ledger::LeaseStore> leases_;
  std::int64_t number_ = 0;
  json totals_;  // of the last export
};
INSTANTIATE_TEST_SUITE_P(Engines, ExportTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(ExportTest, EveryFactOfEveryAccountIsALineAndTheTotalsAreThoseOfVerify) {
  const std::vector<json> lines = lines_of(written({}));
  ASSERT_EQ(lines.size(), 1'205u);  // rows only
  std::set<std::string> messages;
  for (const json& line : lines) messages.insert(line["messageId"]);
  EXPECT_EQ(messages.size(), 1'205u);
  EXPECT_EQ(totals_, (json{{"requests", 1'205},
                           {"charged", 1'205},
                           {"released", 0},
                           {"replayed", 0},
                           {"creditsCharged", std::to_string(charged_by_the_books())},
                           {"creditsRestored", "0"}}));
}

TEST_P(ExportTest, WhatWasGivenBackIsInTheRowInTheTotalsAndAmongTheAllocations) {
  const std::string message = accounts_[1] + "-0";
  ASSERT_TRUE(node_->corrections()
                  .correct({accounts_[1], message, ledger::CorrectionKind::refund, 1, "Late.", "",
                            "k1", "opr_1"})
                  .ok());
  const ExportRequest usage{.account_id = accounts_[1], .to_ms = {}};
  const auto lines = lines_of(written(usage));
  ASSERT_EQ(lines.size(), 2u);
  for (const json& line : lines) {
    EXPECT_EQ(line["correction"].is_object(), line["messageId"] == message);
  }
  EXPECT_EQ(totals_["creditsCharged"], "2");
  EXPECT_EQ(totals_["creditsRestored"], "1");
  ExportRequest csv = usage;
  csv.format = ExportFormat::csv;
  const auto rows = read_csv(written(csv));
  const auto column =
      std::find(rows[0].begin(), rows[0].end(), "creditsRestored") - rows[0].begin();
  ASSERT_EQ(rows.size(), 3u);  // the header and two calls, without totals
  EXPECT_EQ((rows[1][column] == "1") + (rows[2][column] == "1"), 1);
  ExportRequest allocations = usage;
  allocations.collection = ExportCollection::allocations;
  (void)written(allocations);
  EXPECT_EQ(totals_["remaining"], std::to_string(3'000 - 2 + 1));
}

TEST_P(ExportTest, CsvSurvivesQuotesCommasAndLineEnds) {
  const auto rows = read_csv(
      written({.account_id = accounts_[1], .format = ExportFormat::csv, .to_ms = std::nullopt}));
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(rows[0][0], "billingAccountId");
  EXPECT_EQ(rows[0][3], "clientRequestId");
  EXPECT_EQ(rows[1][0], accounts_[1]);
  EXPECT_EQ(rows[1][3], "a \"b\", c\r\nd");
}

// A spreadsheet must not execute text that callers chose, and our numbers must stay numbers.
TEST(LineOf, HasNoFormulas) {
  constexpr const char* columns[] = {"clientRequestId", "creditsCharged", "upstreamMs"};
  const auto line = [&](hosts::LineForm form) {
    return hosts::line_of(
        form, columns, {{"clientRequestId", "=1+1"}, {"creditsCharged", "3"}, {"upstreamMs", -1}});
  };
  EXPECT_EQ(line(hosts::LineForm::csv), "'=1+1,3,-1\r\n");
  EXPECT_NE(line(hosts::LineForm::ndjson).find("\"=1+1\""), std::string::npos);
}

TEST_P(ExportTest, TimesCutWhatIsWritten) {
  const std::int64_t second = store_->clock.now_ms();
  const auto total = [&](ExportRequest request) {
    const std::size_t rows = lines_of(written(std::move(request))).size();
    EXPECT_EQ(totals_["requests"], rows);
    return rows;
  };
  EXPECT_EQ(total({.account_id = {}, .from_ms = second, .to_ms = {}}), 2u);
  EXPECT_EQ(total({.account_id = {}, .from_ms = 0, .to_ms = second}), 1'203u);
  EXPECT_EQ(total({.account_id = {}, .from_ms = second + 1, .to_ms = {}}), 0u);
}

TEST_P(ExportTest, AllocationsSumToGrantedAndBalance) {
  const auto lines = lines_of(
      written({.account_id = {}, .collection = ExportCollection::allocations, .to_ms = {}}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["origin"], "starter_grant");
  EXPECT_EQ(totals_, (json{{"allocations", 3},
                           {"credits", "9000"},
                           {"remaining", std::to_string(9'000 - 1'205)}}));
  const auto rows = read_csv(written({.account_id = accounts_[0],
                                      .collection = ExportCollection::allocations,
                                      .format = ExportFormat::csv,
                                      .to_ms = {}}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][4], std::to_string(3'000 - 1'203));
}

TEST_P(ExportTest, AnUnknownAccountIsAnErrorNotAnEmptyExport) {
  std::ostringstream out;
  EXPECT_FALSE(write_export(*node_, {.account_id = "acc_none", .to_ms = {}}, out).ok());
  EXPECT_EQ(out.str(), "");
}

TEST_P(ExportTest, OutputThatCannotBeWrittenIsSaid) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_FALSE(write_export(*node_, {}, out).ok());
}

}  // namespace
}  // namespace turnpike::app
