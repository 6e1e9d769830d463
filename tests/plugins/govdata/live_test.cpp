// Polling with an injected clock: settings, when the next request is due, the effect of failures,
// budgets that sources share. The protocols are tested against fakes in tests/e2e.
#include <turnpike/helpers/test_host.h>

#include "fixtures.h"
#include "govdata/live/chain.h"
#include "govdata/live/poller.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

Settings source_map(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  return settings_of(fields);
}

Settings with_sources(std::vector<Settings> items) {
  Settings list;
  list.kind = Settings::Kind::list;
  list.items = std::move(items);
  Settings settings;
  settings.kind = Settings::Kind::map;
  settings.fields.push_back({"sources", std::move(list)});
  return settings;
}

std::string mistakes_in(const Settings& settings) {
  Mistakes mistakes;
  (void)read_sources_list(settings, mistakes);
  std::string text;
  for (const Mistake& mistake : mistakes.found()) {
    text += mistake.where + ": " + mistake.message + "\n";
  }
  return text;
}

constexpr std::string_view governor_address = "0xC0C0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0";

TEST(LiveSettings, AreReadWithTheirDefaults) {
  Mistakes mistakes;
  const auto sources = read_sources_list(
      with_sources(
          {source_map({{"type", "snapshot"}, {"space", "Tide.eth"}}),
           source_map(
               {{"type", "discourse"}, {"url", "https://www.Forum.example/sub/"}, {"dao", "tide"}}),
           source_map({{"type", "governor"},
                       {"url", "https://node.example/?k=1"},
                       {"contract", governor_address},
                       {"dao", "tide"},
                       {"every_seconds", "7200"}})}),
      mistakes);
  EXPECT_TRUE(mistakes.none());
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_EQ(sources[0].dao_id, "tide-eth");
  EXPECT_EQ(sources[0].url, "https://hub.snapshot.org/graphql");
  EXPECT_EQ(sources[0].request_interval_ms, 2000) << "one request per two seconds";
  EXPECT_EQ(sources[0].stale_after_s, 3600);
  EXPECT_EQ(sources[1].scope, "forum.example/sub");
  EXPECT_EQ(sources[1].request_interval_ms, 2000) << "thirty a minute";
  EXPECT_EQ(sources[2].scope, "eip155:1:" + lower_ascii(governor_address));
  EXPECT_EQ(sources[2].confirmations, 12);
  EXPECT_EQ(sources[2].stale_after_s, 3 * 7200) << "never less than some polls";
}

TEST(LiveSettings, EveryMistakeIsToldWithItsPlace) {
  EXPECT_EQ(mistakes_in(with_sources({})),
            "sources: expected a list of 1 to 256 places to poll, each with `type`\n");
  EXPECT_EQ(
      mistakes_in(with_sources(
          {source_map({{"type", "snapshot"}, {"space", "a b"}, {"dao", "x"}, {"vots", "true"}}),
           source_map({{"type", "mastodon"}, {"space", "a.eth"}}),
           source_map({{"type", "discourse"}, {"url", "ftp://x"}, {"dao", "X"}}),
           source_map({{"type", "governor"},
                       {"url", "https://n.example"},
                       {"contract", "0x12"},
                       {"dao", "t"},
                       {"confirmations", "-1"}})})),
      "sources[0].vots: unknown key; did you mean `votes`?\n"
      "sources[0].space: expected the id of a space, such as ens.eth\n"
      "sources[1].type: expected snapshot, discourse or governor\n"
      "sources[2].url: expected an http or https address without query\n"
      "sources[2].dao: expected a DAO id of 1 to 128 of a-z, 0-9, '-', '_' and '.'\n"
      "sources[3].confirmations: expected an integer from 0 to 100000\n"
      "sources[3].contract: expected 0x and 40 hexadecimal digits\n");
  const Settings twice = source_map({{"type", "snapshot"}, {"space", "a.eth"}});
  EXPECT_EQ(mistakes_in(with_sources({twice, twice})),
            "sources[1]: is polled by an earlier entry already; remove one of the two\n");
  Settings keyed = source_map({{"type", "snapshot"}, {"space", "a.eth"}});
  keyed.fields.push_back({"api_key", secret_of("two words")});
  EXPECT_EQ(mistakes_in(with_sources({keyed})),
            "sources[0].api_key: expected a key of visible ASCII\n")
      << "and never the key";
}

TEST(LiveChain, QuantitiesAreOfTheirForm) {
  EXPECT_EQ(quantity_of("0x0"), 0);
  EXPECT_EQ(quantity_of("0x7fffffffffffffff"), INT64_MAX);
  for (const char* wrong : {"", "0x", "12", "0x-1", "0x8000000000000000", "0x1g", "0X1"}) {
    EXPECT_EQ(quantity_of(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(quantity(4096), "0x1000");
}

class PollerTest : public StoreTest {
 protected:
  PollerTest() {
    host.time_ms = clock.now_ms();
    host.answer = [this](const HttpRequest& request, HttpSink& sink) -> Done {
      asked.emplace_back(request.url);
      if (!is_up) return Failure{FailureKind::transport, "no route to secret-host", {}, false};
      const HeaderField headers[] = {{"Retry-After", "120"}};
      sink.head(status, Headers(headers).first(status == 429 ? 1 : 0), std::nullopt);
      const bool is_vote = request.body.find("votes(") != std::string_view::npos;
      const bool is_space = request.body.find("spaces(") != std::string_view::npos;
      sink.body(is_space  ? R"({"data":{"spaces":[{"id":"a.eth","name":"A"}]}})"
                : is_vote ? R"({"data":{"votes":[]}})"
                          : R"({"data":{"proposals":[]}})");
      return Unit{};
    };
  }
  SourceSettings space(const std::string& name) {
    Mistakes mistakes;
    auto list = read_sources_list(
        with_sources({source_map({{"type", "snapshot"}, {"space", name}, {"name", "A"}})}),
        mistakes);
    return list.at(0);
  }
  std::uint32_t run(Poller& poller) {
    const auto next = poller.run(call);
    EXPECT_TRUE(next.ok());
    return next.ok() ? *next : 0;
  }

  turnpike::TestHost host;
  turnpike::TestCall call;
  std::vector<std::string> asked;
  bool is_up = true;
  int status = 200;
};

TEST_F(PollerTest, OneRequestATurnWithinTheBudgetAndThenTheNextRound) {
  Poller poller({space("a.eth")}, path(), host);
  for (int turn = 1; turn <= 2; ++turn) {  // created, updated; none is open
    EXPECT_EQ(run(poller), 2000u);
    EXPECT_EQ(asked.size(), static_cast<std::size_t>(turn));
    EXPECT_EQ(run(poller), 2000u) << "not due yet";
    EXPECT_EQ(asked.size(), static_cast<std::size_t>(turn));
    host.time_ms += 2000;
  }
  EXPECT_EQ(number("SELECT coalesce(as_of, 0) FROM source"), 0) << "the round is not over";
  EXPECT_EQ(run(poller), 60'000u) << "votes, and the round is over; at most a minute's sleep";
  EXPECT_EQ(asked.size(), 3u);
  EXPECT_EQ(number("SELECT as_of FROM source"), clock.now_ms()) << "when the round began";
  host.time_ms += 299'000;
  EXPECT_EQ(run(poller), 1000u);
  EXPECT_EQ(asked.size(), 3u);
  host.time_ms += 1000;
  run(poller);
  EXPECT_EQ(asked.size(), 4u);
}

TEST_F(PollerTest, SourcesOfOneHostShareItsBudget) {
  Poller poller({space("a.eth"), space("b.eth")}, path(), host);
  EXPECT_EQ(run(poller), 2000u);
  EXPECT_EQ(asked.size(), 1u);
  host.time_ms += 2000;
  run(poller);
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(PollerTest, FailuresInARowWaitLongerAndAreTold) {
  is_up = false;
  Poller poller({space("a.eth")}, path(), host);
  for (const std::int64_t wait_s : {30, 60, 120, 240, 480, 960, 1800, 1800}) {
    const std::size_t before = asked.size();
    run(poller);
    EXPECT_EQ(asked.size(), before + 1);
    host.time_ms += wait_s * 1000 - 1;
    run(poller);
    EXPECT_EQ(asked.size(), before + 1) << wait_s;
    host.time_ms += 1;
  }
  EXPECT_EQ(text("SELECT last_error FROM source"), "the source could not be reached");
  EXPECT_EQ(host.counts["poll_failures"], 8u);
  for (const std::string& line : host.log) EXPECT_EQ(line.find("secret-host"), line.npos);
  is_up = true;
  run(poller);
  EXPECT_EQ(text("SELECT coalesce(last_error, 'none') FROM source"), "none");
  EXPECT_NE(host.log.back().find("works again"), std::string::npos);
}

TEST_F(PollerTest, ALimitHoldsForTheWholeHost) {
  status = 429;
  Poller poller({space("a.eth"), space("b.eth")}, path(), host);
  run(poller);
  EXPECT_EQ(asked.size(), 1u);
  host.time_ms += 119'000;
  run(poller);
  EXPECT_EQ(asked.size(), 1u);
  status = 200;
  host.time_ms += 1000;
  run(poller);
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(PollerTest, ASourceOfAnotherDaoIsRefused) {
  {
    Poller poller({space("a.eth")}, path(), host);
    run(poller);
  }
  SourceSettings other = space("a.eth");
  other.dao_id = "other";
  Poller poller({other}, path(), host);
  asked.clear();
  run(poller);
  EXPECT_TRUE(asked.empty());
  EXPECT_NE(host.log[host.log.size() - 2].find("set `dao: a-eth`"), std::string::npos)
      << host.log.back();
}

TEST_F(PollerTest, ASecretAddressThatIsMissingIsTold) {
  SourceSettings without = space("a.eth");
  without.url.clear();
  Poller poller({without}, path(), host);
  run(poller);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(text("SELECT last_error FROM source"), "its address (a secret) is not available");
}

}  // namespace
}  // namespace turnpike::govdata
