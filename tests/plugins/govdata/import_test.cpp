// Importers: the counts of the real data, repeated imports, bad records, hostile input.
#include <zlib.h>

#include "fixtures.h"
#include "govdata/import/abi.h"
#include "govdata/import/csv.h"
#include "govdata/import/governor_event.h"
#include "govdata/import/run.h"
#include "govdata/import/sample.h"
#include "govdata/store/digest.h"

namespace turnpike::govdata {
namespace {

class ImportTest : public StoreTest {
 protected:
  void expect_twice(const ImportOptions& with, const std::string& file, std::int64_t records,
                    std::int64_t bad = 0) {
    SCOPED_TRACE(file);
    expect_counts(import_shared(with, file), records, records - bad, 0, 0, bad);
    expect_counts(import_shared(with, file), records, 0, 0, records - bad, bad);
  }
};

TEST_F(ImportTest, DecentralandAsTheHubAnswers) {
  REQUIRE_SHARED_DATA();
  clock.step_ms(at("2023-02-28T10:30:55Z") - clock.now_ms());
  ImportOptions with = options(Format::snapshot_graphql, "decentraland");
  with.now_ms = clock.now_ms();
  expect_twice(with, "decentraland/derived.snapshot-hub.proposals.json", 260);
  // 7 of the 1,000 votes are on proposals that are not among the newest 260.
  expect_twice(with, "decentraland/derived.snapshot-hub.votes.json", 1000, 7);
  EXPECT_EQ(rejected.size(), 7u);
  std::int64_t active = 0;
  std::int64_t closed = 0;
  scan_states(store(), std::nullopt, [&](const StateRow& row) {
    const Lifecycle lifecycle = evaluate(row.times, row.standing, clock.now_ms()).lifecycle;
    active += lifecycle == Lifecycle::active ? 1 : 0;
    closed += lifecycle == Lifecycle::closed ? 1 : 0;
  });
  EXPECT_EQ(active, 4);
  EXPECT_EQ(closed, 256);
  EXPECT_EQ(text("SELECT scores_total FROM proposal WHERE external_id = "
                 "'0x8695fcbf1ada99f4d9b455dc507bfd5d9b5027f1ce3c57b471238741ea3ffc08'"),
            "334739.5564814048")
      << "the digits of the source";
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE outcome <> 'unknown'"), 0)
      << "the data has no scores, so no outcome may be guessed";
}

TEST_F(ImportTest, GovernorCsvOfTwoContracts) {
  REQUIRE_SHARED_DATA();
  ImportOptions with = options(Format::governor_logs, "uniswap");
  expect_twice(with, "governor-uniswap/ProposalCreated.csv", 83);
  expect_twice(with, "governor-uniswap/VoteCast.proposal83.csv", 352);
  EXPECT_EQ(text("SELECT title FROM proposal WHERE external_id='83'"), "Uniswap Unleashed");
  EXPECT_EQ(text("SELECT title FROM proposal WHERE external_id='1'"), "Proposal 1");
  EXPECT_EQ(number("SELECT votes_count FROM proposal WHERE external_id='83'"), 352);
  EXPECT_EQ(number("SELECT count(*) FROM proposal_action a JOIN proposal p USING (proposal_pk)"
                   " WHERE p.external_id='82'"),
            6);
  EXPECT_EQ(text("SELECT signature FROM proposal_action a JOIN proposal p USING (proposal_pk)"
                 " WHERE p.external_id='82' AND action_index=5"),
            "deposit((address,uint256)[])");
  EXPECT_EQ(text("SELECT calldata FROM proposal_action a JOIN proposal p USING (proposal_pk)"
                 " WHERE p.external_id='83'")
                .substr(0, 10),
            "0xa9059cbb");
  EXPECT_EQ(text("SELECT clock_mode || 'x' FROM source"), "");
  with = options(Format::governor_logs, "optimism");
  with.chain_id = 10;
  for (const auto& [name, records] : {std::pair{"standard", 26},
                                      {"standard-with-type", 47},
                                      {"module", 14},
                                      {"module-with-type", 40}}) {
    expect_twice(with, "governor-optimism/ProposalCreated." + std::string(name) + ".csv", records);
  }
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE dao_id='optimism'"), 127);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE time_confidence <> 'observed'"), 0)
      << "without block times nothing is known of when";
}

TEST_F(ImportTest, HubVotesOfEveryVotingType) {
  REQUIRE_SHARED_DATA();
  ImportOptions with = options(Format::snapshot_graphql, "hub");
  with.scope = "hub.eth";
  std::int64_t votes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared("snapshot-hub-json"))) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("hub-proposal-", 0) != 0) continue;
    expect_twice(with, "snapshot-hub-json/" + name, 1);
    with.proposal_id = entry.path().stem().string().substr(13);
    const std::string ballots = "snapshot-hub-json/hub-votes-" + with.proposal_id + ".json";
    const ImportSummary first = import_shared(with, ballots);
    EXPECT_EQ(first.rows_new, first.rows_in);
    expect_counts(import_shared(with, ballots), first.rows_in, 0, 0, first.rows_in);
    votes += first.rows_new;
  }
  EXPECT_EQ(votes, 2238);
  EXPECT_EQ(number("SELECT count(*) FROM proposal"), 8);
  EXPECT_EQ(text("SELECT power FROM vote WHERE external_id="
                 "'bafkreidjlyexyhtjp2gl5kmtdvvalzl6ij7clwwvfsp6sp2y4a6exj52lq'"),
            "2045.601142949226");
  EXPECT_EQ(text("SELECT choice_json FROM vote WHERE external_id="
                 "'bafkreidjlyexyhtjp2gl5kmtdvvalzl6ij7clwwvfsp6sp2y4a6exj52lq'"),
            "{\"22\":3}");
}

TEST_F(ImportTest, DiscourseShapes) {
  REQUIRE_SHARED_DATA();
  const ImportOptions with = options(Format::discourse, "forum");
  expect_twice(with, "discourse/categories.json", 3);
  expect_twice(with, "discourse/topic.json", 5);
  expect_twice(with, "discourse/posts_latest.json", 4);
  expect_twice(with, "discourse/category_topics.json", 2);
  EXPECT_EQ(text("SELECT url FROM forum_topic WHERE external_id='57'"),
            "https://forum.example.org/t/this-site-is-a-sandbox-it-is-reset-every-day/57");
  EXPECT_EQ(number("SELECT created_at FROM forum_topic WHERE external_id='57'"),
            at("2013-02-04T20:26:25.977Z"));
  EXPECT_EQ(text("SELECT author FROM forum_topic WHERE external_id='57'"), "samsaffron");
  EXPECT_EQ(text("SELECT substr(excerpt,1,16) FROM forum_topic WHERE external_id='57'"),
            "Welcome! Try is ");
  // The list has three different topics with one id: the first is imported, the others are ignored.
  ImportSummary summary = import_shared(with, "discourse/latest.json");
  EXPECT_EQ(summary.rows_ignored, 2);
  summary = import_shared(with, "discourse/latest.json");
  EXPECT_EQ(summary.rows_changed + summary.rows_new, 0);
  EXPECT_EQ(import_shared(with, "discourse/replies.json").status, "failed");
  EXPECT_EQ(rejected.at(0).reason, "neither a topic list nor a topic nor posts nor categories");
}

TEST_F(ImportTest, TheSampleLoadsTwiceAndStaysCurrent) {
  const std::string folder = support::source_path("plugins/govdata/sample");
  const auto load = [&](std::int64_t now_ms) {
    std::int64_t fresh = 0;
    std::int64_t changed = 0;
    for (const SampleResult& result : load_sample(store(), folder, now_ms, nullptr)) {
      EXPECT_EQ(result.summary.status, "ok") << result.file << ": " << result.summary.error;
      fresh += result.summary.rows_new;
      changed += result.summary.rows_changed;
    }
    return std::pair{fresh, changed};
  };
  EXPECT_GT(load(clock.now_ms()).first, 400);
  EXPECT_EQ(load(clock.now_ms() + 3 * ms_per_hour), (std::pair<std::int64_t, std::int64_t>{0, 0}));
  const auto moved = load(clock.now_ms() + 3 * ms_per_day);
  EXPECT_EQ(moved.first, 0);
  EXPECT_GT(moved.second, 0) << "after a day the sample is brought up to date";
  EXPECT_EQ(number("SELECT count(*) FROM dao"), 4);
  EXPECT_GE(number("SELECT count(*) FROM item_link"), 8);
}

constexpr const char* three_proposals = R"({"data":{"proposals":[
 {"id":"0xA1","title":"One","choices":["For","Against"],"scores":[3,1.5],"scores_total":4.5,
  "type":"basic","state":"closed","start":1767225600,"end":1767312000,"created":1767225500,
  "quorum":2,"votes":2,"space":{"id":"s.eth","name":"S"},
  "discussion":"https://forum.example.org/t/one/7"},
 {"id":"0xA2","title":"Two","choices":["For","Against"],"type":"basic","state":"active",
  "start":1767225600,"end":4102444800,"space":{"id":"s.eth"}},
 {"id":"0xA3","title":"Three","start":1767225600,"end":1767312000,"space":{"id":"s.eth"},
  "type":"basic","choices":["For","Against"]}]}})";

TEST_F(ImportTest, ChangesMakeRevisionsThatNameTheFields) {
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  expect_counts(import(with, three_proposals), 3, 3, 0, 0);
  std::string edited = three_proposals;
  edited.replace(edited.find("\"One\""), 5, "\"Uno\"");
  edited.replace(edited.find("[3,1.5]"), 7, "[3,2.5]");
  expect_counts(import(with, edited), 3, 0, 1, 2);
  EXPECT_EQ(text("SELECT changed_fields FROM proposal_revision WHERE revision=2"),
            "[\"scores\",\"title\"]");
  EXPECT_EQ(number("SELECT revision FROM proposal WHERE external_id='0xa1'"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM proposal_title_fts WHERE title_norm MATCH '\"uno\"'"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM proposal_title_fts WHERE title_norm MATCH '\"one\"'"), 0);
  EXPECT_EQ(text("SELECT outcome FROM proposal WHERE external_id='0xa1'"), "passed");
  EXPECT_EQ(number("SELECT value FROM meta WHERE key='revision'"), 2);
}

TEST_F(ImportTest, ADryRunKeepsNothing) {
  ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  with.dry_run = true;
  expect_counts(import(with, three_proposals), 3, 3, 0, 0);
  EXPECT_EQ(number("SELECT count(*) FROM proposal") + number("SELECT count(*) FROM import_run") +
                number("SELECT count(*) FROM dao"),
            0);
}

TEST_F(ImportTest, BadRecordsAreNamedAndOneFifthIsTheLimit) {
  std::string lines;
  for (int at_line = 0; at_line < 10; ++at_line) {
    lines += R"({"id":"0x)" + std::to_string(at_line) +
             R"(","title":"T","choices":[],"start":1,"end":2,"space":{"id":"s.eth"}})" + "\n";
  }
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  const std::string two_bad = lines.substr(0, lines.rfind("{\"id\":\"0x8")) + "{\"id\": oops}\n" +
                              R"({"title":"no id","choices":[]})" + "\n";
  ImportSummary summary = import(with, two_bad);
  EXPECT_EQ(summary.status, "partial") << summary.error;
  EXPECT_EQ(summary.rows_rejected, 2);
  ASSERT_EQ(rejected.size(), 2u);
  EXPECT_EQ(rejected[0].position, "line 9");
  EXPECT_NE(rejected[0].reason.find("no JSON"), std::string::npos);
  EXPECT_EQ(rejected[1].position, "line 10");
  EXPECT_EQ(rejected[1].reason, "id is missing");
  EXPECT_EQ(text("SELECT status || ' ' || rows_rejected FROM import_run"), "partial 2");
  EXPECT_EQ(text("SELECT last_error FROM source"), "2 of 10 records rejected");

  const std::string three_bad = two_bad + "{\"x\":1}\n";
  summary = import(options(Format::snapshot_graphql, "other-dao"), three_bad);
  EXPECT_EQ(summary.status, "failed");
  EXPECT_EQ(number("SELECT count(*) FROM dao WHERE dao_id='other-dao'"), 0) << "rolled back";
  EXPECT_EQ(text("SELECT status FROM import_run ORDER BY run_id DESC"), "failed");
}

// Regression: the JSON library treats a NUL byte as the end of its input.
TEST_F(ImportTest, ALineWithANulByteIsABadRecord) {
  std::string lines;
  for (int at_line = 0; at_line < 10; ++at_line) {
    lines += R"({"id":"0x)" + std::to_string(at_line) +
             R"(","title":"T","choices":[],"start":1,"end":2,"space":{"id":"s.eth"}})";
    if (at_line == 7) lines += std::string_view("\0{garbage", 10);
    lines += "\n";
  }
  const ImportSummary summary = import(options(Format::snapshot_graphql, "s-dao"), lines);
  EXPECT_EQ(summary.status, "partial") << summary.error;
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].position, "line 8");
  EXPECT_NE(rejected[0].reason.find("no JSON"), std::string::npos) << rejected[0].reason;
}

TEST_F(ImportTest, ReadsGzipFromItsFirstBytesInSeveralMembers) {
  const auto zipped = [](std::string_view bytes) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(bytes.size() + 1024, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  };
  const std::string_view whole = three_proposals;
  const std::string gzip = zipped(whole.substr(0, 200)) + zipped(whole.substr(200));
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  expect_counts(import(with, gzip), 3, 3, 0, 0);
  EXPECT_EQ(import(with, gzip.substr(0, gzip.size() - 20)).error, "the gzip data ends too early");
  std::string damaged = gzip;
  damaged[60] = static_cast<char>(damaged[60] ^ 0x55);
  EXPECT_EQ(import(with, damaged).status, "failed");
}

TEST_F(ImportTest, HostileJsonFailsWithinBounds) {
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  EXPECT_EQ(import(with, std::string(100'000, '[')).error, "JSON nested deeper than 64");
  std::string deep = R"({"data":{"proposals":[{"id":"x","a":)" + std::string(100, '[');
  EXPECT_EQ(import(with, deep).error, "JSON nested deeper than 64");
  EXPECT_NE(import(with, "{\"data\":{\"proposals\":[{\"id\":\"\xff\"}]}}").error.find("no JSON"),
            std::string::npos);
  EXPECT_NE(import(with, R"({"data":{"proposals":[{"id":"a")").error.find("no JSON"),
            std::string::npos);
  EXPECT_EQ(import(with, "").status, "ok");
  EXPECT_EQ(import(with, "   \n ").rows_in, 0);
  EXPECT_EQ(import(with, "[1,2,null]").rows_rejected, 3);
  EXPECT_EQ(import(with, R"({"data":{"proposals":null}})").rows_rejected, 1);
  std::string many = R"({"data":{"proposals":[{"id":"x","a":[)";
  for (int item = 0; item < 1'000'001; ++item) many += "0,";
  EXPECT_EQ(import(with, many).error, "a record has more than a million values");
}

TEST_F(ImportTest, FieldsBeyondTheirBoundsAreRejectedByName) {
  const auto reason = [&](const std::string& fields) {
    import(options(Format::snapshot_graphql, "s-dao"),
           R"({"data":{"proposals":[{"id":"0x1","space":{"id":"s.eth"},"choices":[])" + fields +
               "}]}}");
    return rejected.empty() ? std::string("taken") : rejected[0].reason;
  };
  EXPECT_EQ(reason(R"(,"body":")" + std::string((1 << 20) + 1, 'b') + "\""),
            "body is longer than 1048576 bytes");
  EXPECT_EQ(reason(R"(,"body":")" + std::string(1 << 20, 'b') + "\""), "taken");
  EXPECT_EQ(reason(R"(,"start":"soon")"), "start is no time in seconds");
  EXPECT_EQ(reason(R"(,"start":1e300)"), "start is no time in seconds");
  EXPECT_EQ(reason(R"(,"start":20,"end":10)"), "end lies before start");
  EXPECT_EQ(reason(R"(,"title":7)"), "title is no string");
  EXPECT_EQ(reason(R"(,"title":"a\u0000b")"), "title holds a NUL");
  EXPECT_EQ(reason(R"(,"flagged":"yes")"), "flagged is no boolean");
  EXPECT_EQ(reason(R"(,"quorum":"lots")"), "quorum is no number");
}

// ProposalCreated(uint256,address,address[],uint256[],string[],bytes[],uint256,uint256,string)
std::string created_data() {
  const std::string lists = word(1) + word(0x1234) +                     // targets
                            word(1) + word(5) +                          // values
                            word(1) + word(32) + padded("f(uint256)") +  // signatures
                            word(1) + word(32) + padded("\x01\x02");     // calldatas
  const std::string head = word(77) + word(0xabcd) + word(9 * 32) + word(11 * 32) + word(13 * 32) +
                           word(17 * 32) + word(1000) + word(2000) + word(21 * 32);
  return "0x" + head + lists + padded("# Raw title\n\nBody");
}

std::string raw_log(const std::string& topic, const std::string& data,
                    const std::string& extra_topic = "") {
  return R"({"address":"0x00000000000000000000000000000000000000AA","blockNumber":"0x3e8",)"
         R"("logIndex":"0x1","transactionHash":"0x99","topics":["0x)" +
         topic + "\"" + (extra_topic.empty() ? "" : ",\"0x" + extra_topic + "\"") +
         R"(],"data":")" + data + "\"}\n";
}

constexpr const char* created_topic =
    "7d84a6263ae0d98d3329bd7b46bb4e8d6f98cd35a7adb45c274c8b7fd5ebd5e0";
constexpr const char* vote_topic =
    "b8e138887d0aa13bab447e82de9d5c1777041ecd21ca36ba824ff1e6c07ddda4";
constexpr const char* queued_topic =
    "9a2e42fd6722813d69113e7d0079d3d940171428df7373df9c7f7617cfda2892";
constexpr const char* executed_topic =
    "712ae1383f79ac853f8d882153778e0260ef8f03b504e2866e0593e04d2b291f";
constexpr const char* extended_topic =
    "541f725fb9f7c98a30cc9c0ff32fbb14358cd7159c847a3aa20a2bdc442ba511";

TEST_F(ImportTest, RawLogsWithBlockTimes) {
  support::TemporaryDirectory folder;
  {
    std::FILE* blocks = std::fopen(folder.file("blocks.csv").c_str(), "w");
    std::fputs("block_number,timestamp\n1000,1700000000\n2100,1700013200\n", blocks);
    std::fclose(blocks);
  }
  ImportOptions with = options(Format::governor_logs, "raw-dao");
  with.blocks_path = folder.file("blocks.csv");
  const std::string ballot = word(77) + word(1) + word(500) + word(4 * 32) + padded("ok");
  const std::string logs =
      raw_log(created_topic, created_data()) + raw_log(vote_topic, "0x" + ballot, word(0xfeed)) +
      raw_log(extended_topic, "0x" + word(2050), word(77)) +
      raw_log(queued_topic, "0x" + word(77) + word(1)) + raw_log(executed_topic, "0x" + word(77)) +
      raw_log(std::string(64, '1'), "0x");
  ImportSummary summary = import(with, logs);
  EXPECT_EQ(summary.error, "");
  EXPECT_EQ(summary.rows_ignored, 1) << "an event that says nothing here";
  EXPECT_EQ(summary.rows_rejected, 0) << (rejected.empty() ? "" : rejected[0].reason);
  EXPECT_EQ(text("SELECT title FROM proposal"), "Raw title");
  EXPECT_EQ(text("SELECT scope FROM source"),
            "eip155:1:0x00000000000000000000000000000000000000aa");
  EXPECT_EQ(text("SELECT calldata || ' ' || signature || ' ' || value FROM proposal_action"),
            "0x0102 f(uint256) 5");
  EXPECT_EQ(number("SELECT voting_starts_at FROM proposal"), 1'700'000'000'000);
  EXPECT_EQ(number("SELECT voting_ends_at FROM proposal"), 1'700'012'600'000) << "extended";
  EXPECT_EQ(text("SELECT time_confidence FROM proposal"), "estimated");
  EXPECT_EQ(text("SELECT execution || ' ' || outcome FROM proposal"), "executed passed");
  EXPECT_EQ(text("SELECT scores_total FROM proposal"), "500");
  summary = import(with, logs);
  EXPECT_EQ(summary.rows_new + summary.rows_changed, 0) << "the second time nothing changes";
}

// A module's creation event has an address and its own bytes in place of the lists.
std::string module_data(bool typed) {
  const std::size_t words = typed ? 8 : 7;
  const std::string tail = typed ? word(3) : "";
  return "0x" + word(78) + word(0xabcd) + word(0xbeef) + word(words * 32) + word(1000) +
         word(2000) + word((words + 2) * 32) + tail + padded("\x07") + padded("# Module title");
}

// The standard creation event with a type appended, so every offset in the head is one word larger.
std::string typed_data() {
  const std::string lists = word(1) + word(0x1234) + word(1) + word(5) + word(1) + word(32) +
                            padded("f(uint256)") + word(1) + word(32) + padded("\x01\x02");
  return "0x" + word(79) + word(0xabcd) + word(10 * 32) + word(12 * 32) + word(14 * 32) +
         word(18 * 32) + word(1000) + word(2000) + word(22 * 32) + word(2) + lists +
         padded("# Typed title");
}

TEST_F(ImportTest, RawLogsOfAllFourCreations) {
  const ImportOptions with = options(Format::governor_logs, "raw-dao");
  const std::string logs =
      raw_log(created_topic, created_data()) +
      raw_log("e1a17f4770769f9d77ef56dd3b92500df161f3a1704ab99aec8ccf8653cae400",
              module_data(false)) +
      raw_log("c8df7ff219f3c0358e14500814d8b62b443a4bebf3a596baa60b9295b1cf1bde", typed_data());
  expect_counts(import(with, logs), 3, 3, 0, 0);
  const std::string typed_module =
      raw_log("505ee268ba7fa7dab901965f6c2eae1ca9a1199856dd0d4147302feb4000d82f",
              module_data(true));
  expect_counts(import(with, typed_module), 1, 0, 1, 0);
  EXPECT_EQ(text("SELECT group_concat(line, ';') FROM (SELECT external_id || ' ' || title || ' ' ||"
                 " voting_system || ' ' || coalesce(proposal_type, '-') || ' ' || start_block ||"
                 " ' ' || end_block AS line FROM proposal ORDER BY external_id)"),
            "77 Raw title governor - 1000 2000;78 Module title governor-module 3 1000 2000;"
            "79 Typed title governor 2 1000 2000");
  EXPECT_EQ(text("SELECT group_concat(external_id || ' ' || calldata) FROM proposal_action"
                 " JOIN proposal USING (proposal_pk)"),
            "77 0x0102,79 0x0102")
      << "what a module does stands in its own bytes";
  expect_counts(import(with, logs.substr(0, logs.find('\n') + 1) + typed_module), 2, 0, 0, 2);
}

TEST_F(ImportTest, HostileAbiIsRejectedNotRead) {
  const std::string good = created_data();
  const auto outcome = [&](const std::string& data) {
    import(options(Format::governor_logs, "raw-dao"), raw_log(created_topic, data));
    return rejected.empty() ? std::string("taken") : rejected[0].reason;
  };
  EXPECT_EQ(outcome(good), "taken");
  EXPECT_EQ(outcome("0x"), "the data ends before byte 0 plus 32");
  EXPECT_EQ(outcome(good + "f"), "data is no hex");
  const auto with_word = [&](std::size_t index, const std::string& value) {
    std::string data = good;
    return data.replace(2 + index * 64, 64, value);
  };
  const std::string huge(64, 'f');
  EXPECT_EQ(outcome(with_word(2, huge)), "an offset or length points outside of the data");
  EXPECT_EQ(outcome(with_word(9, word(5000))), "an offset or length points outside of the data");
  EXPECT_EQ(outcome(with_word(9, word(40))), "a list reaches outside of the data");
  EXPECT_EQ(outcome(with_word(21, word(600))), "a byte string reaches outside of the data");
  EXPECT_EQ(outcome(with_word(6, huge)), "a block number, time or type is out of range");
  EXPECT_EQ(outcome(with_word(1, huge)), "an address has more than 20 bytes");
  EXPECT_EQ(outcome(with_word(7, word(1))), "voting ends before it starts");
  // Every truncation gives a rejection or a record and never a read beyond the data.
  for (std::size_t length = 2; length < good.size(); length += 2) outcome(good.substr(0, length));
}

TEST(Abi, PartsMayNotBeCountedTwice) {
  // A list of 3 items that all point to the same 96 bytes.
  const std::string data = *bytes_of_hex(word(32) + word(3) + word(96) + word(96) + word(96) +
                                         padded(std::string(96, 'x')));
  AbiReader reader(data);
  EXPECT_THROW(reader.byte_lists(0), AbiError);
}

TEST(Csv, QuotesLinesAndLists) {
  Input input(open_memory("\xEF\xBB\xBFid,text\r\n1,\"a \"\"b\"\"\nc\"\n\n2,plain \"q\"\n3,"));
  CsvReader reader(input);
  std::vector<std::string> row;
  ASSERT_TRUE(reader.row(row));
  EXPECT_EQ(row, (std::vector<std::string>{"id", "text"}));
  ASSERT_TRUE(reader.row(row));
  EXPECT_EQ(row[1], "a \"b\"\nc");
  EXPECT_EQ(reader.line(), 2u);
  ASSERT_TRUE(reader.row(row));
  EXPECT_EQ(row[1], "plain \"q\"");
  EXPECT_EQ(reader.line(), 5u);
  ASSERT_TRUE(reader.row(row));
  EXPECT_EQ(row, (std::vector<std::string>{"3", ""}));
  EXPECT_FALSE(reader.row(row));
  std::vector<std::string> items;
  EXPECT_TRUE(read_list_cell("[\"f(a,b)\",\"x\\\"y\"]", items));
  EXPECT_EQ(items, (std::vector<std::string>{"f(a,b)", "x\"y"}));
  EXPECT_TRUE(read_list_cell("[]", items));
  EXPECT_TRUE(items.empty());
  EXPECT_TRUE(read_list_cell("[,ab]", items));
  EXPECT_EQ(items, (std::vector<std::string>{"", "ab"}));
  EXPECT_FALSE(read_list_cell("[\"open]", items));
  EXPECT_FALSE(read_list_cell("x", items));
}

TEST_F(ImportTest, CsvThatNeverEndsAQuoteFails) {
  const char* open_quote = "id,proposer,description\n1,x,\"open\n";
  EXPECT_EQ(import(options(Format::governor_logs, "d"), open_quote).error,
            "the quote of the row on line 2 never closes");
}

TEST_F(ImportTest, LinksProposalsAndTopicsWhicheverComesFirst) {
  const std::string thread = R"({"id":7,"title":"Unrelated words","slug":"one","posts_count":1,
    "created_at":"2026-01-01T00:00:00Z","post_stream":{"posts":[{"id":70,"post_number":1,
    "created_at":"2026-01-01T00:00:00Z","username":"u",
    "cooked":"<a href=\"https://snapshot.box/#/s:s.eth/proposal/0xA2\">vote</a>"}]}})";
  expect_counts(import(options(Format::discourse, "s-dao"), thread), 2, 2, 0, 0);
  EXPECT_EQ(number("SELECT governance_score FROM forum_topic"), 0);
  import(options(Format::snapshot_graphql, "s-dao"), three_proposals);
  EXPECT_EQ(text("SELECT group_concat(external_id || ' ' || basis) FROM (SELECT p.external_id,"
                 " l.basis FROM item_link l JOIN proposal p USING (proposal_pk)"
                 " ORDER BY p.external_id)"),
            "0xa1 discussion_url,0xa2 topic_url");
  EXPECT_EQ(number("SELECT governance_score FROM forum_topic"), 60);
}

TEST(GovernorSignatureTest, HashesAreThoseOfTheSignatures) {
  std::vector<GovernorSignature> all = governor_events();
  EXPECT_EQ(all.size(), 10U);
  all.insert(all.end(), {clock_mode_function, counting_mode_function, quorum_function});
  for (const GovernorSignature& signature : all) {
    EXPECT_EQ(keccak256_hex(signature.text).substr(0, signature.hash.size()), signature.hash)
        << signature.text;
  }
}

}  // namespace
}  // namespace turnpike::govdata
