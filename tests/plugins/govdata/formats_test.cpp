// All formats except the hub's, the logs and the forum: the counts of the real data, and seeds of
// each format for machines without that data.
#include "fixtures.h"
#include "govdata/import/run.h"

namespace turnpike::govdata {
namespace {

class FormatsTest : public StoreTest {
 protected:
  void expect_first_and_again(const ImportOptions& with, const std::string& file,
                              std::int64_t records, std::int64_t ignored = 0,
                              std::int64_t bad = 0) {
    SCOPED_TRACE(file);
    const ImportSummary first = import_shared(with, file);
    EXPECT_EQ(first.error, "");
    EXPECT_EQ(first.rows_in, records);
    EXPECT_EQ(first.rows_ignored, ignored);
    EXPECT_EQ(first.rows_rejected, bad);
    expect_counts(import_shared(with, file), records, 0, 0, records - ignored - bad, bad);
  }
  // Imports twice; the second time nothing may be new or changed.
  ImportSummary seed(const ImportOptions& with, std::string_view text) {
    const ImportSummary first = import(with, text);
    EXPECT_EQ(first.error, "");
    EXPECT_EQ(first.rows_rejected, 0) << (rejected.empty() ? "" : rejected[0].reason);
    const ImportSummary again = import(with, text);
    EXPECT_EQ(again.rows_new + again.rows_changed, 0);
    return first;
  }
  std::int64_t in_april(const std::string& column) {
    return number("SELECT count(*) FROM proposal WHERE " + column +
                  " >= " + std::to_string(at("2026-04-01T00:00:00Z")) + " AND " + column + " < " +
                  std::to_string(at("2026-05-01T00:00:00Z")));
  }
};

TEST_F(FormatsTest, AaveWithItsFourFiles) {
  REQUIRE_SHARED_DATA();
  ImportOptions with = options(Format::aave_v3, "aave");
  with.now_ms = at("2026-11-01T00:00:00Z");
  const std::string folder = "aave-governance-v3/";
  expect_first_and_again(with, folder + "proposals.chain1.json", 477);
  with.blocks_path = shared(folder + "derived.blocks.chain1.csv");
  expect_first_and_again(with, folder + "events.governance-core.chain1.json", 2966, 1108);
  with.blocks_path.clear();
  expect_first_and_again(with, folder + "proposal-metadata.ipfs.json", 462, 3);
  expect_first_and_again(with, folder + "events.voting-machine.chain137.json.gz", 3999, 266);
  // Imports the first file again after the others. It has less information and must not undo
  // anything.
  expect_counts(import_shared(with, folder + "proposals.chain1.json"), 477, 0, 0, 477);
  const auto outcomes = [&](const std::string& outcome) {
    return number("SELECT count(*) FROM proposal WHERE outcome='" + outcome + "'");
  };
  EXPECT_EQ(outcomes("passed"), 450);
  EXPECT_EQ(outcomes("failed"), 2);
  EXPECT_EQ(outcomes("canceled"), 23);
  EXPECT_EQ(outcomes("unknown"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE execution='executed'"), 450);
  EXPECT_EQ(in_april("created_at"), 12);
  EXPECT_EQ(in_april("voting_starts_at"), 12);
  EXPECT_EQ(in_april("voting_ends_at"), 12);
  EXPECT_EQ(in_april("queued_at"), 11);
  EXPECT_EQ(number("SELECT count(*) FROM block_time b WHERE ts <> (SELECT min(ts) FROM block_time)"
                   " AND (ts - (SELECT min(ts) FROM block_time)) % 12000 <> 0"),
            0)
      << "blocks of this chain come every 12 s";
  EXPECT_EQ(number("SELECT count(*) FROM vote"), 3733);
  EXPECT_EQ(text("SELECT title FROM proposal WHERE external_id='0'"), "Aave Pool update");
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE discussion_norm LIKE"
                   " 'governance.aave.com/t/%'"),
            476);
}

TEST_F(FormatsTest, AaveInEitherOrder) {
  REQUIRE_SHARED_DATA();
  ImportOptions with = options(Format::aave_v3, "aave");
  const std::string folder = "aave-governance-v3/";
  const auto contents = [&] {
    return text(
        "SELECT group_concat(c, ';') FROM (SELECT external_id || outcome || execution ||"
        " coalesce(voting_ends_at,'') || coalesce(scores_total,'') ||"
        " coalesce(queued_at,'') AS c FROM proposal ORDER BY external_id)");
  };
  import_shared(with, folder + "events.governance-core.chain1.json");
  import_shared(with, folder + "proposals.chain1.json");
  const std::string events_first = contents();
  store().execute("DELETE FROM proposal");
  import_shared(with, folder + "proposals.chain1.json");
  import_shared(with, folder + "events.governance-core.chain1.json");
  EXPECT_EQ(contents(), events_first);
}

TEST_F(FormatsTest, SnapshotTables) {
  REQUIRE_SHARED_DATA();
  ImportOptions with = options(Format::snapshot_csv, "");
  with.dao = {};
  expect_first_and_again(with, "snapshot-ccby/snapshot_proposals.csv", 131);
  expect_first_and_again(with, "snapshot-ccby/snapshot_votes.csv", 19'970);
  EXPECT_EQ(number("SELECT count(*) FROM vote"), 19'970);
  EXPECT_EQ(number("SELECT max(n) FROM (SELECT count(*) AS n FROM vote GROUP BY proposal_pk)"),
            3649);
  EXPECT_EQ(number("SELECT count(*) FROM dao"), 6);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE dao_id='arbitrumfoundation-eth'"), 43);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE time_confidence <> 'estimated'"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE outcome <> 'unknown'"), 0);
}

TEST_F(FormatsTest, DecentralandsOwnFiles) {
  REQUIRE_SHARED_DATA();
  const ImportOptions with = options(Format::decentraland, "decentraland");
  expect_first_and_again(with, "decentraland/proposals.2023-02-28.json", 1558);
  expect_first_and_again(with, "decentraland/votes.2022-12-01.json", 1000, 0, 7);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE execution='executed'"), 425);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE outcome='failed'"), 965);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE discussion_url LIKE"
                   " 'https://forum.decentraland.org/t/%'"),
            1558);
}

constexpr const char* aave_hash =
    "0x00000000000000000000000000000000000000000000000000000000000000a1";

TEST_F(FormatsTest, AaveSeed) {
  const ImportOptions with = options(Format::aave_v3, "lagoon");
  const std::string hash = aave_hash;
  expect_counts(seed(with, R"({"7":{"state":3,"creationTime":1767225600,"votingDuration":259200,
    "votingActivationTime":1767312000,"queuingTime":1767600000,"cancelTimestamp":0,
    "creator":"0xAB","ipfsHash":")" +
                               hash + R"(","forVotes":"30","againstVotes":"4",
    "payloads":[{"chain":"10","payloadsController":"0xCD","payloadId":9}]}})"),
                1, 1, 0, 0);
  EXPECT_EQ(text("SELECT title FROM proposal"), "Proposal 7");
  EXPECT_EQ(text("SELECT outcome || ' ' || execution FROM proposal"), "passed queued");
  EXPECT_EQ(number("SELECT voting_ends_at FROM proposal"), 1'767'571'200'000);
  EXPECT_EQ(number("SELECT queued_at FROM proposal"), 1'767'600'000'000);
  EXPECT_EQ(text("SELECT target || chain_id || signature || substr(calldata, -2)"
                 " FROM proposal_action"),
            "0xcd10executePayload(uint40)09");
  seed(with, "{\"" + hash + R"(":{"title":"Deepen the lagoon","description":"Why",
    "discussions":"see https://forum.example.org/t/lagoon/5"}})");
  EXPECT_EQ(text("SELECT title || '|' || body || '|' || discussion_url FROM proposal"),
            "Deepen the lagoon|Why|https://forum.example.org/t/lagoon/5");
  seed(with, R"([{"eventName":"ProposalExecuted","args":{"proposalId":"7"},"blockNumber":"5"},
    {"eventName":"VoteEmitted","args":{"proposalId":"7","voter":"0xEF","support":true,
     "votingPower":"30"},"blockNumber":"6","logIndex":1},
    {"eventName":"PayloadSent","args":{"proposalId":"7"}}])");
  EXPECT_EQ(text("SELECT outcome || ' ' || execution FROM proposal"), "passed executed");
  EXPECT_EQ(text("SELECT voter || choice_id || power FROM vote"), "0xef130");
  EXPECT_EQ(text("SELECT group_concat(scores, ',') FROM (SELECT score AS scores FROM"
                 " proposal_choice ORDER BY choice_id)"),
            "4,30");
}

TEST_F(FormatsTest, SnapshotTableSeedAndItsBadRows) {
  ImportOptions with = options(Format::snapshot_csv, "");
  with.dao = {};
  std::string rows = "symbol,space_id,proposal_id,title,type,state,start,end,votes,scores_total\n";
  for (int row = 0; row < 9; ++row) {
    rows += "X,cove.eth,0xA" + std::to_string(row) + ",\"A, title\",basic,closed,2026-01-0" +
            std::to_string(row + 1) + ",2026-01-10,3,7.50\n";
  }
  expect_counts(seed(with, rows), 9, 9, 0, 0);
  EXPECT_EQ(text("SELECT dao_id FROM proposal"), "cove-eth");
  EXPECT_EQ(text("SELECT scores_total FROM proposal"), "7.5");
  ImportSummary summary =
      import(with, rows + "X,cove.eth,0xB1,T,basic,closed,soon,,1,1\nX,short\n");
  EXPECT_EQ(summary.status, "partial");
  ASSERT_EQ(rejected.size(), 2u);
  EXPECT_EQ(rejected[0].position + ": " + rejected[0].reason, "line 11: start is no ISO 8601 time");
  EXPECT_EQ(rejected[1].reason, "2 fields where the header has 10");
  summary = seed(with,
                 "symbol,proposal_id,voter,voting_power,choice,created\n"
                 "X,0xa1,0xV1,1.25,2,2026-01-03\nX,0xa1,0xV2,1,\"[1,2]\",2026-01-03\n"
                 "X,0xa1,0xV1,9,1,2026-01-04\n");
  EXPECT_EQ(summary.rows_new, 2);
  EXPECT_EQ(summary.rows_ignored, 1) << "one ballot of a voter";
  EXPECT_EQ(text("SELECT choice_id || power FROM vote WHERE voter='0xV1'"), "21.25");
  EXPECT_EQ(import(with, "proposal_id,voter,choice\n0xZ,0x1,1\n").status, "failed");
}

TEST_F(FormatsTest, DecentralandSeedInJsonAndCsv) {
  const ImportOptions with = options(Format::decentraland, "plaza");
  seed(with, R"([{"id":"u-1","snapshot_id":"0xD1","user":"0x1","type":"poll","title":"Benches",
    "start_at":"2026-01-01T00:00:00.000Z","finish_at":"2026-01-05T00:00:00.000Z",
    "required_to_pass":10,"status":"enacted","configuration":{"description":"More of them",
    "choices":["yes","no"]},"discourse_topic_id":12,"scores_total":11.5,"votes":2}])");
  EXPECT_EQ(text("SELECT body || '|' || discussion_url || '|' || outcome || '|' || execution"
                 " FROM proposal"),
            "More of them|https://forum.decentraland.org/t/12|passed|executed");
  seed(with,
       "id,snapshot_id,title,start_at,finish_at,status,choices\n"
       "u-2,0xD2,Lamps,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,rejected,\"[\"\"a\"\",b]\"\n");
  EXPECT_EQ(number("SELECT count(*) FROM proposal_choice"), 4);
  seed(with, R"([{"voter":"0x9","created":"2026-01-02T00:00:00Z","choice":1,"vp":2.5,
    "proposal_id":"0xd1"}])");
  EXPECT_EQ(text("SELECT choice_id || power FROM vote"), "12.5");
}

TEST_F(FormatsTest, OpenGovSeed) {
  const ImportOptions with = options(Format::opengov_csv, "relay");
  expect_counts(seed(with,
                     "index,track,status,proposer,ayes,nays\n"
                     "12,SmallTipper,Executed,5F,10,2\n13,Root,TimedOut,5G,1,2\n"
                     "14,Root,Deciding,,,\n15,Root,Killed,,,\n"),
                4, 4, 0, 0);
  EXPECT_EQ(text("SELECT title FROM proposal WHERE external_id='12'"),
            "Referendum #12 (SmallTipper)");
  EXPECT_EQ(text("SELECT group_concat(outcome || '/' || execution, ' ') FROM"
                 " (SELECT outcome, execution FROM proposal ORDER BY external_id)"),
            "passed/executed no_quorum/expired unknown/not_started canceled/not_started");
  const auto now = [](Outcome outcome, Execution execution) {
    return evaluate({}, {outcome, execution}, 1);
  };
  EXPECT_EQ(now(Outcome::failed, Execution::not_started).lifecycle, Lifecycle::closed)
      << "it ended, though nobody says when";
  EXPECT_EQ(now(Outcome::failed, Execution::not_started).outcome, Outcome::failed);
  EXPECT_EQ(now(Outcome::no_quorum, Execution::expired).lifecycle, Lifecycle::closed);
  EXPECT_EQ(now(Outcome::no_quorum, Execution::expired).execution, Execution::expired);
  EXPECT_EQ(now(Outcome::unknown, Execution::not_started).lifecycle, Lifecycle::unknown);
  EXPECT_EQ(number("SELECT count(*) FROM proposal WHERE voting_ends_at IS NOT NULL"), 0);
}

TEST_F(FormatsTest, Daoip2Seed) {
  const ImportOptions with = options(Format::daoip2, "guild");
  expect_counts(seed(with, R"({"@context":"https://www.daostar.org/schemas","type":"DAO",
    "name":"Guild","proposals":[{"type":"proposal","id":"eip155:10:0xAA?proposalId=5",
    "name":"Pay","contentURI":"https://x.example/p/5","discussionURI":"https://x.example/t/a/3",
    "status":"Voting, more or less","calls":[{"type":"CallDataEVM","to":"0xBB","value":"0x10",
    "data":"0x01"}]},{"id":"https://snapshot.org/#/guild.eth/proposal/0xC1","name":"Rest"},
    {"id":"three","name":"Third"}]})"),
                3, 3, 0, 0);
  EXPECT_EQ(text("SELECT scope FROM source s JOIN proposal p USING (source_id)"
                 " WHERE p.external_id='5'"),
            "eip155:10:0xaa");
  EXPECT_EQ(text("SELECT lifecycle || '|' || source_status FROM proposal WHERE external_id='5'"),
            "unknown|Voting, more or less");
  EXPECT_EQ(text("SELECT target || value || calldata || chain_id FROM proposal_action"),
            "0xbb160x0110");
  seed(with, R"([{"id":"eip155:10:0xAA?proposalId=5","status":"Executed"}])");
  EXPECT_EQ(text("SELECT source_status FROM proposal WHERE external_id='5'"), "Executed");
  EXPECT_EQ(text("SELECT provider FROM proposal WHERE external_id='0xc1'"), "snapshot");
}

TEST_F(FormatsTest, TallySeed) {
  const ImportOptions with = options(Format::tally, "harbour");
  expect_counts(seed(with, R"({"data":{"proposals":{"nodes":[{"id":"1","onchainId":"77",
    "status":"executed","metadata":{"title":"Dredge","description":"Deep",
    "discourseURL":"https://forum.example.org/t/dredge/4"},"createdAt":"2026-01-01T00:00:00Z",
    "quorum":"100","start":{"timestamp":"2026-01-02T00:00:00Z"},
    "end":{"timestamp":"2026-01-05T00:00:00Z"},"voteStats":[{"type":"for","votesCount":"120",
    "votersCount":3,"percent":92.3},{"type":"against","votesCount":"10","votersCount":1}],
    "executableCalls":[{"target":"0xAB","value":"1","calldata":"0x02","signature":"f"}],
    "governor":{"id":"eip155:1:0xCC","organization":{"slug":"harbour"}},
    "proposer":{"address":"0xDD"}}],"pageInfo":{"lastCursor":"x"}}}})"),
                1, 1, 0, 0);
  EXPECT_EQ(text("SELECT outcome || execution || scores_total || votes_count FROM proposal"),
            "passedexecuted1304");
  EXPECT_EQ(text("SELECT scope || chain_id FROM source"), "eip155:1:0xcc1");
  EXPECT_EQ(text("SELECT url FROM proposal"), "https://www.tally.xyz/gov/harbour/proposal/77");
  const ImportSummary more = seed(with, R"([{"id":"2","onchainId":null,"status":"draft"},
    {"id":"3","onchainId":"78","status":"defeated","quorum":"1000","voteStats":[
     {"type":"for","votesCount":"10"},{"type":"against","votesCount":"2"},
     {"type":"abstain","votesCount":"1"}]}])");
  EXPECT_EQ(more.rows_ignored, 1) << "drafts";
  EXPECT_EQ(text("SELECT outcome FROM proposal WHERE external_id='78'"), "no_quorum");
}

TEST_F(FormatsTest, EveryFormatRefusesHostileInput) {
  for (const Format format : {Format::snapshot_csv, Format::aave_v3, Format::decentraland,
                              Format::opengov_csv, Format::daoip2, Format::tally}) {
    SCOPED_TRACE(name_of(format));
    const ImportOptions with = options(format, "d");
    EXPECT_EQ(import(with, "{\"proposals\":[" + std::string(100, '[')).error,
              "JSON nested deeper than 64");
    EXPECT_EQ(import(with, "[{\"id\":\"\xff\"}]").status, "failed");
    EXPECT_EQ(import(with, "[1,2,null]").rows_rejected, 3);
    EXPECT_EQ(import(with, "id,title\n1,\"open").status, "failed");
    EXPECT_EQ(import(with, "id,title\n\xff,b\n").rows_rejected, 1);
    EXPECT_EQ(import(with, "").status, "ok");
    const std::string columns(2000, ',');
    EXPECT_EQ(import(with, columns + "\n").error, "a row has more than 1024 columns");
  }
  const std::string body((1 << 20) + 1, 'b');
  EXPECT_EQ(import(options(Format::tally, "d"),
                   R"([{"onchainId":"1","metadata":{"description":")" + body + "\"}}]")
                .rows_rejected,
            1);
  std::string calls;
  for (int call = 0; call <= 4096; ++call) calls += call == 0 ? "{}" : ",{}";
  EXPECT_EQ(
      import(options(Format::daoip2, "d"), R"([{"id":"a","calls":[)" + calls + "]}]").rows_rejected,
      1);
  EXPECT_EQ(rejected.at(0).reason, "more than 4096 calls");
}

TEST_F(FormatsTest, TextAndTitleLinkTopicsToo) {
  const std::string list = R"({"topic_list":{"topics":[
    {"id":1,"title":"In the text","slug":"a","posts_count":1,"created_at":"2026-01-01T00:00:00Z"},
    {"id":2,"title":"The same Title!","slug":"b","posts_count":1,
     "created_at":"2026-01-01T00:00:00Z"},
    {"id":3,"title":"the same title","slug":"c","posts_count":1,
     "created_at":"2025-01-01T00:00:00Z"}]}})";
  import(options(Format::discourse, "d"), list);
  import(options(Format::snapshot_graphql, "d"), R"({"data":{"proposals":[{"id":"0x1",
    "title":"The same title","body":"After https://forum.example.org/t/a/1 we vote.",
    "choices":[],"created":1767225600,"start":1767225600,"end":1767312000,
    "space":{"id":"d.eth"}}]}})");
  EXPECT_EQ(text("SELECT group_concat(external_id || ' ' || basis) FROM (SELECT t.external_id,"
                 " l.basis FROM item_link l JOIN forum_topic t USING (topic_pk)"
                 " ORDER BY t.external_id)"),
            "1 body_url,2 title")
      << "the third topic lies beyond 60 days";
}

}  // namespace
}  // namespace turnpike::govdata
