// The fold of rounds into a book: levels, evidence, segments, and rounds that are not evidence.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "status/stream.h"
#include "text/canonical_json.h"

namespace turnpike::status {
namespace {

TEST(StatusBook, EverythingIsUnknownBeforeAnythingWasSeen) {
  Stream stream(dozen());
  EXPECT_EQ(stream.book.scope("gateway"), nullptr);
  for (const Target& target : stream.set.targets) stream.silent.insert(target.name);
  stream.rounds(5);
  for (const char* scope : {"gateway", "provider:alpha", "operation:a1:GET", "pricing"}) {
    EXPECT_EQ(stream.level(scope), Level::unknown) << scope;
    EXPECT_EQ(stream.book.scope(scope)->evidence, Evidence::missing_or_stale) << scope;
  }
  EXPECT_TRUE(stream.book.incidents().empty());
}

TEST(StatusBook, IsOperationalOnceEveryTargetPassed) {
  Stream stream(dozen());
  stream.round();
  EXPECT_EQ(stream.level("provider:beta"), Level::operational);
  stream.rounds(5);
  EXPECT_EQ(stream.level("gateway"), Level::operational);
  EXPECT_EQ(stream.book.scope("gateway")->evidence, Evidence::current);
  EXPECT_EQ(stream.level("pricing"), Level::operational);
  EXPECT_EQ(stream.level("lane:x402"), Level::operational);
  EXPECT_EQ(stream.book.scope("provider:alpha")->reachability, Level::operational);
  EXPECT_EQ(stream.book.scope("provider:alpha")->contract, Level::operational);
  EXPECT_EQ(stream.book.scope("provider:nobody"), nullptr);
}

TEST(StatusBook, OneProviderInOutageDegradesTheGateway) {
  Stream stream(dozen());
  stream.rounds(10);
  for (const char* name : {"upstream:b", "operation:b1:POST"}) stream.failing.insert(name);
  stream.round();
  EXPECT_EQ(stream.level("provider:beta"), Level::operational);
  stream.round();
  EXPECT_EQ(stream.level("provider:beta"), Level::degraded);
  EXPECT_EQ(stream.level("gateway"), Level::degraded);
  stream.round();
  EXPECT_EQ(stream.level("provider:beta"), Level::major_outage);
  EXPECT_EQ(stream.level("gateway"), Level::degraded);
  EXPECT_EQ(stream.level("provider:alpha"), Level::operational);
}

TEST(StatusBook, OneFailingSentinelOnOneNodeDegradesTheGateway) {
  Stream stream(dozen());
  stream.nodes = {"n_1", "n_2", "n_3"};
  stream.looker = [](const Target& target, const std::string& node, std::int64_t) {
    const bool fails = target.name == "gateway:healthz" && node == "n_2";
    return fails ? LookResult::fail : LookResult::pass;
  };
  stream.rounds(6);
  EXPECT_EQ(stream.level("gateway"), Level::degraded);
  const TargetFigures& figures = *stream.book.target("gateway:healthz");
  EXPECT_EQ(figures.level, Level::major_outage);
  EXPECT_EQ(figures.by_node.at("n_2").result, LookResult::fail);
  EXPECT_EQ(figures.by_node.at("n_3").result, LookResult::pass);
}

TEST(StatusBook, EverythingFailingIsAnOutageOfTheGateway) {
  Stream stream(set_of({sentinel("healthz"), upstream("a", "alpha")}));
  stream.rounds(3);
  stream.failing = {"gateway:healthz", "upstream:a"};
  stream.rounds(3);
  EXPECT_EQ(stream.level("gateway"), Level::major_outage);
}

TEST(StatusBook, WithoutLooksItIsUnknownAfterThreeIntervals) {
  Stream stream(dozen());
  stream.rounds(20);
  stream.silent = {"upstream:b"};
  stream.rounds(2);
  EXPECT_EQ(stream.level("provider:beta"), Level::operational);
  stream.round();
  EXPECT_EQ(stream.level("provider:beta"), Level::unknown);
  EXPECT_EQ(stream.level("gateway"), Level::unknown);
  EXPECT_EQ(stream.book.scope("provider:beta")->evidence, Evidence::missing_or_stale);
  stream.silent.insert("operation:b1:POST");
  stream.rounds(3);
  EXPECT_EQ(stream.book.scope("provider:beta")->evidence, Evidence::stale);
}

TEST(StatusBook, LooksThatWereSkippedAreNoEvidence) {
  Stream stream(dozen());
  stream.rounds(20);
  stream.looker = [](const Target& target, const std::string&, std::int64_t) {
    return target.name == "upstream:b" ? LookResult::skipped : LookResult::pass;
  };
  stream.rounds(4);
  EXPECT_EQ(stream.level("provider:beta"), Level::unknown);
}

TEST(StatusBook, ReadingItsTextAndGoingOnIsGoingOn) {
  Stream stream(dozen());
  stream.nodes = {"n_1", "n_2"};
  stream.traffic = {{"traffic:gateway", traffic_of(20)},
                    {"traffic:provider:alpha", traffic_of(700)}};
  stream.rounds(30);
  stream.failing = {"operation:a1:GET", "upstream:b"};
  stream.rounds(7);
  const std::string text = stream.book.canonical();
  EXPECT_EQ(text::canonical_json(nlohmann::json::parse(text)), text);
  auto read = Book::read(text);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(read->canonical(), text);
  EXPECT_EQ(read->hash(), stream.book.hash());
  stream.failing.clear();
  Stream twin(stream.set);
  twin.nodes = stream.nodes;
  twin.now_ms = stream.now_ms;
  twin.book = *std::move(read);
  for (int at = 0; at < 40; ++at) {
    stream.traffic.clear();
    stream.round();
    twin.round();
    ASSERT_EQ(twin.book.canonical(), stream.book.canonical()) << at;
    ASSERT_EQ(twin.changes.events, stream.changes.events);
    ASSERT_EQ(twin.changes.segments, stream.changes.segments);
  }
}

}  // namespace
}  // namespace turnpike::status
