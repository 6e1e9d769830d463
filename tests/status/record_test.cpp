// The text of records and rounds: each value has one text, and no other text is accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "status/stream.h"
#include "status/text_form.h"
#include "text/canonical_json.h"

namespace turnpike::status {
namespace {

using testing::HasSubstr;

Record full() {
  Record record;
  record.sequence = 4'711;
  record.kind = RecordKind::contract;
  record.target = "operation:route-1:GET";
  record.generation = "g_1";
  record.node = "n_1";
  record.due_at_ms = test_begin_ms;
  record.started_at_ms = test_begin_ms + 12;
  record.latency_ms = 0;
  record.result = LookResult::fail;
  record.reason = Reason::contract;
  record.difference = "/data/0/id was string, is \"number\"\n";
  record.status = 200;
  record.expect_hash = "sha256:ab";
  record.body_sha256 = "cd";
  record.sweep_id = "swp_1";
  return record;
}

TEST(StatusRecords, AreCanonicalAndReadBack) {
  Record traffic = full();
  traffic = {};
  traffic.sequence = 1;
  traffic.kind = RecordKind::traffic;
  traffic.target = "traffic:gateway";
  traffic.generation = "g";
  traffic.node = "n";
  traffic.traffic = traffic_of(3, 4);
  Record counted = traffic;
  counted.traffic->counts = Traffic::Counts{9'993, 3, 4};
  Record thin = traffic;
  thin.traffic = Traffic();
  for (const Record& record : {full(), traffic, counted, thin}) {
    const std::string line = line_of(record);
    EXPECT_EQ(text::canonical_json(nlohmann::json::parse(line)), line);
    const auto read = read_line(line);
    ASSERT_TRUE(read.ok()) << read.error() << line;
    EXPECT_EQ(*read, record);
  }
}

TEST(StatusRecords, AreAsTheyAreDocumented) {
  Record record = full();
  record.difference.clear();
  EXPECT_EQ(line_of(record),
            R"({"body_sha256":"cd","due_at":"2026-11-23T00:00:00.000Z","expect_hash":"sha256:ab",)"
            R"("generation":"g_1","kind":"contract","latency_ms":0,"node":"n_1",)"
            R"("reason":"contract","result":"fail","seq":4711,)"
            R"("started_at":"2026-11-23T00:00:00.012Z","status":200,"sweep_id":"swp_1",)"
            R"("target":"operation:route-1:GET"})");
}

TEST(StatusRecords, OtherTextsOfTheSameValuesAreRefused) {
  const std::string line = line_of(full());
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {",\"kind\"", ", \"kind\""},
           {"\"seq\":4711", "\"seq\":4711.0"},
           {"\"seq\":4711", "\"seq\":47110e-1"},
           {"n_1", "\\u006e_1"},
           {".012Z", ".012+00:00"},
           {"\"status\":200,", "\"status\":200,\"more\":1,"},
           {"\"status\":200", "\"status\":200,\"status\":200"}}) {
    std::string other = line;
    other.replace(other.find(from), from.size(), to);
    EXPECT_FALSE(read_line(other).ok()) << other;
  }
}

TEST(StatusRecords, ThatMakeNoSenseAreRefused) {
  Record record = full();
  record.traffic = traffic_of(1);
  EXPECT_THAT(read_line(line_of(record)).error(), HasSubstr("kind traffic"));
  record.kind = RecordKind::traffic;
  EXPECT_TRUE(read_line(line_of(record)).ok());
  record.traffic->good -= 1;
  EXPECT_THAT(read_line(line_of(record)).error(), HasSubstr("add up to 10,000"));
  record = full();
  record.result = LookResult::pass;
  EXPECT_THAT(read_line(line_of(record)).error(), HasSubstr("names a reason"));
  record = full();
  record.sequence = 0;
  EXPECT_FALSE(read_line(line_of(record)).ok());
  record = full();
  record.difference.assign(text_bytes_max + 1, 'x');
  EXPECT_FALSE(read_line(line_of(record)).ok());
  EXPECT_FALSE(read_line("[]").ok());
  EXPECT_FALSE(read_line("").ok());
  EXPECT_FALSE(read_line(std::string(100'000, '[')).ok());
}

TEST(StatusRounds, AreSignedReadBackAndChained) {
  Stream stream(dozen());
  stream.signs = true;
  stream.rounds(2);
  const SignedRound& first = stream.stored[0].round;
  const SignedRound& second = stream.stored[1].round;
  EXPECT_EQ(first.head.prev, first_prev);
  EXPECT_EQ(second.head.prev, first.head.head);
  EXPECT_EQ(chained_head(first.head.head, *stream.stored[1].lines), second.head.head);
  const std::string text = text_of(second);
  EXPECT_EQ(text::canonical_json(nlohmann::json::parse(text)), text);
  const auto read = read_round(text);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(*read, second);
  const auto key = crypto::ed25519_public_key(stream.seed);
  EXPECT_TRUE(is_signed_by(second, key));
  EXPECT_EQ(second.head.kid, key_id(key));
  SignedRound changed = second;
  changed.head.nodes.push_back("n_2");
  EXPECT_FALSE(is_signed_by(changed, key));
  changed = second;
  changed.signature.pop_back();
  EXPECT_FALSE(is_signed_by(changed, key));
}

TEST(StatusRounds, OfAnotherFormAreRefused) {
  Stream stream(dozen());
  stream.signs = true;
  stream.nodes = {"n_1", "n_2"};
  stream.round();
  const std::string text = text_of(stream.stored[0].round);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"n_1\",\"n_2\"", "\"n_2\",\"n_1\""},
           {"\"n_1\",\"n_2\"", "\"n_1\",\"n_1\""},
           {"sha256:0", "SHA256:0"},
           {"\"round\":1", "\"round\":0"},
           {"\"epoch\":1", "\"epoch\":-1"},
           {"\"count\"", "\"Count\""}}) {
    std::string other = text;
    ASSERT_NE(other.find(from), other.npos) << from;
    other.replace(other.find(from), from.size(), to);
    EXPECT_FALSE(read_round(other).ok()) << other;
  }
}

// The formula of docs/status.md, computed by hand.
TEST(StatusRounds, TheHeadIsTheHashOfTheHashes) {
  const std::string lines = "{}\n";
  const std::string body = "\xca\x3d\x16\x3b\xab\x05\x53\x81\x82\x72\x26\x14\x05\x68\xf3\xbe"
                           "\xf7\xea\xac\x18\x7c\xeb\xd7\x68\x78\xe0\xb6\x3e\x9e\x44\x23\x56";
  EXPECT_EQ(hash_of(lines),
            "sha256:ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356");
  EXPECT_EQ(chained_head(first_prev, lines), hash_of(std::string(32, '\0') + body));
}

}  // namespace
}  // namespace turnpike::status
