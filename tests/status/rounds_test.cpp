// Rounds that are not evidence, gaps between rounds, late and early looks, manual and unreviewed
// operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "status/stream.h"

namespace turnpike::status {
namespace {

void expect_unknown(const Stream& stream) {
  for (const char* scope : {"gateway", "provider:alpha", "operation:a1:GET", "pricing",
                            "lane:x402"}) {
    EXPECT_EQ(stream.level(scope), Level::unknown) << scope;
    EXPECT_EQ(stream.book.scope(scope)->evidence, Evidence::unverified) << scope;
  }
}

class StatusIncoherent : public testing::Test {
 protected:
  StatusIncoherent() { stream_.rounds(30); }
  // Expects that the round is not evidence and that the next one is.
  void expect_doubt(RoundHead head, std::vector<Record> records) {
    stream_.close(std::move(head), std::move(records));
    expect_unknown(stream_);
    stream_.now_ms = stream_.book.ended_at_ms();
    stream_.epoch = 2;
    stream_.rounds(1);
    EXPECT_EQ(stream_.level("provider:beta"), Level::operational);
    EXPECT_EQ(stream_.book.scope("provider:beta")->evidence, Evidence::current);
  }
  Stream stream_{dozen()};
};

TEST_F(StatusIncoherent, ARoundThatIsNotTheNext) {
  RoundHead head = stream_.next_head();
  ++head.round;
  expect_doubt(head, stream_.looks());
}

TEST_F(StatusIncoherent, AClockThatWentBack) {
  RoundHead head = stream_.next_head();
  head.started_at_ms -= minute_ms;
  head.ended_at_ms -= minute_ms;
  expect_doubt(head, stream_.looks());
}

TEST_F(StatusIncoherent, AnEarlierEpoch) {
  RoundHead head = stream_.next_head();
  head.epoch = 0;
  expect_doubt(head, stream_.looks());
}

TEST_F(StatusIncoherent, AnotherStream) {
  RoundHead head = stream_.next_head();
  head.stream = "st_02";
  stream_.close(head, stream_.looks());
  expect_unknown(stream_);
}

TEST_F(StatusIncoherent, ARoundWithoutLength) {
  RoundHead head = stream_.next_head();
  head.ended_at_ms = head.started_at_ms;
  expect_doubt(head, {});
}

TEST_F(StatusIncoherent, TrafficThatDoesNotAddUp) {
  std::vector<Record> records = stream_.looks();
  for (Record& record : records) {
    if (record.traffic) record.traffic = Traffic{false, 9'000, 0, 999, std::nullopt};
  }
  expect_doubt(stream_.next_head(), records);
}

TEST_F(StatusIncoherent, RecordsOfAnotherGeneration) {
  std::vector<Record> records = stream_.looks();
  RoundHead head = stream_.next_head();
  std::uint64_t sequence = stream_.book.records();
  for (Record& record : records) {
    record.sequence = ++sequence;
    record.generation = "g_0";
  }
  head.count = records.size();
  stream_.book.apply(stream_.set, head, records);
  expect_unknown(stream_);
}

TEST_F(StatusIncoherent, ACountThatIsAnother) {
  std::vector<Record> records = stream_.looks();
  RoundHead head = stream_.next_head();
  std::uint64_t sequence = stream_.book.records();
  for (Record& record : records) {
    record.sequence = ++sequence;
    record.generation = head.generation;
  }
  head.count = records.size() + 1;
  stream_.book.apply(stream_.set, head, records);
  expect_unknown(stream_);
}

TEST_F(StatusIncoherent, ItsTimeIsExpectedAndUnknownLater) {
  const auto day = [&] {
    return stream_.segments.at({"gateway", 86'400'000, test_begin_ms});
  };
  const std::uint64_t expected = day().expected;
  const std::uint64_t unknown = day().unknown;
  RoundHead head = stream_.next_head();
  ++head.round;
  stream_.close(head, stream_.looks());
  EXPECT_EQ(day().expected, expected);
  stream_.round();
  EXPECT_GT(day().unknown, unknown);
  EXPECT_EQ(day().expected, day().passed + day().failed + day().unknown);
}

TEST_F(StatusIncoherent, AfterTheClockWentBackLooksCountAgain) {
  stream_.now_ms += 3 * minute_ms;  // the clock was ahead for one round
  stream_.round();
  stream_.now_ms -= 3 * minute_ms;
  stream_.round();
  expect_unknown(stream_);
  const auto hour = [&] {
    return stream_.segments.at({"provider:beta", 3'600'000, test_begin_ms});
  };
  const std::uint64_t passed = hour().passed;
  stream_.rounds(10);
  EXPECT_EQ(stream_.level("provider:beta"), Level::operational);
  EXPECT_GE(hour().passed, passed + 18);
  EXPECT_EQ(hour().expected, hour().passed + hour().failed + hour().unknown);
}

TEST_F(StatusIncoherent, AnOpenIncidentStaysAndIsStale) {
  stream_.failing = {"operation:b1:POST", "upstream:b"};
  stream_.rounds(3);
  RoundHead head = stream_.next_head();
  ++head.round;
  stream_.close(head, {});
  ASSERT_EQ(stream_.book.incidents().size(), 1u);
  EXPECT_TRUE(stream_.book.incidents()[0].is_stale);
  EXPECT_EQ(stream_.book.incidents()[0].state, IncidentState::open);
  stream_.round();
  EXPECT_FALSE(stream_.book.incidents()[0].is_stale);
}

// ---- gaps ---------------------------------------------------------------------------------------

TEST(StatusGaps, CountAsExpectedAndUnknown) {
  Stream stream(dozen());
  stream.rounds(10);
  stream.now_ms += 50 * minute_ms;
  stream.rounds(10);
  const Segment& hour = stream.segments.at({"provider:beta", 3'600'000, test_begin_ms});
  EXPECT_EQ(hour.expected, 120u);  // two targets, once a minute
  EXPECT_EQ(hour.unknown, 100u);
  EXPECT_EQ(hour.status, Level::unknown);
  const Segment& inside =
      stream.segments.at({"provider:beta", 300'000, test_begin_ms + 20 * minute_ms});
  EXPECT_EQ(inside.expected, 10u);
  EXPECT_EQ(inside.unknown, 10u);
  EXPECT_EQ(inside.first_round, 11u);
}

TEST(StatusGaps, AreBoundedHoweverLongTheyAre) {
  Stream stream(dozen());
  stream.rounds(10);
  stream.now_ms += 20 * 365 * 86'400'000LL;
  stream.round();
  std::map<std::int64_t, std::int64_t> oldest;
  std::map<std::int64_t, std::size_t> counts;
  for (const Segment& segment : stream.changes.segments) {
    ++counts[segment.length_ms];
    auto& at = oldest.emplace(segment.length_ms, segment.started_at_ms).first->second;
    at = std::min(at, segment.started_at_ms);
    ASSERT_EQ(segment.expected, segment.passed + segment.failed + segment.unknown);
  }
  for (const auto& [length, count] : counts) {
    EXPECT_LE(count, static_cast<std::size_t>(gap_segments_max) + 100) << length;
  }
  EXPECT_GE(oldest[300'000], stream.now_ms - gap_kept_ms[0] - 300'000);
  EXPECT_GE(oldest[3'600'000], stream.now_ms - gap_kept_ms[1] - 3'600'000);
  EXPECT_EQ(stream.level("provider:beta"), Level::operational);
}

// ---- late and early -----------------------------------------------------------------------------

// A set with one upstream, and one round in which its look was due.
class StatusLate : public testing::Test {
 protected:
  std::vector<Record> take_looks() { return stream_.looks(); }
  void close(std::vector<Record> records) { stream_.close(stream_.next_head(), records); }
  [[nodiscard]] const Segment& first(std::int64_t length_ms) const {
    return stream_.segments.at({"provider:alpha", length_ms, test_begin_ms});
  }
  Stream stream_{set_of({upstream("a", "alpha")})};
};

TEST_F(StatusLate, ALateRecordCountsWhereItWasDue) {
  const std::vector<Record> late = take_looks();
  close({});
  EXPECT_EQ(first(300'000).unknown, 1u);
  std::vector<Record> both = late;
  for (Record& record : take_looks()) both.push_back(record);
  close(both);
  EXPECT_EQ(first(300'000).unknown, 0u);
  EXPECT_EQ(first(300'000).passed, 2u);
}

TEST_F(StatusLate, BehindItsSegmentItMovesTheLongerOnesAlone) {
  const std::vector<Record> late = take_looks();
  close({});
  for (int at = 0; at < 11; ++at) close({});
  close(late);
  EXPECT_EQ(first(300'000).unknown, 5u);
  EXPECT_EQ(first(300'000).passed, 0u);
  EXPECT_EQ(first(3'600'000).passed, 1u);
  EXPECT_EQ(first(86'400'000).passed, 1u);
}

TEST_F(StatusLate, AnEarlyRecordCountsOnceItsTimeComes) {
  std::vector<Record> now = take_looks();
  stream_.now_ms += minute_ms;
  std::vector<Record> next = take_looks();
  stream_.now_ms -= minute_ms;
  next[0].started_at_ms = stream_.now_ms + minute_ms - 1;
  close({now[0], next[0]});
  EXPECT_EQ(first(300'000).expected, 1u);
  EXPECT_EQ(first(300'000).passed, 1u);
  auto read = Book::read(stream_.book.canonical());
  ASSERT_TRUE(read.ok()) << read.error();
  stream_.book = *std::move(read);
  close({});
  EXPECT_EQ(first(300'000).expected, 2u);
  EXPECT_EQ(first(300'000).passed, 2u);
}

TEST_F(StatusLate, TheSameLookTwiceCountsOnce) {
  std::vector<Record> looks = take_looks();
  looks.push_back(looks[0]);
  close(looks);
  EXPECT_EQ(first(300'000).expected, 1u);
  EXPECT_EQ(first(300'000).passed, 1u);
}

TEST_F(StatusLate, ExtraLooksAndSweepsMoveTheWindowAlone) {
  std::vector<Record> looks = take_looks();
  looks.push_back(looks[0]);
  looks.back().due_at_ms += 15'000;
  looks.push_back(looks[0]);
  looks.back().due_at_ms += minute_ms;
  looks.back().sweep_id = "swp_1";
  for (std::size_t at : {1u, 2u}) looks[at].result = LookResult::fail;
  close(looks);
  EXPECT_EQ(first(300'000).expected, 1u);
  EXPECT_EQ(first(300'000).passed, 1u);
  EXPECT_EQ(stream_.level("provider:alpha"), Level::degraded);
}

// ---- classes ------------------------------------------------------------------------------------

class StatusClasses : public testing::Test {
 protected:
  StatusClasses() { stream_.rounds(5); }
  void sweep(LookResult result) {
    std::vector<Record> records = stream_.looks();
    auto record = stream_.look(*stream_.set.find("operation:m:GET"), "n_1", stream_.now_ms);
    record->result = result;
    record->reason = result == LookResult::fail ? Reason::timeout : Reason::none;
    record->sweep_id = "swp_1";
    records.push_back(*record);
    stream_.close(stream_.next_head(), records);
  }
  Stream stream_{set_of(
      {upstream("a", "alpha"),
       operation("m:GET", "alpha", "a", 0, MonitoringClass::manual),
       operation("u:GET", "alpha", "a", 0, MonitoringClass::unreviewed),
       plain("traffic:operation:u:GET", TargetKind::traffic, "alpha", "u:GET")})};
};

TEST_F(StatusClasses, ManualIsUnknownUntilASweepAndHoldsADay) {
  EXPECT_EQ(stream_.level("operation:m:GET"), Level::unknown);
  EXPECT_EQ(stream_.level("provider:alpha"), Level::operational);
  EXPECT_EQ(stream_.level("gateway"), Level::operational);
  sweep(LookResult::pass);
  EXPECT_EQ(stream_.level("operation:m:GET"), Level::operational);
  stream_.rounds(24 * 60 - 2);
  EXPECT_EQ(stream_.level("operation:m:GET"), Level::operational);
  stream_.rounds(2);
  EXPECT_EQ(stream_.level("operation:m:GET"), Level::unknown);
  EXPECT_EQ(stream_.level("provider:alpha"), Level::operational);
}

TEST_F(StatusClasses, ManualHoldsForItsGenerationAlone) {
  sweep(LookResult::pass);
  stream_.generation = "g_2";
  stream_.rounds(1);
  EXPECT_EQ(stream_.level("operation:m:GET"), Level::unknown);
}

TEST_F(StatusClasses, OneFailureOfASweepSufficesAndSoDoesOnePass) {
  sweep(LookResult::fail);
  EXPECT_EQ(stream_.level("operation:m:GET"), Level::degraded);
  EXPECT_EQ(stream_.level("provider:alpha"), Level::degraded);
  EXPECT_EQ(stream_.edges("operation:m:GET"), "first_failure opened");
  sweep(LookResult::pass);
  EXPECT_EQ(stream_.edges("operation:m:GET"), "first_failure opened passing recovered");
}

TEST_F(StatusClasses, UnreviewedKnowsItsTrafficAlone) {
  EXPECT_EQ(stream_.level("operation:u:GET"), Level::unknown);
  EXPECT_FALSE(stream_.book.scope("operation:u:GET")->has_active);
  stream_.traffic["traffic:operation:u:GET"] = traffic_of(10);
  stream_.round();
  EXPECT_EQ(stream_.level("operation:u:GET"), Level::operational);
  EXPECT_EQ(stream_.book.scope("operation:u:GET")->evidence, Evidence::current);
  stream_.traffic["traffic:operation:u:GET"] = traffic_of(6'000);
  stream_.round();
  EXPECT_EQ(stream_.level("operation:u:GET"), Level::major_outage);
}

}  // namespace
}  // namespace turnpike::status
