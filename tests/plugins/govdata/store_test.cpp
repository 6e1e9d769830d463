// The store's rules for numbers, times, titles, addresses and states, and its file format.
#include <barrier>
#include <fstream>
#include <thread>

#include "fixtures.h"
#include "govdata/store/decimal.h"
#include "govdata/store/lifecycle.h"
#include "govdata/store/digest.h"
#include "govdata/store/text.h"
#include "govdata/store/url.h"
#include "govdata/store/writer.h"

namespace turnpike::govdata {
namespace {

TEST(Decimal, KeepsTheDigitsOfItsSource) {
  const std::pair<const char*, const char*> table[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0.0", "0"},
      {"007", "7"},
      {"1.50", "1.5"},
      {"-3.10", "-3.1"},
      {"2045.601142949226", "2045.601142949226"},
      {"1.5e-7", "0.00000015"},
      {"12e3", "12000"},
      {"1.25E+1", "12.5"},
      {"123456789012345678901234567890", "123456789012345678901234567890"},
      {"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"}};
  for (const auto& [text, canonical] : table) EXPECT_EQ(canonical_decimal(text), canonical) << text;
  for (const char* bad : {"", "-", ".", "1.2.3", "0x1", "1e", "1e9999", "abc", " 1", "1 ", "NaN"}) {
    EXPECT_EQ(canonical_decimal(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(canonical_decimal(std::string(600, '9')), std::nullopt);
}

TEST(Decimal, ComparesAddsAndShares) {
  EXPECT_LT(compare_decimals("9", "10"), 0);
  EXPECT_GT(compare_decimals("0.1", "0.09"), 0);
  EXPECT_LT(compare_decimals("-2", "-1"), 0);
  EXPECT_EQ(compare_decimals("1.5", "1.5"), 0);
  EXPECT_EQ(add_decimals("0.1", "0.2"), "0.3");
  EXPECT_EQ(add_decimals("999", "1"), "1000");
  EXPECT_EQ(add_decimals("1", "-1.5"), "-0.5");
  EXPECT_EQ(add_decimals("-1", "1"), "0");
  EXPECT_EQ(share_of("1", "3"), "0.333333");
  EXPECT_EQ(share_of("3", "2"), "1.5");
  EXPECT_EQ(share_of("0", "5"), "0");
  EXPECT_EQ(share_of("1", "0"), std::nullopt);
  EXPECT_EQ(share_of("-1", "2"), std::nullopt);
  EXPECT_EQ(share_of("30000000000000000000000000000000000000000", "1" + std::string(41, '0')),
            "0.3");
  EXPECT_EQ(scaled_down("1000", 6), "0.001");
  EXPECT_EQ(scaled_down("2500000", 6), "2.5");
}

TEST(Decimal, ReadsWordsOf256Bits) {
  EXPECT_EQ(decimal_of_hex("0x2a"), "42");
  EXPECT_EQ(decimal_of_hex("0x" + std::string(64, 'f')),
            "115792089237316195423570985008687907853269984665640564039457584007913129639935");
  EXPECT_EQ(decimal_of_hex("0x0"), "0");
  for (const char* bad : {"2a", "0x", "0xg1", ""}) EXPECT_EQ(decimal_of_hex(bad), std::nullopt);
  EXPECT_EQ(decimal_of_hex("0x" + std::string(65, '1')), std::nullopt);
}

TEST(Digest, KnowsTheVectorsOfTheStandards) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 parts;
  for (const char c : std::string("abc")) parts.update({&c, 1});
  EXPECT_EQ(parts.finish_hex(), sha256_hex("abc"));
  EXPECT_EQ(keccak256_hex(""),
            "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
}

TEST(Timestamp, ReadsAndWritesIso8601) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(1'677'580'255'123), "2023-02-28T10:30:55.123Z");
  EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(parse_iso_time("2013-02-04T15:26:25.977-05:00"), at("2013-02-04T20:26:25.977Z"));
  EXPECT_EQ(parse_iso_time("2024-02-29"), at("2024-02-29T00:00:00Z"));
  EXPECT_EQ(parse_iso_time("2024-02-29T10:00:00.1234567Z"), at("2024-02-29T10:00:00.123Z"));
  for (const char* bad :
       {"", "2023", "2023-02-29", "2023-13-01", "2023-01-01T25:00:00Z", "2023-01-01T10:00Z",
        "2023-01-01T10:00:00+9", "2023-01-01T10:00:00Zx", "0000-01-01", "2023-01-01T10:00:00.Z"}) {
    EXPECT_EQ(parse_iso_time(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_time("1677580255"), 1'677'580'255'000);
  EXPECT_EQ(ms_of_seconds("99999999999999999999"), std::nullopt);
  EXPECT_EQ(ms_of_seconds("253402300800"), std::nullopt);
}

TEST(Text, NormalTitlesMeetAcrossSpellings) {
  const std::pair<const char*, const char*> table[] = {{"[ARFC] Add  support!", "arfc add support"},
                                                       {"  Ｆｕｌｌ ｗｉｄｔｈ ", "full width"},
                                                       {"Straße", "strasse"},
                                                       {"ÉCOLE", "école"},
                                                       {"BIP-12: fees — now?", "bip 12 fees now"},
                                                       {"😀😀", ""},
                                                       {"नमस्ते दुनिया", "नमस्ते दुनिया"},
                                                       {"ﬁne ①", "fine 1"}};
  for (const auto& [title, normal] : table) EXPECT_EQ(normal_title(title), normal) << title;
}

TEST(Text, RefusesWhatIsNoUtf8) {
  for (const char* good : {"", "plain", "ünï", "日本", "😀"}) EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff", "\xc3", "a\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
  EXPECT_EQ(cut_utf8("aé", 2), "a");
  EXPECT_EQ(cut_code_points("aéb", 2), "aé");
}

TEST(Text, FindsTitlesExcerptsAndAddresses) {
  EXPECT_EQ(title_of_markdown("intro\n\n# The title \nrest"), "The title");
  EXPECT_EQ(title_of_markdown("\n\n  first line\nsecond"), "first line");
  EXPECT_EQ(title_of_markdown("# A\\n\\nB"), "A");
  EXPECT_EQ(title_of_markdown("\"\""), "");
  EXPECT_EQ(title_of_markdown("####"), "");
  EXPECT_EQ(text_of_html("<p>Fish &amp; chips<br/>&#x1F600; &bogus; 5 &lt; 6</p><i"),
            "Fish & chips 😀 &bogus; 5 < 6");
  EXPECT_EQ(text_of_html("&#0;&#xD800;&#9999999;"), "\uFFFD\uFFFD\uFFFD");
  const auto urls = urls_in(
      "see (https://a.example/t/x/1), <a href=\"http://b.example\">b</a> "
      "httpx https://c.example/.",
      8);
  EXPECT_EQ(urls, (std::vector<std::string>{"https://a.example/t/x/1", "http://b.example",
                                            "https://c.example/"}));
  EXPECT_EQ(urls_in("https://a https://b https://c", 2).size(), 2u);
  EXPECT_EQ(one_line("a\n b   c", 10), "a b c");
  EXPECT_EQ(one_line("alpha beta gamma", 12), "alpha beta…");
}

TEST(Address, CanonicalFormsMeet) {
  const std::pair<const char*, const char*> table[] = {
      {"https://snapshot.org/#/aave.eth/proposal/0xABC", "snapshot.org/aave.eth/proposal/0xabc"},
      {"https://snapshot.box/#/s:aave.eth/proposal/0xabc", "snapshot.org/aave.eth/proposal/0xabc"},
      {"https://WWW.Snapshot.org/#/Aave.eth/proposal/QmX", "snapshot.org/aave.eth/proposal/QmX"},
      {"https://www.tally.xyz/gov/Uniswap/proposal/83?x=1", "tally.xyz/gov/uniswap/proposal/83"},
      {"https://vote.onaave.com/proposal/?proposalId=42&a=b", "vote.onaave.com/proposal/42"},
      {"https://app.aave.com/governance/v3/proposal/?proposalId=42", "vote.onaave.com/proposal/42"},
      {"https://Forum.X.org/t/some-slug/123/4?u=me#post_4", "forum.x.org/t/123"},
      {"forum.x.org/t/123", "forum.x.org/t/123"},
      {"https://x.org/community/t/slug/9", "x.org/community/t/9"},
      {"http://x.org/a/b/", "x.org/a/b"},
      {"https://x.org/a?id=7&utm=1", "x.org/a?id=7"},
      {"https://x.org/#/deep/link", "x.org/deep/link"}};
  for (const auto& [url, normal] : table) EXPECT_EQ(read_address(url).normal, normal) << url;
  for (const char* bad : {"", "   ", "nohost", "https://", "mailto:a", "/just/a/path"}) {
    EXPECT_EQ(read_address(bad).form, AddressForm::none) << bad;
  }
  EXPECT_EQ(read_address("https://x.org/" + std::string(5000, 'a')).form, AddressForm::none);
  EXPECT_EQ(percent_encoded("a b/~é"), "a%20b%2F~%C3%A9");
}

TEST(Lifecycle, IsEvaluatedAgainstTheClock) {
  ProposalTimes times;
  times.starts = 100;
  times.ends = 200;
  const Standing standing{Outcome::passed, Execution::not_applicable};
  EXPECT_EQ(evaluate(times, standing, 99).lifecycle, Lifecycle::pending);
  EXPECT_EQ(evaluate(times, standing, 100).lifecycle, Lifecycle::active);
  EXPECT_EQ(evaluate(times, standing, 199).lifecycle, Lifecycle::active);
  EXPECT_EQ(evaluate(times, standing, 199).outcome, Outcome::unknown);
  EXPECT_EQ(evaluate(times, standing, 200).lifecycle, Lifecycle::closed);
  EXPECT_EQ(evaluate(times, standing, 200).outcome, Outcome::passed);
  EXPECT_EQ(evaluate({}, standing, 5).lifecycle, Lifecycle::unknown);
  EXPECT_EQ(evaluate({}, standing, 5).outcome, Outcome::unknown);
}

TEST(Lifecycle, TerminalTransitionsWinOnceTheyHappened) {
  ProposalTimes times;
  times.starts = 100;
  times.ends = 200;
  times.canceled = 150;
  const Standing canceled{Outcome::canceled, Execution::not_started};
  EXPECT_EQ(evaluate(times, canceled, 149).lifecycle, Lifecycle::active);
  EXPECT_EQ(evaluate(times, canceled, 149).outcome, Outcome::unknown);
  EXPECT_EQ(evaluate(times, canceled, 150).lifecycle, Lifecycle::closed);
  EXPECT_EQ(evaluate(times, canceled, 150).outcome, Outcome::canceled);
  EXPECT_EQ(evaluate(times, canceled, 150).ended, 150);
  EXPECT_EQ(last_change(times, 1000), 150);
  times = {};
  times.starts = 100;
  times.ends = 200;
  times.queued = 210;
  times.executed = 220;
  const Standing executed{Outcome::passed, Execution::executed};
  EXPECT_EQ(evaluate(times, executed, 205).execution, Execution::not_started);
  EXPECT_EQ(evaluate(times, executed, 215).execution, Execution::queued);
  EXPECT_EQ(evaluate(times, executed, 220).execution, Execution::executed);
  EXPECT_EQ(evaluate({}, executed, 1).lifecycle, Lifecycle::closed) << "without any times";
}

std::vector<Choice> scored(std::initializer_list<std::pair<const char*, const char*>> list) {
  std::vector<Choice> choices;
  for (const auto& [label, score] : list) {
    choices.push_back({std::to_string(choices.size() + 1), label, std::string(score), {}});
  }
  return choices;
}

TEST(SnapshotOutcome, SaysOnlyWhatTheLabelsSay) {
  const auto outcome = [](const char* type, const std::vector<Choice>& choices,
                          const char* quorum = "0") {
    return snapshot_outcome(type, choices, std::string(quorum), std::nullopt);
  };
  EXPECT_EQ(outcome("basic", scored({{"For", "2"}, {"Against", "1"}})), Outcome::passed);
  EXPECT_EQ(outcome("basic", scored({{"For", "1"}, {"Against", "1"}})), Outcome::failed);
  EXPECT_EQ(outcome("single-choice", scored({{"YAE", "2"}, {"NAY", "1"}})), Outcome::passed);
  EXPECT_EQ(outcome("single-choice", scored({{"No, leave it", "5"}, {"Yes, do it", "6"}})),
            Outcome::passed);
  EXPECT_EQ(outcome("basic", scored({{"For", "2"}, {"Against", "1"}, {"Abstain", "1"}}), "5"),
            Outcome::no_quorum);
  EXPECT_EQ(outcome("basic", scored({{"For", "2"}, {"Against", "1"}, {"Abstain", "2"}}), "5"),
            Outcome::passed);
  EXPECT_EQ(outcome("weighted", scored({{"For", "2"}, {"Against", "1"}})), Outcome::unknown);
  EXPECT_EQ(outcome("single-choice", scored({{"Alice", "2"}, {"Bob", "1"}})), Outcome::unknown);
  EXPECT_EQ(outcome("single-choice", scored({{"Yes", "2"}, {"Yes, but later", "1"}, {"No", "1"}})),
            Outcome::unknown);
  EXPECT_EQ(outcome("basic", scored({{"For", "2"}})), Outcome::unknown);
}

TEST(GovernanceScore, FollowsTitleCategoryTagsAndLinks) {
  EXPECT_EQ(governance_score("Chat", "Random", {}, false), 0);
  EXPECT_EQ(governance_score("Chat", "Random", {}, true), 60);
  EXPECT_EQ(governance_score("[ARFC] Chat", "Governance", {"treasury"}, false), 60);
  EXPECT_EQ(governance_score("[Temp Check] x", "Proposals", {"vote"}, true), 100);
  EXPECT_EQ(governance_score("BIP-12 fees", "", {}, false), 30);
  EXPECT_EQ(governance_score("EIP1559", "", {}, false), 30);
  EXPECT_EQ(governance_score("Hello", "Introductions", {}, true), 20);
  EXPECT_EQ(governance_score("Help", "Support", {}, false), 0);
}

class SchemaTest : public StoreTest {};

TEST_F(SchemaTest, RefusesANewerFileAndForeignOnes) {
  store().execute("PRAGMA user_version = 99");
  try {
    open_for_reading(path());
    FAIL() << "a newer file was opened";
  } catch (const SchemaError& error) {
    EXPECT_STREQ(error.what(),
                 "the store has schema version 99; this build reads up to 1: use a newer build");
  }
  EXPECT_THROW(open_for_import(path()), SchemaError);
  support::TemporaryDirectory other;
  Database foreign(other.file("foreign.db"), OpenMode::create);
  foreign.execute("CREATE TABLE t(x); PRAGMA user_version = 1");
  EXPECT_THROW(open_for_import(other.file("foreign.db")), SchemaError);
  std::ofstream(other.file("noise.db")) << std::string(4096, 'n');
  EXPECT_THROW(open_for_reading(other.file("noise.db")), SqliteError);
  EXPECT_THROW(open_for_reading(other.file("absent.db")), SqliteError);
  EXPECT_FALSE(std::filesystem::exists(other.file("absent.db"))) << "reading must not create";
}

TEST_F(SchemaTest, SeveralImportersMayCreateAFileAtOnce) {
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    const std::string file = path() + std::to_string(round);
    std::barrier begin(3);
    std::vector<std::jthread> importers;
    for (int importer = 0; importer < 3; ++importer) {
      importers.emplace_back([&] {
        begin.arrive_and_wait();
        EXPECT_NO_THROW(open_for_import(file));
      });
    }
  }
}

TEST_F(SchemaTest, ReadersDoNotWrite) {
  store();
  const auto reader = open_for_reading(path());
  EXPECT_THROW(reader->execute("DELETE FROM meta"), SqliteError);
}

}  // namespace
}  // namespace turnpike::govdata
