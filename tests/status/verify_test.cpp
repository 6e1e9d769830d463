// Verification of evidence: a recorded week, and every kind of later change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "status/stream.h"
#include "status/text_form.h"
#include "status/verify.h"

namespace turnpike::status {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

crypto::Ed25519PublicKey key_of(const Stream& stream) {
  return crypto::ed25519_public_key(stream.seed);
}

// The problem that the verifier reports, or "".
std::string fault_in(const std::vector<std::string>& lines, const crypto::Ed25519PublicKey& key,
                     Verified* verified = nullptr, std::string_view published = {}) {
  Verifier verifier({key});
  if (!published.empty()) {
    EXPECT_TRUE(verifier.expect(published));
  }
  bool fits = true;
  for (const std::string& line : lines) fits = fits && verifier.take(line);
  fits = fits && verifier.end();
  EXPECT_EQ(fits, verifier.problem().empty());
  if (fits && !published.empty()) {
    EXPECT_TRUE(verifier.was_compared());
  }
  if (verified != nullptr) *verified = verifier.verified();
  return verifier.problem();
}

// Evidence with occasional outages of every kind, on two nodes.
Stream recorded(int rounds) {
  Stream stream(dozen());
  stream.signs = true;
  stream.nodes = {"n_1", "n_2"};
  std::mt19937 chance(7);
  std::map<std::string, int> out_for;  // looks that still fail
  stream.looker = [&](const Target& target, const std::string& node,
                      std::int64_t) -> std::optional<LookResult> {
    int& left = out_for[target.name + node];
    if (left == 0 && chance() % 2'000 == 0) left = static_cast<int>(1 + chance() % 40);
    if (chance() % 500 == 0) return std::nullopt;
    if (chance() % 900 == 0) return LookResult::skipped;
    if (left == 0) return LookResult::pass;
    --left;
    return LookResult::fail;
  };
  for (int at = 0; at < rounds; ++at) {
    stream.traffic["traffic:gateway"] = traffic_of(chance() % 100, chance() % 30);
    const bool is_bad = at / 60 % 30 == 7;
    stream.traffic["traffic:provider:alpha"] = traffic_of(is_bad ? 2'000 : chance() % 100);
    if (at == rounds / 2) stream.now_ms += 7 * minute_ms;  // the leader was down
    if (at == rounds / 3) stream.nodes = {"n_2", "n_3"};
    stream.round();
  }
  stream.looker = nullptr;
  return stream;
}

// A week; a day in the instrumented build, which is many times slower.
#if defined(__SANITIZE_ADDRESS__)
constexpr int week_rounds = 1'440;
#else
constexpr int week_rounds = 10'080;
#endif

const Stream& week() {
  static const Stream stream = recorded(week_rounds);
  return stream;
}

TEST(StatusVerify, ARecordedWeekFits) {
  Verified verified;
  const std::vector<std::string> lines = lines_of(week().evidence());
  EXPECT_EQ(fault_in(lines, key_of(week()), &verified), "");
  EXPECT_EQ(verified.rounds, std::uint64_t{week_rounds});
  EXPECT_EQ(verified.states, std::uint64_t{week_rounds});
  EXPECT_EQ(verified.records + verified.rounds + 1, lines.size());
  EXPECT_EQ(verified.last_round, std::uint64_t{week_rounds});
  EXPECT_GT(week().events.size(), 20u);
  for (const char* edge : {"first_failure", "opened", "passing", "recovered"}) {
    EXPECT_THAT(week().edges(), HasSubstr(edge));
  }
  for (const char* rare : {"not_confirmed", "failed_again", "severity_changed"}) {
    if (week_rounds < 10'080) continue;
    EXPECT_THAT(week().edges(), HasSubstr(rare));
  }
  std::printf("a week of %zu lines, %zu bytes, %zu edges\n", lines.size(),
              week().evidence().size(), week().events.size());
}

TEST(StatusVerify, SegmentsAndBookAreTheSameBytesWhenRebuilt) {
  Stream again(week().set);
  std::vector<Segment> rebuilt;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Segment> segments;
  for (const StoredRound& round : week().stored) {
    std::vector<Record> records;
    for (const std::string& line : lines_of(*round.lines)) records.push_back(*read_line(line));
    for (Segment& segment : again.book.apply(week().set, round.round.head, records).segments) {
      segments[{segment.scope, segment.length_ms, segment.started_at_ms}] = std::move(segment);
    }
  }
  EXPECT_EQ(again.book.canonical(), week().book.canonical());
  EXPECT_EQ(segments, week().segments);
}

TEST(StatusVerify, SumsHoldInEverySegment) {
  std::uint64_t unknown = 0;
  for (const auto& [key, segment] : week().segments) {
    ASSERT_EQ(segment.expected, segment.passed + segment.failed + segment.unknown);
    ASSERT_EQ(segment.started_at_ms % segment.length_ms, 0);
    std::uint64_t looks = 0;
    for (const std::uint32_t count : segment.latencies) looks += count;
    ASSERT_EQ(looks, segment.passed + segment.failed);
    unknown += segment.unknown;
  }
  EXPECT_GT(unknown, 0u);
  // A day contains what its hours contain, and an hour what its five-minute segments contain.
  for (const std::size_t length : {1u, 2u}) {
    std::map<std::pair<std::string, std::int64_t>, std::uint64_t> sums;
    const std::int64_t span_ms = Segment::lengths_ms[length];
    for (const auto& [key, segment] : week().segments) {
      if (segment.length_ms != Segment::lengths_ms[length - 1]) continue;
      sums[{segment.scope, segment.started_at_ms / span_ms}] += segment.expected;
    }
    for (const auto& [key, segment] : week().segments) {
      if (segment.length_ms != span_ms) continue;
      EXPECT_EQ((sums[{segment.scope, segment.started_at_ms / span_ms}]), segment.expected);
    }
  }
}

TEST(StatusVerify, BeginsAtAKeptBook) {
  Stream stream = recorded(50);
  const Book middle = std::move(*Book::read(stream.book.canonical()));
  for (int at = 0; at < 30; ++at) stream.round();
  std::string text;
  append_book(text, 50, middle.canonical());
  text += stream.evidence(50);
  Verified verified;
  EXPECT_EQ(fault_in(lines_of(text), key_of(stream), &verified), "");
  EXPECT_EQ(verified.first_round, 51u);
  EXPECT_EQ(verified.states, 30u);

  // The book was falsified: the next round signed another state.
  std::string painted = middle.canonical();
  painted.replace(painted.find("\"passes\":"), 10, "\"passes\":9");
  std::string changed;
  append_book(changed, 50, painted);
  EXPECT_NE(fault_in(lines_of(changed + stream.evidence(50)), key_of(stream)), "");
  // A book that no round follows proves nothing.
  std::string alone;
  append_book(alone, 50, middle.canonical());
  EXPECT_EQ(fault_in(lines_of(alone), key_of(stream)),
            "the book in line 1 is followed by no round that proves it");
}

// As served in pages: each begins with its target set, and with a book if one was kept.
TEST(StatusVerify, PagesMayRepeatSetsAndBooks) {
  Stream stream = recorded(20);
  std::string text = stream.evidence();
  append_book(text, 20, stream.book.canonical());
  for (int at = 0; at < 5; ++at) stream.round();
  text += stream.evidence(20);
  EXPECT_EQ(fault_in(lines_of(text), key_of(stream)), "");
  text += stream.evidence(25 - 1).substr(0, text.find('\n') + 1);
  append_book(text, 25, "{}");
  EXPECT_THAT(fault_in(lines_of(text), key_of(stream)),
              HasSubstr("is not the one that the round signed"));
}

TEST(StatusVerify, PrunedRoundsAreCheckedByTheirHeads) {
  Stream stream = recorded(40);
  std::string text;
  append_targets(text, stream.sets.front());
  for (std::size_t at = 0; at < 40; ++at) {
    StoredRound round = stream.stored[at];
    if (at < 20) round.lines.reset();
    append_round(text, round);
  }
  Verified verified;
  EXPECT_EQ(fault_in(lines_of(text), key_of(stream), &verified), "");
  EXPECT_EQ(verified.pruned, 20u);
  EXPECT_EQ(verified.states, 0u);
  EXPECT_EQ(verified.rounds, 40u);
}

class StatusTampering : public testing::Test {
 protected:
  StatusTampering() : stream_(recorded(60)), lines_(lines_of(stream_.evidence())) {}

  // The index of a round's line; its records follow.
  [[nodiscard]] std::size_t line_of_round(std::size_t round) const {
    std::size_t line = 1;
    for (std::size_t at = 1; at < round; ++at) line += 1 + stream_.stored[at - 1].round.head.count;
    return line;
  }
  [[nodiscard]] std::string fault() const { return fault_in(lines_, key_of(stream_)); }

  const Stream stream_;
  std::vector<std::string> lines_;
};

TEST_F(StatusTampering, AFlippedByteIsFound) {
  std::string& line = lines_[line_of_round(7) + 3];
  const std::size_t at = line.find("\"result\":\"pass\"");
  ASSERT_NE(at, line.npos);
  line.replace(line.find("\"latency_ms\":7"), 14, "\"latency_ms\":6");
  EXPECT_EQ(fault(), "the records of round 7 (behind line " +
                         std::to_string(line_of_round(7) + 1) +
                         ") are not those that its head was made of");
}

TEST_F(StatusTampering, EveryFlippedBitOfSomeLinesIsFound) {
  const std::size_t begin = line_of_round(5);
  for (std::size_t line = begin; line < begin + 4; ++line) {
    for (std::size_t byte = 0; byte < lines_[line].size(); byte += 3) {
      const char kept = lines_[line][byte];
      lines_[line][byte] = static_cast<char>(kept ^ (1 << byte % 7));
      ASSERT_NE(fault(), "") << line << ":" << byte;
      lines_[line][byte] = kept;
    }
  }
  EXPECT_EQ(fault(), "");
}

TEST_F(StatusTampering, ADroppedRecordIsNamed) {
  const std::size_t at = line_of_round(9) + 4;
  const Record next = *read_line(lines_[at + 1]);
  lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at));
  EXPECT_EQ(fault(), "record " + std::to_string(next.sequence - 1) + " is missing: record " +
                         std::to_string(next.sequence) + " of round 9 in line " +
                         std::to_string(at + 1) + " (" + next.target + ") is in its place");
}

TEST_F(StatusTampering, ADroppedLastRecordIsNamed) {
  const std::size_t at = line_of_round(10) - 1;
  lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(at));
  EXPECT_THAT(fault(), HasSubstr("line " + std::to_string(at + 1) + " does not fit: record "));
}

TEST_F(StatusTampering, ADroppedRoundIsNamed) {
  const auto from = static_cast<std::ptrdiff_t>(line_of_round(20));
  const auto to = static_cast<std::ptrdiff_t>(line_of_round(21));
  lines_.erase(lines_.begin() + from, lines_.begin() + to);
  EXPECT_EQ(fault(), "round 20 is missing: line " + std::to_string(from + 1) + " holds round 21");
}

TEST_F(StatusTampering, SwappedRoundsAreNamed) {
  const auto at = [&](std::size_t round) {
    return lines_.begin() + static_cast<std::ptrdiff_t>(line_of_round(round));
  };
  std::rotate(at(30), at(31), at(32));
  EXPECT_THAT(fault(), HasSubstr("round 30 is missing: line "));
}

TEST_F(StatusTampering, ARoundThatIsToldTwiceIsNamed) {
  const auto at = [&](std::size_t round) {
    return lines_.begin() + static_cast<std::ptrdiff_t>(line_of_round(round));
  };
  const std::vector<std::string> twice(at(30), at(31));
  lines_.insert(at(31), twice.begin(), twice.end());
  EXPECT_THAT(fault(), HasSubstr("is out of order: round 31 is the next"));
}

TEST_F(StatusTampering, AnotherKeyIsNamed) {
  crypto::Ed25519Seed other{};
  const crypto::Ed25519PublicKey key = crypto::ed25519_public_key(other);
  EXPECT_EQ(fault_in(lines_, key),
            "round 1 in line 2 was signed by the key " + key_id(key_of(stream_)) +
                ", which is none of those given");
  // Another key under the same key id.
  Stream forged = recorded(3);
  RoundHead head = forged.stored[1].round.head;
  const SignedRound round = sign(head, other);
  forged.stored[1].round = round;
  EXPECT_THAT(fault_in(lines_of(forged.evidence()), key_of(forged)),
              AllOf(HasSubstr("round 2 in line "), HasSubstr(" was not signed by the key ")));
}

TEST_F(StatusTampering, AChangedSetOfTargetsIsNamed) {
  std::string& line = lines_.front();
  line.replace(line.find("gateway:healthz"), 15, "gateway:healthy");
  EXPECT_EQ(fault(), "the set of targets in line 1 is not the one that its hash names");
  TargetSet fewer = stream_.set;
  fewer.targets.erase(fewer.targets.begin());
  std::string text;
  append_targets(text, fewer.canonical());
  line = lines_of(text).front();
  EXPECT_EQ(fault(), "round 1 in line 2 commits to the set of targets " + stream_.set.hash() +
                         ", which the evidence does not hold");
}

TEST_F(StatusTampering, ASignedStateThatDoesNotFollowIsNamed) {
  Stream painted = recorded(12);
  RoundHead head = painted.stored[7].round.head;
  head.state_hash = painted.stored[6].round.head.state_hash;
  painted.stored[7].round = sign(head, painted.seed);
  EXPECT_THAT(fault_in(lines_of(painted.evidence()), key_of(painted)),
              AllOf(HasSubstr("round 8 in line "),
                    HasSubstr("signs a state that does not follow from the evidence")));
}

TEST_F(StatusTampering, AnEndInTheMiddleIsFound) {
  lines_.resize(line_of_round(60) + 3);
  EXPECT_THAT(fault(), HasSubstr("the evidence ends in round 60"));
}

TEST_F(StatusTampering, NothingIsTakenBehindAFault) {
  Verifier verifier({key_of(stream_)});
  EXPECT_FALSE(verifier.take("nonsense"));
  EXPECT_EQ(verifier.problem(), "line 1 is neither a round nor a set of targets nor a book");
  EXPECT_FALSE(verifier.take(lines_.front()));
  EXPECT_FALSE(verifier.end());
}

}  // namespace
}  // namespace turnpike::status
