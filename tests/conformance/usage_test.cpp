// Conformance of UsageStore: the order of usage, pages and sums, on every engine.
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "conformance/engines.h"
#include "ledger/statements/statements.h"
#include "ledger/statements/usage_summary.h"
#include "storage/engine/connection.h"
#include "storage/engine/database.h"

namespace turnpike::ledger {
namespace {

constexpr std::int64_t hour_ms = 3'600'000;

// A gateway's committer with its own stream. It charges one Credit per message.
class Writer {
 public:
  Writer(storage::Node& node, std::string account) : account_(std::move(account)) {
    if (!node.ledger().start().ok()) throw std::runtime_error("no ledger");
    stream_ = *node.ledger().open_stream();
    leases_ = node.ledger().open_leases();
  }

  // Commits one batch of charged facts that occurred at that time.
  void charge(const std::vector<std::string>& messages, std::int64_t at_ms,
              const std::string& route = "route-1", const std::string& key = "key_1") {
    const LeaseRequest requests[] = {{.account_id = account_,
                                      .calls = std::vector<Credits>(messages.size(), 1),
                                      .hold_ms = 30'000,
                                      .settle_ms = 90'000}};
    const auto answers = leases_->acquire(requests);
    ASSERT_TRUE(answers.ok()) << answers.error().text;
    const LeaseGrant& grant = answers->front().grants.at(0);
    write(messages, at_ms, route, key, {{grant.lease_id, grant.epoch, 1}});
  }
  void release(const std::string& message, std::int64_t at_ms,
               const std::string& route = "route-1", const std::string& key = "key_1") {
    write({message}, at_ms, route, key, {});
  }
  // Sets the client request id of all later calls.
  void name_calls(std::string name) { client_request_id_ = std::move(name); }

 private:
  void write(const std::vector<std::string>& messages, std::int64_t at_ms, const std::string& route,
             const std::string& key, std::vector<LeaseShare> shares) {
    std::vector<UsageFact> facts;
    for (const std::string& message : messages) {
      UsageFact fact;
      fact.message_id = fact.request_id = message;
      fact.client_request_id = client_request_id_;
      fact.account_id = account_;
      fact.api_key_id = key;
      fact.occurred_at_ms = at_ms;
      fact.route_id = route;
      fact.route_revision = 3;
      fact.method = "GET";
      fact.lane = "credits";
      fact.credit_cost = 1;
      fact.price_version = 4;
      fact.generation = "gen_1";
      fact.outcome_reason = shares.empty() ? "upstream_timeout" : "success";
      fact.upstream_status = shares.empty() ? 0 : 200;
      fact.upstream_ms = 12;
      facts.push_back(fact);
    }
    std::vector<SettleEntry> entries;
    for (const UsageFact& fact : facts) entries.push_back({&fact, shares});
    const auto settled = stream_->settle(++number_, entries);
    ASSERT_TRUE(settled.ok()) << settled.error().text;
    ASSERT_TRUE(settled->committed());
  }

  const std::string account_;
  std::string client_request_id_ = "mine";
  std::unique_ptr<SettlementStream> stream_;
  std::unique_ptr<LeaseStore> leases_;
  std::int64_t number_ = 0;
};

class UsagePort : public OnEveryEngine {
 protected:
  static void catch_up(UsageStore& usage) {
    const auto done = catch_up_whole(usage, runtime::Deadline::after_ms(60'000));
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  static Page<UsageRow> page(UsageStore& usage, const PageQuery& query) {
    auto read = usage.usage(query);
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    if (!read.ok() || !read->has_value()) return {};
    return **std::move(read);
  }
  // Reads message ids page by page, newest first, until the first that is in `known`.
  static std::vector<std::string> walk(UsageStore& usage, const std::string& account,
                                       std::uint32_t limit,
                                       const std::set<std::string>& known = {}) {
    std::vector<std::string> messages;
    PageQuery query{account, std::nullopt, limit};
    while (true) {
      const Page<UsageRow> read = page(usage, query);
      for (const UsageRow& row : read.items) {
        if (known.contains(row.message_id)) return messages;
        messages.push_back(row.message_id);
      }
      if (!read.next) return messages;
      query.after = read.next;
    }
  }
  static std::vector<std::string> names(const std::string& prefix, int count) {
    std::vector<std::string> all;
    for (int at = 0; at < count; ++at) all.push_back(prefix + std::to_string(at));
    return all;
  }
  UsageSummary sum(UsageFilter filter, std::int64_t from_ms, std::int64_t to_ms,
                   Granularity granularity = Granularity::hour) {
    catch_up(node_->usage());
    const auto summary = summarize(node_->usage(), {std::move(filter), from_ms, to_ms, granularity},
                                   runtime::Deadline::after_ms(60'000));
    EXPECT_TRUE(summary.ok());
    return summary.ok() ? *summary : UsageSummary{};
  }
  Credits charged_by_the_books(const std::string& account) {
    const auto verified = node_->ledger().verify();
    EXPECT_TRUE(verified.ok());
    for (const AccountSums& each : verified->accounts) {
      if (each.account_id == account) return each.charged;
    }
    return 0;
  }
  // A separate session, to damage the books.
  std::unique_ptr<storage::Connection> outside() {
    outside_ = std::make_unique<storage::Database>(store_->settings());
    return outside_->connect();
  }

  std::int64_t now_ms() const { return store_->clock.now_ms(); }

 private:
  std::unique_ptr<storage::Database> outside_;
};
TURNPIKE_ON_EVERY_ENGINE(UsagePort);

TEST_P(UsagePort, ARowCarriesEverythingTheFactSays) {
  const std::string account = account_with(10);
  Writer(*node_, account).charge({"m1"}, now_ms());
  catch_up(node_->usage());
  const Page<UsageRow> read = page(node_->usage(), {account, std::nullopt, 50});
  ASSERT_EQ(read.items.size(), 1u);
  EXPECT_FALSE(read.next.has_value());
  EXPECT_EQ(read.generated_at_ms, now_ms());
  const UsageRow& row = read.items[0];
  EXPECT_EQ(row.message_id, "m1");
  EXPECT_EQ(row.request_id, "m1");
  EXPECT_EQ(row.client_request_id, "mine");
  EXPECT_EQ(row.account_id, account);
  EXPECT_EQ(row.api_key_id, "key_1");
  EXPECT_EQ(row.occurred_at_ms, now_ms());
  EXPECT_EQ(row.route_id, "route-1");
  EXPECT_EQ(row.route_revision, 3);
  EXPECT_EQ(row.method, "GET");
  EXPECT_EQ(row.lane, "credits");
  EXPECT_EQ(row.credit_cost, 1);
  EXPECT_EQ(row.credits_charged, 1);
  EXPECT_EQ(row.price_version, 4);
  EXPECT_EQ(row.generation, "gen_1");
  EXPECT_EQ(row.outcome_reason, "success");
  EXPECT_EQ(row.upstream_status, 200);
  EXPECT_EQ(row.upstream_ms, 12);
  EXPECT_FALSE(row.restored.has_value());
}

TEST_P(UsagePort, ARowTellsWhatWasGivenBackForIt) {
  const std::string account = account_with(10);
  Writer(*node_, account).charge({"m1", "m2"}, now_ms());
  CorrectionRequest request{account, "m1",   CorrectionKind::voiding, 1, "Wrong data.", "",
                            "k1",    "opr_1"};
  const auto made = node_->corrections().correct(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  catch_up(node_->usage());
  for (const UsageRow& row : page(node_->usage(), {account, std::nullopt, 50}).items) {
    ASSERT_EQ(row.restored.has_value(), row.message_id == "m1");
    if (!row.restored) continue;
    EXPECT_EQ(row.restored->correction_id, made->id);
    EXPECT_EQ(row.restored->kind, CorrectionKind::voiding);
    EXPECT_EQ(row.restored->units, 1);
    EXPECT_EQ(row.restored->recorded_at_ms, now_ms());
  }
}

TEST_P(UsagePort, PagesAreNewestFirstAndMeetWithoutGapOrOverlap) {
  const std::string account = account_with(100);
  const std::string other = account_with(100);
  Writer writer(*node_, account);
  const auto node = store_->open(storage::Role::gateway, "other");
  Writer others(*node, other);
  std::vector<std::string> expected;
  for (int at = 0; at < 23; ++at) {
    const std::string message = "m" + std::to_string(at);
    writer.charge({message}, now_ms());
    others.charge({"o" + std::to_string(at)}, now_ms());
    store_->clock.move_ms(1);
    expected.insert(expected.begin(), message);
  }
  catch_up(node_->usage());
  for (const std::uint32_t limit : {1u, 2u, 7u, 22u, 23u, 24u, 100u}) {
    EXPECT_EQ(walk(node_->usage(), account, limit), expected) << limit;
  }
  EXPECT_TRUE(walk(node_->usage(), "acc_none", 10).empty());
}

TEST_P(UsagePort, AWalkIsNotDisturbedByWhatIsCommittedMeanwhile) {
  const std::string account = account_with(100);
  Writer writer(*node_, account);
  writer.charge({"a", "b", "c", "d"}, now_ms());
  catch_up(node_->usage());
  const Page<UsageRow> first = page(node_->usage(), {account, std::nullopt, 2});
  ASSERT_TRUE(first.next.has_value());
  // Later commits; one fact has an occurrence time long ago.
  writer.charge({"e"}, now_ms());
  writer.charge({"f"}, now_ms() - 48 * hour_ms);
  catch_up(node_->usage());
  const Page<UsageRow> second = page(node_->usage(), {account, first.next, 2});
  ASSERT_EQ(second.items.size(), 2u);
  EXPECT_FALSE(second.next.has_value());
  std::set<std::string> seen;
  for (const auto* read : {&first, &second}) {
    for (const UsageRow& row : read->items) seen.insert(row.message_id);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b", "c", "d"}));
}

// Nodes commit (three where they share a database) while a caller keeps reading what is new, from
// the newest row down to the rows that it knows. In the end it has every message exactly once,
// whichever stream committed late.
TEST_P(UsagePort, AReaderOfWhatIsNewNeverMissesARowThatCommitsLate) {
  constexpr int batches = 60;
  const bool shares_database = GetParam() == storage::Engine::postgres;
  const int writers = shares_database ? 3 : 1;  // a SQLite file has one gateway
  const std::string account = account_with(10'000);
  std::vector<std::unique_ptr<storage::Node>> nodes;
  std::vector<std::thread> threads;
  std::atomic<int> writing = writers;
  for (int at = 0; at < writers; ++at) {
    nodes.push_back(store_->open(storage::Role::gateway, "writer" + std::to_string(at)));
    threads.emplace_back([&, at] {
      Writer writer(*nodes[at], account);
      for (int batch = 0; batch < batches; ++batch) {
        const std::string name = std::to_string(at) + "-" + std::to_string(batch);
        writer.charge({name + "a", name + "b", name + "c"}, now_ms() + (at - 1) * hour_ms);
      }
      --writing;
    });
  }
  std::set<std::string> known;
  const auto read_news = [&] {
    UsageStore& usage = known.size() % 2 == 0 ? node_->usage() : nodes[0]->usage();
    catch_up(usage);
    for (const std::string& message : walk(usage, account, 5, known)) {
      EXPECT_TRUE(known.insert(message).second) << message << " came twice";
    }
  };
  while (writing > 0) read_news();
  for (std::thread& thread : threads) thread.join();
  read_news();
  EXPECT_EQ(known.size(), static_cast<std::size_t>(writers) * batches * 3);
  EXPECT_EQ(walk(node_->usage(), account, 100).size(), known.size());
  const UsageSummary summary = sum({account}, 0, now_ms() + 48 * hour_ms, Granularity::month);
  EXPECT_EQ(summary.totals.credits, charged_by_the_books(account));
  EXPECT_EQ(summary.totals.requests, static_cast<std::int64_t>(known.size()));
}

TEST_P(UsagePort, NodesThatIndexAtOnceGiveEachFactOnePosition) {
  const std::string account = account_with(10'000);
  Writer writer(*node_, account);
  for (int batch = 0; batch < 40; ++batch) {
    std::vector<std::string> messages;
    for (int at = 0; at < 50; ++at) {
      messages.push_back("m" + std::to_string(batch) + "-" + std::to_string(at));
    }
    writer.charge(messages, now_ms());
  }
  const auto other = store_->open(storage::Role::tool, "other");
  std::thread left([&] { catch_up(node_->usage()); });
  std::thread right([&] { catch_up(other->usage()); });
  left.join();
  right.join();
  const std::vector<std::string> messages = walk(node_->usage(), account, 100);
  EXPECT_EQ(messages.size(), 2'000u);
  EXPECT_EQ(std::set<std::string>(messages.begin(), messages.end()).size(), 2'000u);
  EXPECT_EQ(sum({account}, 0, now_ms() + hour_ms, Granularity::month).totals.credits, 2'000);
}

TEST_P(UsagePort, CatchUpIsBoundedAndSaysWhenThereIsMore) {
  const std::string account = account_with(100'000);
  Writer writer(*node_, account);
  for (int batch = 0; batch < 33; ++batch) {
    EXPECT_FALSE(*node_->usage().catch_up(Step::full)) << batch;
    EXPECT_TRUE(walk(node_->usage(), account, 1).empty()) << "no step was full";
    writer.charge(names(std::to_string(batch) + "-", 1'000), now_ms());
  }
  EXPECT_FALSE(*node_->usage().catch_up(Step::full)) << "what is left is no full one";
  EXPECT_EQ(walk(node_->usage(), account, 10'000).size(), 32'768u);
  EXPECT_FALSE(*node_->usage().catch_up());
  EXPECT_EQ(walk(node_->usage(), account, 10'000).size(), 33'000u);
  ASSERT_TRUE(node_->usage().forget_index().ok());
  EXPECT_TRUE(*node_->usage().catch_up());
  EXPECT_FALSE(*node_->usage().catch_up());
  EXPECT_EQ(walk(node_->usage(), account, 10'000).size(), 33'000u);
}

// The calls that one step indexes are stored in runs of bounded length. Pages may begin and end
// inside them.
TEST_P(UsagePort, PagesBeginAndEndInsideRuns) {
  const std::string account = account_with(10'000);
  Writer writer(*node_, account);
  std::vector<std::string> expected;
  const auto charge = [&](const std::string& prefix, int count) {
    const std::vector<std::string> messages = names(prefix, count);
    writer.charge(messages, now_ms());
    expected.insert(expected.begin(), messages.rbegin(), messages.rend());
  };
  charge("old-", 3);
  catch_up(node_->usage());
  charge("many-", 700);  // several runs on either engine, the last one short
  charge("and-", 600);
  catch_up(node_->usage());
  for (int at = 0; at < 12; ++at) {
    charge("few" + std::to_string(at) + "-", 1 + at % 2);
    catch_up(node_->usage());
  }
  for (const std::uint32_t limit : {1u, 7u, 99u, 100u, 101u, 511u, 512u, 513u, 5'000u}) {
    EXPECT_EQ(walk(node_->usage(), account, limit), expected) << limit;
  }
}

TEST_P(UsagePort, FactsOfOneStepStandInTheOrderOfTheirTimes) {
  const std::string account = account_with(1'000);
  const auto node = store_->open(storage::Role::gateway, "other");
  Writer writer(*node_, account);
  Writer other(*node, account);
  std::vector<std::string> expected;
  for (int at = 0; at < 150; ++at) {
    const int when = at * 67 % 150;
    (GetParam() == storage::Engine::postgres && at % 2 == 0 ? other : writer)
        .charge({"m" + std::to_string(when)}, now_ms() + when);
    expected.insert(expected.begin(), "m" + std::to_string(at));
  }
  catch_up(node_->usage());
  EXPECT_EQ(walk(node_->usage(), account, 20), expected);
}

// One step indexes calls on both sides of the hour in the same runs.
TEST_P(UsagePort, ARunThatSpansAnHoursBorderCountsInBothHours) {
  const std::string account = account_with(1'000);
  const std::int64_t border = (now_ms() / hour_ms + 2) * hour_ms;
  constexpr std::int64_t step_ms = 10'000;
  Writer writer(*node_, account);
  for (int at = -150; at < 150; ++at) {
    writer.charge({"m" + std::to_string(at)}, border + at * step_ms);
  }
  for (const int before : {0, 1, 49, 150}) {
    for (const int behind : {0, 1, 50, 150}) {
      if (before + behind == 0) continue;
      const auto sums = sum({account}, border - before * step_ms, border + behind * step_ms);
      EXPECT_EQ(sums.totals.requests, before + behind) << before << " and " << behind;
    }
  }
}

// There are more runs than one statement sums.
TEST_P(UsagePort, StepsThroughPartsOfAnHourMeetWithoutGapOrOverlap) {
  const std::string account = account_with(1'000);
  const std::int64_t start = now_ms() / hour_ms * hour_ms;
  Writer writer(*node_, account);
  for (int at = 0; at < 130; ++at) {
    writer.charge({"m" + std::to_string(at)}, start + 1'000 + at);
    catch_up(node_->usage());
  }
  EXPECT_EQ(sum({account}, start + 1'000, start + 2'000).totals.requests, 130);
  EXPECT_EQ(sum({account}, start + 1'001, start + 1'129).totals.requests, 128);
  const auto first = node_->usage().part_of_hour({account}, start, start + 5'000, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->next.has_value());
}

TEST_P(UsagePort, SumsAreSplitByTimeOperationAndKey) {
  const std::string account = account_with(100);
  const std::int64_t day = now_ms() / (24 * hour_ms) * 24 * hour_ms;
  Writer writer(*node_, account);
  writer.charge({"a", "b"}, day + 10);
  writer.charge({"c"}, day + 2 * hour_ms, "route-2", "key_2");
  writer.release("d", day + 2 * hour_ms + 1);
  const UsageSummary summary = sum({account}, day, day + 3 * hour_ms);
  EXPECT_EQ(summary.totals.requests, 4);
  EXPECT_EQ(summary.totals.charged, 3);
  EXPECT_EQ(summary.totals.released, 1);
  EXPECT_EQ(summary.totals.credits, 3);
  ASSERT_EQ(summary.series.size(), 3u) << "empty hours, too";
  EXPECT_EQ(summary.series[0].start_ms, day);
  EXPECT_EQ(summary.series[0].sums.requests, 2);
  EXPECT_EQ(summary.series[1].sums.requests, 0);
  EXPECT_EQ(summary.series[2].sums.requests, 2);
  EXPECT_EQ(summary.series[2].sums.released, 1);
  ASSERT_EQ(summary.by_operation.size(), 2u);
  EXPECT_EQ(summary.by_operation[0].route_id, "route-1");
  EXPECT_EQ(summary.by_operation[0].sums.requests, 3);
  EXPECT_EQ(summary.by_operation[1].sums.credits, 1);
  ASSERT_EQ(summary.by_key.size(), 2u);
  EXPECT_EQ(summary.by_key[1].api_key_id, "key_2");
  EXPECT_EQ(summary.by_key[1].sums.charged, 1);
}

TEST_P(UsagePort, SumsTakeFilters) {
  const std::string account = account_with(100);
  const std::string other = account_with(100);
  Writer writer(*node_, account);
  writer.charge({"a", "b"}, now_ms());
  writer.charge({"c"}, now_ms(), "route-2", "key_2");
  const auto node = store_->open(storage::Role::gateway, "other");
  Writer(*node, other).charge({"o"}, now_ms());
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{1}}) {  // whole hours; a partial one
    const std::int64_t hour = now_ms() / hour_ms * hour_ms;
    const std::int64_t from = hour + (now_ms() > hour ? cut : 0);
    const auto requests = [&](const UsageFilter& filter) {
      return sum(filter, from, hour + hour_ms).totals.requests;
    };
    EXPECT_EQ(requests({account}), 3);
    EXPECT_EQ(requests({account, "route-2"}), 1);
    EXPECT_EQ(requests({account, "", "key_1"}), 2);
    EXPECT_EQ(requests({account, "route-2", "key_1"}), 0);
    EXPECT_EQ(requests({other}), 1);
    EXPECT_EQ(requests({"acc_none"}), 0);
  }
}

// Between any two moments, on the hour or within one, the sums equal those of a plain count.
TEST_P(UsagePort, SumsEqualTheFactsForAnyTime) {
  const std::string account = account_with(1'000);
  const std::int64_t start = now_ms() / hour_ms * hour_ms;
  Writer writer(*node_, account);
  std::vector<std::int64_t> times;
  for (int at = 0; at < 120; ++at) {
    const std::int64_t time = start + (at * 7'919'003ll) % (6 * hour_ms);
    times.push_back(time);
    writer.charge({"m" + std::to_string(at)}, time);
  }
  std::vector<std::int64_t> moments = {start,
                                       start + 1,
                                       start + hour_ms - 1,
                                       start + hour_ms,
                                       start + hour_ms + 1,
                                       start + 3 * hour_ms,
                                       start + 3 * hour_ms + 1'234'567,
                                       start + 6 * hour_ms};
  for (int at = 0; at < 120; at += 17) moments.push_back(times[at]);
  for (const std::int64_t from : moments) {
    for (const std::int64_t to : moments) {
      if (from >= to) continue;
      const auto expected = std::count_if(
          times.begin(), times.end(), [&](std::int64_t time) { return from <= time && time < to; });
      const UsageSummary summary = sum({account}, from, to);
      EXPECT_EQ(summary.totals.requests, expected) << from - start << " to " << to - start;
      std::int64_t in_series = 0;
      for (const auto& bucket : summary.series) in_series += bucket.sums.requests;
      EXPECT_EQ(in_series, expected);
    }
  }
}

// Everything in a summary except its series.
std::string parts_of(const UsageSummary& summary) {
  std::string text;
  const auto add = [&](const std::string& name, const UsageSums& sums) {
    text += name;
    for (const std::int64_t number : {sums.requests, sums.charged, sums.released, sums.credits}) {
      text += " " + std::to_string(number);
    }
    text += "\n";
  };
  add("totals", summary.totals);
  for (const auto& each : summary.by_operation) add(each.route_id + " " + each.method, each.sums);
  for (const auto& each : summary.by_key) add(each.api_key_id, each.sums);
  return text;
}

// Four days around the end of a month. The facts are spread over them in no regular order.
class UsageOfDays : public UsagePort {
 protected:
  void SetUp() override {
    UsagePort::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(1'000);
    month_ms_ = bucket_end(now_ms(), Granularity::month);
    start_ms_ = month_ms_ - 48 * hour_ms;
    Writer writer(*node_, account_);
    for (int at = 0; at < 90; ++at) {
      const std::string message = "m" + std::to_string(at);
      const std::int64_t at_ms = start_ms_ + (at * 7'919'003'017ll) % (96 * hour_ms);
      const std::string route = at % 3 == 0 ? "route-2" : "route-1";
      const std::string key = at % 5 == 0 ? "key_2" : "key_1";
      if (at % 4 == 1) {
        writer.release(message, at_ms, route, key);
      } else {
        writer.charge({message}, at_ms, route, key);
      }
    }
  }
  std::vector<UsageFilter> filters() const {
    return {{account_},
            {account_, "route-2"},
            {account_, "", "key_2"},
            {account_, "route-1", "key_1"},
            {account_, "route-3"},
            {"acc_none"}};
  }

  std::string account_;
  std::int64_t start_ms_ = 0;
  std::int64_t month_ms_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(UsageOfDays);

TEST_P(UsageOfDays, SumsByDayAndMonthAreThoseOfTheirHours) {
  const std::int64_t moments[] = {start_ms_,
                                  start_ms_ + 5 * hour_ms,
                                  start_ms_ + 23 * hour_ms + 1,
                                  start_ms_ + 24 * hour_ms,
                                  month_ms_ - 1,
                                  month_ms_,
                                  month_ms_ + 30 * hour_ms + 1'234'567,
                                  month_ms_ + 48 * hour_ms};
  for (const UsageFilter& filter : filters()) {
    for (const std::int64_t from : moments) {
      for (const std::int64_t to : moments) {
        if (from >= to) continue;
        const UsageSummary hours = sum(filter, from, to, Granularity::hour);
        for (const Granularity by : {Granularity::day, Granularity::month}) {
          const UsageSummary summary = sum(filter, from, to, by);
          EXPECT_EQ(parts_of(summary), parts_of(hours));
          std::map<std::int64_t, std::int64_t> expected;
          std::map<std::int64_t, std::int64_t> found;
          for (const auto& hour : hours.series) {
            expected[bucket_start(hour.start_ms, by)] += hour.sums.requests;
          }
          for (const auto& bucket : summary.series) found[bucket.start_ms] = bucket.sums.requests;
          EXPECT_EQ(found, expected) << from - start_ms_ << " to " << to - start_ms_;
        }
      }
    }
  }
  EXPECT_EQ(sum({account_}, start_ms_, month_ms_ + 48 * hour_ms, Granularity::month)
                .totals.requests, 90);
}

TEST_P(UsagePort, TheIndexCanBeForgottenAndMadeAgain) {
  const std::string account = account_with(100);
  Writer writer(*node_, account);
  writer.charge({"a", "b", "c"}, now_ms());
  catch_up(node_->usage());
  const Page<UsageRow> first = page(node_->usage(), {account, std::nullopt, 1});
  ASSERT_TRUE(node_->usage().forget_index().ok());
  EXPECT_TRUE(walk(node_->usage(), account, 10).empty());
  catch_up(node_->usage());
  EXPECT_EQ(walk(node_->usage(), account, 10).size(), 3u);
  EXPECT_EQ(sum({account}, 0, now_ms() + hour_ms, Granularity::month).totals.credits, 3);
  // A cursor from before the rebuild is refused instead of leading to a wrong place.
  EXPECT_FALSE(node_->usage().usage({account, first.next, 10})->has_value());
}

TEST_P(UsagePort, PlacesOfOtherAccountsLeadNowhere) {
  const std::string account = account_with(100);
  const std::string other = account_with(100);
  Writer(*node_, account).charge({"a", "b"}, now_ms());
  catch_up(node_->usage());
  const auto next = page(node_->usage(), {account, std::nullopt, 1}).next;
  EXPECT_FALSE(node_->usage().usage({other, next, 10})->has_value());
  EXPECT_FALSE(node_->usage().usage({account, Place{next->number, "z"}, 10})->has_value());
  EXPECT_FALSE(node_->usage().usage({account, Place{99, next->id}, 10})->has_value());
}

TEST_P(UsagePort, AFactThatIsGoneIsSaidNotSkipped) {
  const std::string account = account_with(100);
  Writer(*node_, account).charge({"a", "b", "c"}, now_ms());
  catch_up(node_->usage());
  outside()->run_once("DELETE FROM fact WHERE message_id = 'b'");
  const auto read = node_->usage().usage({account, std::nullopt, 10});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, base::ErrorCode::account_read_failed);
}

TEST_P(UsagePort, AllocationsAreListedInTheOrderTheyWereIssued) {
  const std::string account = account_with(0);
  std::vector<std::string> expected;
  for (int at = 0; at < 5; ++at) {
    expected.insert(expected.begin(), grant(account, 10 + at, day_ms * (5 - at)));
  }
  for (const std::uint32_t limit : {1u, 2u, 5u, 6u}) {
    std::vector<std::string> ids;
    PageQuery query{account, std::nullopt, limit};
    do {
      const auto read = node_->usage().allocations(query);
      ASSERT_TRUE(read.ok() && read->has_value());
      for (const Allocation& each : (*read)->items) ids.push_back(each.id);
      query.after = (*read)->next;
    } while (query.after);
    EXPECT_EQ(ids, expected) << limit;
  }
  const auto read = node_->usage().allocations({account, Place{1'000'000, "alc_x"}, 5});
  EXPECT_FALSE(read->has_value());
}

TEST_P(UsagePort, RemainingOfTheAllocationsSumsToTheBalance) {
  const std::string account = account_with(0);
  grant(account, 10, day_ms);
  grant(account, 20, 2 * day_ms);
  Writer writer(*node_, account);
  writer.charge({"a", "b", "c"}, now_ms());
  const auto check = [&] {
    Credits sum = 0;
    const auto read = node_->usage().allocations({account, std::nullopt, 10});
    for (const Allocation& each : (*read)->items) sum += each.remaining;
    EXPECT_EQ(sum, node_->ledger().balance(account)->credits);
  };
  check();
  store_->clock.move_ms(day_ms);
  check();
  ASSERT_EQ(node_->ledger().open_leases()->tend(now_ms())->expired, 1u);
  check();
  const auto read = node_->usage().allocations({account, std::nullopt, 10});
  EXPECT_EQ((*read)->items[1].status, AllocationStatus::expired);
  EXPECT_EQ((*read)->items[1].remaining, 0);
  EXPECT_EQ((*read)->items[0].status, AllocationStatus::active);
}

// Grants race. A caller that reads what is new, from the newest down to the known ones, misses
// none.
TEST_P(UsagePort, AReaderOfNewAllocationsNeverMissesOne) {
  const std::string account = account_with(0);
  const auto other = store_->open(storage::Role::tool, "other");
  std::atomic<int> granting = 2;
  const auto grant_some = [&](storage::Node& node) {
    for (int at = 0; at < 40; ++at) {
      EXPECT_TRUE(
          node.ledger().grant({account, 1, Origin::operator_grant, now_ms() + day_ms, 0}).ok());
    }
    --granting;
  };
  std::thread left([&] { grant_some(*node_); });
  std::thread right([&] { grant_some(*other); });
  std::set<std::string> known;
  const auto read_news = [&] {
    PageQuery query{account, std::nullopt, 7};
    do {
      const auto read = node_->usage().allocations(query);
      ASSERT_TRUE(read.ok() && read->has_value());
      for (const Allocation& each : (*read)->items) {
        if (!known.insert(each.id).second) return;
      }
      query.after = (*read)->next;
    } while (query.after);
  };
  // read_news() stops at the first known allocation, so it inserts only those above it.
  while (granting > 0) read_news();
  left.join();
  right.join();
  read_news();
  EXPECT_EQ(known.size(), 80u);
}

// ---- searches

struct Found {
  std::vector<std::string> messages;
  int pages = 0;
};

Found search_all(UsageStore& usage, const std::string& account, const CallFilter& filter,
                 std::uint32_t limit) {
  Found found;
  PageQuery query{account, std::nullopt, limit};
  do {
    const auto read = usage.search(query, filter);
    EXPECT_TRUE(read.ok() && read->has_value());
    if (!read.ok() || !read->has_value()) return found;
    EXPECT_LE((*read)->items.size(), limit);
    for (const UsageRow& row : (*read)->items) found.messages.push_back(row.message_id);
    query.after = (*read)->next;
    ++found.pages;
  } while (query.after);
  return found;
}

bool wants(const CallFilter& filter, const UsageRow& row) {
  return (filter.route_id.empty() || filter.route_id == row.route_id) &&
         (filter.api_key_id.empty() || filter.api_key_id == row.api_key_id) &&
         (filter.outcome.empty() || filter.outcome == outcome_of(row.outcome_reason)) &&
         row.occurred_at_ms >= filter.from_ms && row.occurred_at_ms < filter.to_ms;
}

// Every filter, with pages of every length, compared with filtering the whole list.
TEST_P(UsagePort, ASearchFindsWhatItsFilterWantsAndNothingElse) {
  const std::string account = account_with(100);
  Writer writer(*node_, account);
  const std::int64_t start_ms = now_ms();
  for (int at = 0; at < 24; ++at) {
    const std::string message = "m" + std::to_string(at);
    const std::string route = at % 3 == 0 ? "route-2" : "route-1";
    const std::string key = at % 5 == 0 ? "key_2" : "key_1";
    const std::int64_t at_ms = start_ms + at * hour_ms / 4;
    if (at % 4 == 1) {
      writer.release(message, at_ms, route, key);
    } else {
      writer.charge({message}, at_ms, route, key);
    }
    if (at % 2 == 0) catch_up(node_->usage());  // many short runs
  }
  catch_up(node_->usage());
  const Page<UsageRow> all = page(node_->usage(), {account, std::nullopt, 100});
  ASSERT_EQ(all.items.size(), 24u);
  const CallFilter filters[] = {
      {},
      {.route_id = "route-2"},
      {.api_key_id = "key_2"},
      {.outcome = "released"},
      {.outcome = "charged"},
      {.outcome = "replayed"},
      {.from_ms = start_ms + hour_ms, .to_ms = start_ms + 3 * hour_ms},
      {.from_ms = start_ms + hour_ms / 4 + 1},
      {.route_id = "route-2", .api_key_id = "key_2", .outcome = "charged"},
      {.route_id = "route-3"},
      {.api_key_id = "key_1", .outcome = "released", .to_ms = start_ms + hour_ms},
  };
  for (const CallFilter& filter : filters) {
    std::vector<std::string> expected;
    for (const UsageRow& row : all.items) {
      if (wants(filter, row)) expected.push_back(row.message_id);
    }
    for (const std::uint32_t limit : {1u, 2u, 5u, 24u, 100u}) {
      const Found found = search_all(node_->usage(), account, filter, limit);
      EXPECT_EQ(found.messages, expected) << filter.route_id << filter.outcome << limit;
      EXPECT_LE(found.pages, static_cast<int>(expected.size() / limit) + 1);
    }
  }
  EXPECT_TRUE(search_all(node_->usage(), "acc_none", {}, 10).messages.empty());
}

TEST_P(UsagePort, ASearchLooksAtSoManyCallsAtOnceAndGoesOnWhereItStopped) {
  const std::string account = account_with(10'000);
  Writer writer(*node_, account);
  writer.charge({"oldest"}, now_ms(), "route-2");
  for (int at = 0; at < 6; ++at) {
    writer.charge(names(std::to_string(at) + "-", 1'000), now_ms(), "route-1");
  }
  writer.charge({"newest"}, now_ms(), "route-2");
  catch_up(node_->usage());
  const auto first = node_->usage().search({account, std::nullopt, 50}, {.route_id = "route-2"});
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ((*first)->items.size(), 1u);
  EXPECT_TRUE((*first)->next.has_value());
  const Found found = search_all(node_->usage(), account, {.route_id = "route-2"}, 50);
  std::vector<std::string> messages = found.messages;
  std::sort(messages.begin(), messages.end());
  EXPECT_EQ(messages, (std::vector<std::string>{"newest", "oldest"}));
  EXPECT_EQ(found.pages, 3);  // 6,002 calls; one page examines 2,048
}

// All are indexed at once. The sums of an hour tell where its calls stand, not only in which batch.
TEST_P(UsagePort, ASearchGoesStraightToWhatIsRare) {
  const std::string account = account_with(10'000);
  Writer writer(*node_, account);
  const std::int64_t start_ms = now_ms() / hour_ms * hour_ms;
  writer.charge({"rare"}, start_ms + hour_ms / 2, "route-2");
  for (int at = 0; at < 6; ++at) {
    writer.charge(names(std::to_string(at) + "-", 1'000), start_ms + at * hour_ms, "route-1");
  }
  catch_up(node_->usage());
  const Found found = search_all(node_->usage(), account, {.route_id = "route-2"}, 50);
  EXPECT_EQ(found.messages, std::vector<std::string>{"rare"});
  EXPECT_EQ(found.pages, 1);
}

TEST_P(UsagePort, ASearchTellsWhatWasGivenBackAndRefusesAPlaceThatIsNone) {
  const std::string account = account_with(10);
  Writer(*node_, account).charge({"m1", "m2"}, now_ms());
  ASSERT_TRUE(node_->corrections()
                  .correct({account, "m1", CorrectionKind::refund, 1, "Wrong.", "", "k1", "opr_1"})
                  .ok());
  catch_up(node_->usage());
  const auto read = node_->usage().search({account, std::nullopt, 1}, {.outcome = "charged"});
  ASSERT_TRUE(read.ok() && read->has_value() && (*read)->next.has_value());
  const auto rest = node_->usage().search({account, (*read)->next, 1}, {.outcome = "charged"});
  ASSERT_TRUE(rest.ok() && rest->has_value());
  ASSERT_EQ((*rest)->items.size(), 1u);
  for (const auto* each : {&*read, &*rest}) {
    const UsageRow& row = (*each)->items[0];
    EXPECT_EQ(row.restored.has_value(), row.message_id == "m1");
  }
  const auto bad = node_->usage().search({account, Place{(*read)->next->number, "other"}, 1}, {});
  ASSERT_TRUE(bad.ok());
  EXPECT_FALSE(bad->has_value());
}

TEST_P(UsagePort, CallsAreFoundByTheNameThatTheirCallerGaveThem) {
  const std::string account = account_with(10);
  const std::string other = account_with(10);
  Writer writer(*node_, account);
  writer.name_calls("order 7'; --");
  writer.charge({"m1"}, now_ms());
  writer.release("m2", now_ms() + 1);
  writer.name_calls("");
  writer.charge({"m3"}, now_ms());
  const auto node = store_->open(storage::Role::gateway, "other");
  Writer others(*node, other);
  others.name_calls("order 7'; --");
  others.charge({"o1"}, now_ms());
  catch_up(node_->usage());
  const auto named = [&](std::string_view name, std::uint32_t limit) {
    std::vector<std::string> messages;
    const auto rows = node_->usage().calls_named(account, name, limit);
    EXPECT_TRUE(rows.ok());
    for (const UsageRow& row : *rows) messages.push_back(row.message_id);
    return messages;
  };
  EXPECT_EQ(named("order 7'; --", 50), (std::vector<std::string>{"m2", "m1"}));
  EXPECT_EQ(named("order 7'; --", 1), (std::vector<std::string>{"m2"}));
  EXPECT_TRUE(named("order 8", 50).empty());
  EXPECT_TRUE(named("", 50).empty());
  // Also after the index is rebuilt.
  ASSERT_TRUE(node_->usage().forget_index().ok());
  EXPECT_TRUE(named("order 7'; --", 50).empty());
  catch_up(node_->usage());
  EXPECT_EQ(named("order 7'; --", 50).size(), 2u);
}

// ---- statements

TEST_P(UsagePort, AStatementAddsUpToTheBalance) {
  const std::string account = account_with(0);
  const std::int64_t begin_ms = now_ms() / hour_ms * hour_ms;
  const std::string first = grant(account, 30, 24 * hour_ms);
  Writer(*node_, account).charge({"m1", "m2"}, now_ms());
  const auto empty = node_->usage().statement(account, begin_ms, begin_ms + hour_ms);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->opening, 0);
  ASSERT_EQ(empty->movements.size(), 1u);
  EXPECT_EQ(empty->movements[0].kind, Movement::Kind::granted);
  EXPECT_EQ(empty->movements[0].allocation_id, first);
  EXPECT_EQ(empty->movements[0].origin, Origin::operator_grant);
  EXPECT_EQ(empty->movements[0].units, 30);
  store_->clock.move_ms(2 * hour_ms);
  const std::string second = grant(account, 7, 48 * hour_ms);
  ASSERT_TRUE(node_->ledger().void_allocation(second).ok());
  catch_up(node_->usage());
  const auto later = node_->usage().statement(account, begin_ms + hour_ms, begin_ms + 9 * hour_ms);
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(later->opening, 28);  // 30 granted, 2 charged
  ASSERT_EQ(later->movements.size(), 2u);
  EXPECT_EQ(later->movements[0].units, 7);
  EXPECT_EQ(later->movements[1].kind, Movement::Kind::voided);
  EXPECT_EQ(later->movements[1].allocation_id, second);
  EXPECT_EQ(later->movements[1].units, 7);
  EXPECT_TRUE(later->is_whole);
  const auto balance = node_->ledger().balance(account);
  ASSERT_TRUE(balance.ok());
  EXPECT_EQ(balance->credits, later->opening + 7 - 7);
  const auto of_nobody = node_->usage().statement("acc_none", begin_ms, begin_ms + hour_ms);
  ASSERT_TRUE(of_nobody.ok());
  EXPECT_EQ(of_nobody->opening, 0);
  EXPECT_TRUE(of_nobody->movements.empty());
}

TEST_P(UsagePort, WhatExpiresNextHasSomethingLeft) {
  const std::string account = account_with(0);
  ASSERT_FALSE(node_->usage().expiring_next(account)->has_value());
  const std::string late = grant(account, 5, 72 * hour_ms);
  const std::string soon = grant(account, 2, 24 * hour_ms);
  const auto next = node_->usage().expiring_next(account);
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ((*next)->id, soon);
  EXPECT_EQ((*next)->remaining, 2);
  // Charges use up the allocation that expires first.
  Writer(*node_, account).charge({"m1", "m2"}, now_ms());
  const auto after = node_->usage().expiring_next(account);
  ASSERT_TRUE(after.ok() && after->has_value());
  EXPECT_EQ((*after)->id, late);
  ASSERT_TRUE(node_->ledger().void_allocation(late).ok());
  EXPECT_FALSE(node_->usage().expiring_next(account)->has_value());
}

TEST_P(UsagePort, ACallHasTheHashOfItsFact) {
  const std::string account = account_with(10);
  Writer(*node_, account).charge({"m1", "m2"}, now_ms());
  const auto second = node_->usage().call(account, "m2");
  ASSERT_TRUE(second.ok() && second->has_value());
  const auto verified = node_->ledger().verify();
  ASSERT_TRUE(verified.ok());
  ASSERT_EQ(verified->books.streams.size(), 1u);
  EXPECT_EQ((*second)->hash, verified->books.streams[0].head);
  EXPECT_EQ((*second)->seq, verified->books.streams[0].seq);
}

// SQLite keeps the index in a separate file, which must match the books.
TEST(UsageIndexFile, IsMadeAgainWhenTheBooksAreOthers) {
  support::TestStore store(storage::Engine::sqlite);
  const std::string books = storage::sqlite_file(store.settings());
  std::string account;
  {
    const auto node = store.open();
    account = node->accounts().create("Test")->id;
    ASSERT_TRUE(node->accounts().activate(account, {10, 86'400'000}).ok());
    Writer(*node, account).charge({"a", "b"}, store.clock.now_ms());
    ASSERT_TRUE(node->usage().catch_up().ok());
    ASSERT_TRUE(std::filesystem::exists(books + ".usage"));
  }
  // Simulates the restoration of a backup: the same stream with other facts.
  storage::Database(store.settings())
      .connect()
      ->run_once("UPDATE fact SET message_id = 'x' || message_id");
  const auto node = store.open();
  ASSERT_FALSE(*node->usage().catch_up());
  const auto read = node->usage().usage({account, std::nullopt, 10});
  ASSERT_EQ((*read)->items.size(), 2u);
  EXPECT_EQ((*read)->items[0].message_id, "xb");
}

TEST(UsageIndexFile, MayBeDeleted) {
  support::TestStore store(storage::Engine::sqlite);
  std::string account;
  {
    const auto node = store.open();
    account = node->accounts().create("Test")->id;
    ASSERT_TRUE(node->accounts().activate(account, {10, 86'400'000}).ok());
    Writer(*node, account).charge({"a", "b"}, store.clock.now_ms());
    ASSERT_TRUE(node->usage().catch_up().ok());
  }
  const std::string file = storage::sqlite_file(store.settings()) + ".usage";
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file + end);
  const auto node = store.open();
  ASSERT_FALSE(*node->usage().catch_up());
  EXPECT_EQ((*node->usage().usage({account, std::nullopt, 10}))->items.size(), 2u);
}

}  // namespace
}  // namespace turnpike::ledger
