// The directory: its pages, the page breaks of lists, the comparison of two sources, and that texts
// of providers are shown only as text.
#include "site/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "registry/compile.h"
#include "site/markdown.h"
#include "site/terms_text.h"
#include "support/paths.h"
#include "support/readiness.h"
#include "support/status_story.h"

namespace turnpike::site {
namespace {

using support::StatusStory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view common =
    "free_policies:\n"
    "  few: {window: {limit: 60, seconds: 60}, concurrency: 4, quota: {limit: 1000, seconds: "
    "86400}}\n"
    "prices:\n"
    "  one: {version: 1, credit_cost: 1, no_charge_when: [{empty_at: /data}]}\n"
    "  many: {version: 1, credit_cost: 1200}\n";

std::string provider_text(const std::string& key, const std::string& listing,
                          const std::string& name = "Name", const std::string& more = "") {
  return "provider: {key: " + key + ", name: \"" + name + "\"" +
         (listing.empty() ? "" : ", listing: " + listing) + "}\nupstreams: {" + key +
         "-main: {plugin: http}}\nroutes:\n  - {path: /now, price: one, free: few, summary: Now" +
         more + "}\n  - {path: /all, price: many}\n" +
         "  - {path: /gone, price: unavailable, readiness: {status: blocked, reason: Not yet.}}\n";
}

std::string listing_of(const std::string& category, const std::string& more = "") {
  return "{category: " + category + ", description: Words." + more + "}";
}

struct Installed {
  Facts facts;
  std::shared_ptr<const registry::Program> program;
};

Installed installed(const std::vector<std::string>& files) {
  std::vector<registry::Source> sources = {{"common.yaml", std::string(common)}};
  for (std::size_t at = 0; at < files.size(); ++at) {
    sources.push_back({"p" + std::to_string(at) + ".yaml", files[at]});
  }
  auto compiled =
      registry::compile({.sources = sources, .installed = {}, .plugins = {}, .lane = nullptr});
  if (!compiled.ok()) throw std::runtime_error(compiled.error().front().text());
  Installed made;
  made.program = *compiled;
  registry::Installed in_service{made.program, {}};
  in_service.generation.id = "gen_test";
  catalog::ViewOptions options;
  options.features.free_lane = true;
  options.cursor_key = std::string(32, 'k');
  made.facts.view = std::make_shared<const catalog::View>(
      std::move(in_service), std::make_shared<support::EverythingReady>(), options);
  made.facts.urls = {.api = "https://api.example.com", .mcp = {}, .web = "https://example.com"};
  made.facts.now_ms = StatusStory::begins_at_ms;
  return made;
}

std::vector<std::string> many_providers(int count, const std::string& category = "weather") {
  std::vector<std::string> files;
  for (int at = 0; at < count; ++at) {
    const std::string number = std::to_string(10'000 + at);
    files.push_back("provider: {key: p" + number + ", name: Source " + number + ", listing: " +
                    listing_of(category) + "}\n");
  }
  return files;
}

class DirectoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto loaded = Site::load({.directory = support::source_path("site")});
    ASSERT_TRUE(loaded.ok()) << loaded.error();
    site_ = *std::move(loaded);
  }
  static void TearDownTestSuite() { site_.reset(); }

  std::string at(const Installed& of, const std::string& path) {
    const auto page = directory_.find(*site_, of.facts, path);
    if (!page) return "there is no such page";
    EXPECT_EQ(page->path, path);
    EXPECT_FALSE(page->title.empty());
    EXPECT_FALSE(page->description.empty());
    EXPECT_TRUE(page->markdown.starts_with("# ")) << page->markdown;
    return page->markdown;
  }
  bool has(const Installed& of, const std::string& path) {
    return directory_.find(*site_, of.facts, path).has_value();
  }
  // Expects that every page that is linked or listed exists or redirects to one that does.
  void expect_whole(const Installed& of) {
    std::set<std::string> known;
    std::vector<std::string> open = {"/discovery"};
    for (const MarkdownPage& page : directory_.list(*site_, of.facts)) {
      EXPECT_TRUE(page.markdown.empty());
      open.push_back(page.path);
    }
    while (!open.empty()) {
      const std::string path = open.back();
      open.pop_back();
      if (!known.insert(path).second) continue;
      for (const MarkdownLink& link : links_of(at(of, path))) {
        const bool is_ours = link.url.starts_with("/") && !link.url.ends_with(".json");
        if (is_ours) open.push_back(link.url);
      }
    }
  }

  static std::shared_ptr<const Site> site_;
  Directory directory_;
};
std::shared_ptr<const Site> DirectoryTest::site_;

TEST_F(DirectoryTest, ListsSourcesByNameWhereNothingIsListed) {
  const Installed none = installed({provider_text("a", ""), provider_text("b-c", "")});
  EXPECT_THAT(at(none, "/discovery"), HasSubstr("[Name](/discovery/sources/b-c)"));
  EXPECT_THAT(at(none, "/discovery"), Not(HasSubstr("Categories")));
  EXPECT_THAT(at(none, "/discovery/sources/a"), HasSubstr("Not yet"));
  EXPECT_FALSE(has(none, "/discovery/compare/a-vs-b-c")) << "in no category";
  expect_whole(none);
}

TEST_F(DirectoryTest, WhatIsBlockedKeepsItsTermsAsOnThePageOfPrices) {
  const std::string blocked = ", readiness: {status: blocked, reason: Not part of this.}";
  Installed one = installed({provider_text("a", "", "Name", blocked)});
  const std::string limits = "60 requests in 1 min, 4 at once; 1,000 in 1 day";
  const auto row = [&] {
    const std::string page = at(one, "/discovery/sources/a");
    const std::size_t begin = page.find("| Now |");
    return page.substr(begin, page.find('\n', begin) - begin);
  };
  EXPECT_THAT(row(), HasSubstr("| 1 Credit | " + limits + " |"));
  EXPECT_THAT(row(), HasSubstr("blocked: Not part of this."));
  // If no call is free, the page does not mention limits.
  registry::Installed in_service{one.program, {}};
  in_service.generation.id = "gen_test";
  catalog::ViewOptions options;
  options.cursor_key = std::string(32, 'k');
  one.facts.view = std::make_shared<const catalog::View>(
      std::move(in_service), std::make_shared<support::EverythingReady>(), options);
  EXPECT_THAT(row(), Not(HasSubstr(limits)));
}

TEST_F(DirectoryTest, AnswersWithoutSourcesAndWithoutACatalog) {
  const Installed empty = installed({});
  EXPECT_THAT(at(empty, "/discovery"), HasSubstr("# There are no sources yet"));
  EXPECT_THAT(at(empty, "/discovery/sources"), HasSubstr("There are no sources yet."));
  expect_whole(empty);
  const Installed nothing;
  EXPECT_THAT(at(nothing, "/discovery"), HasSubstr("no catalog in service"));
  EXPECT_FALSE(has(nothing, "/discovery/sources/a"));
  EXPECT_TRUE(directory_.list(*site_, nothing.facts).empty());
  EXPECT_EQ(directory_.moved_to(nothing.facts, "/discovery/sources/page/1"), "");
}

TEST_F(DirectoryTest, HasOnlyThePagesItSays) {
  const Installed one = installed({provider_text("a", listing_of("weather", ", chains: [base]"))});
  for (const char* const path :
       {"/discovery", "/discovery/sources", "/discovery/sources/a",
        "/discovery/categories/weather", "/discovery/chains/base"}) {
    EXPECT_TRUE(has(one, path)) << path;
    EXPECT_EQ(directory_.moved_to(one.facts, path), "") << path;
  }
  for (const char* const path :
       {"/", "/discover", "/discovery/", "/discoveryx", "/discovery/sources/",
        "/discovery/sources/b",
        "/discovery/sourcesx", "/discovery/sources/page/0", "/discovery/sources/page/01",
        "/discovery/sources/page/2", "/discovery/sources/page/x", "/discovery/sources/page/",
        "/discovery/sources/page/99999999999999999999999", "/discovery/categories",
        "/discovery/categories/", "/discovery/categories/rain", "/discovery/categories/weather/x",
        "/discovery/categories/weather/page/2", "/discovery/chains/weather", "/discovery/topics/a",
        "/discovery/compare/a-vs-a", "/discovery/compare/a", "/discovery/compare/a-vs-b"}) {
    EXPECT_FALSE(has(one, path)) << path;
    EXPECT_EQ(directory_.moved_to(one.facts, path), "") << path;
  }
  EXPECT_EQ(directory_.moved_to(one.facts, "/discovery/sources/page/1"), "/discovery/sources");
  EXPECT_EQ(directory_.moved_to(one.facts, "/discovery/categories/weather/page/1"),
            "/discovery/categories/weather");
}

TEST_F(DirectoryTest, BreaksListsAfterTwentyFour) {
  const Installed few = installed(many_providers(24));
  EXPECT_FALSE(has(few, "/discovery/sources/page/2"));
  EXPECT_THAT(at(few, "/discovery/sources"), HasSubstr("Sources 1 to 24 of 24"));
  EXPECT_THAT(at(few, "/discovery/sources"), Not(HasSubstr("page](")));
  const Installed more = installed(many_providers(25));
  EXPECT_THAT(at(more, "/discovery/sources"), HasSubstr("[Next page](/discovery/sources/page/2)"));
  EXPECT_THAT(at(more, "/discovery/sources"), Not(HasSubstr("sources/p10024")));
  EXPECT_THAT(at(more, "/discovery/sources/page/2"), HasSubstr("sources/p10024"));
  EXPECT_THAT(at(more, "/discovery/sources/page/2"), HasSubstr("Sources 25 to 25 of 25"));
  EXPECT_THAT(at(more, "/discovery"), HasSubstr("And 1 more: [all sources]"));
  EXPECT_THAT(at(more, "/discovery/categories/weather/page/2"), HasSubstr("sources/p10024"));
  const auto second = directory_.find(*site_, more.facts, "/discovery/sources/page/2");
  EXPECT_EQ(second->previous, "/discovery/sources");
  EXPECT_EQ(second->next, "");
  EXPECT_EQ(second->title, "Sources of data, page 2");
}

TEST_F(DirectoryTest, AListOfManyPagesIsWhole) {
  const Installed many = installed(many_providers(60));
  const auto second = directory_.find(*site_, many.facts, "/discovery/sources/page/2");
  EXPECT_EQ(second->previous, "/discovery/sources");
  EXPECT_EQ(second->next, "/discovery/sources/page/3");
  EXPECT_THAT(at(many, "/discovery/sources/p10030"), HasSubstr("And 35 more in [weather]"));
  std::set<std::string> compared;
  for (const MarkdownLink& link : links_of(at(many, "/discovery/sources/p10000"))) {
    if (link.url.find("/compare/") != link.url.npos) compared.insert(link.url);
  }
  EXPECT_EQ(compared.size(), 24u);
  expect_whole(many);
}

TEST_F(DirectoryTest, ComparesTwoOfOneCategoryInOneOrder) {
  const Installed some = installed(
      {provider_text("a", listing_of("weather")), provider_text("b", listing_of("weather")),
       provider_text("c", listing_of("votes")), provider_text("d", "")});
  const std::string page = at(some, "/discovery/compare/a-vs-b");
  EXPECT_THAT(page, HasSubstr("| What | [")) << "no head of a table is empty";
  EXPECT_THAT(page, HasSubstr("| Price of a call | 1 to 1,200 Credits | 1 to 1,200 Credits |"));
  EXPECT_THAT(page, HasSubstr("| Free, for each account | 60 requests in 1 min, 4 at once; "
                              "1,000 in 1 day |"));
  EXPECT_THAT(page, HasSubstr("| Not charged when | null or an empty list is at `/data` |"));
  EXPECT_EQ(directory_.moved_to(some.facts, "/discovery/compare/b-vs-a"),
            "/discovery/compare/a-vs-b");
  EXPECT_FALSE(has(some, "/discovery/compare/b-vs-a"));
  for (const char* const path :
       {"a-vs-c", "c-vs-a", "a-vs-d", "a-vs-a", "a-vs-", "-vs-b", "-vs-"}) {
    EXPECT_FALSE(has(some, std::string("/discovery/compare/") + path)) << path;
    EXPECT_EQ(directory_.moved_to(some.facts, std::string("/discovery/compare/") + path), "");
  }
  expect_whole(some);
}

TEST_F(DirectoryTest, FindsTheSplitThatNamesTwoSources) {
  const Installed some = installed({provider_text("a-vs-b", listing_of("weather")),
                                    provider_text("c-vs-d-vs-e", listing_of("weather")),
                                    provider_text("c", listing_of("votes")),
                                    provider_text("a", listing_of("votes")),
                                    provider_text("b-vs-c", listing_of("other"))});
  EXPECT_THAT(at(some, "/discovery/compare/a-vs-b-vs-c-vs-d-vs-e"),
              HasSubstr("[Name](/discovery/sources/c-vs-d-vs-e)"));
  EXPECT_EQ(directory_.moved_to(some.facts, "/discovery/compare/c-vs-d-vs-e-vs-a-vs-b"),
            "/discovery/compare/a-vs-b-vs-c-vs-d-vs-e");
  EXPECT_FALSE(has(some, "/discovery/compare/a-vs-b-vs-c")) << "of different categories";
  EXPECT_TRUE(has(some, "/discovery/compare/a-vs-c"));
  expect_whole(some);
}

TEST_F(DirectoryTest, ShowsWhatIsMeasuredWithItsRound) {
  Installed some = installed(
      {provider_text("a", listing_of("weather")), provider_text("b", listing_of("weather"))});
  StatusStory story(some.program);
  story.close_round();
  some.facts.board = story.board();
  some.facts.now_ms = story.now_ms;
  const std::string page = at(some, "/discovery/compare/a-vs-b");
  EXPECT_THAT(page, HasSubstr("[round 1](<https://api.example.com/v1/status/evidence"
                              "?from_round=1>)"));
  EXPECT_THAT(page, HasSubstr("| Good calls, measured | 99.97 % in 5 min | 99.97 % in 5 min |"));
  EXPECT_THAT(at(some, "/discovery"), Not(HasSubstr("| unknown |"))) << "all looks passed";
  EXPECT_THAT(at(some, "/discovery"), HasSubstr("# All 2 sources work"));
  some.facts.now_ms += 86'400'000;
  EXPECT_THAT(at(some, "/discovery"), HasSubstr("# 0 of 2 sources work")) << "the board is stale";
  EXPECT_THAT(at(some, "/discovery/sources/a"), HasSubstr("Status: unknown"));
}

TEST_F(DirectoryTest, ANewCatalogAndANewBoardAreSeenAtOnce) {
  Installed first = installed({provider_text("a", listing_of("weather"))});
  EXPECT_TRUE(has(first, "/discovery/sources/a"));
  Installed second = installed({provider_text("b", listing_of("votes"))});
  EXPECT_FALSE(has(second, "/discovery/sources/a"));
  EXPECT_TRUE(has(second, "/discovery/categories/votes"));
  EXPECT_TRUE(has(first, "/discovery/sources/a"));
}

// A provider's text is shown as text: it creates no element, link or cell.
TEST_F(DirectoryTest, ShowsTextsOfProvidersAsText) {
  const std::string hostile =
      "x | y | z</td><script>alert(1)</script> [a](javascript:alert(2)) ![b](//evil) `c` **d** "
      "https://evil.example www.evil.example\\\\|\\n# e\\n- f\\n| --- |\\n&lt;img onerror=g&gt;";
  const std::string listing =
      "{category: weather, description: \"    " + hostile + "\", source: {name: \"" +
      hostile.substr(0, 90) +
      "\", licence: \"=== <b>h</b>\", url: \"https://example.org/?a=1&copy;=2(3)\"}}";
  const Installed some = installed({provider_text("a", listing, "\\n## N|m <i>n</i> ](x) \\\\"),
                                    provider_text("b", listing_of("weather"), "    ")});
  for (const char* const path : {"/discovery", "/discovery/sources", "/discovery/sources/a",
                                 "/discovery/categories/weather", "/discovery/compare/a-vs-b"}) {
    const std::string markdown = at(some, path);
    const std::string html = html_of(markdown).text;
    EXPECT_THAT(html, Not(HasSubstr("<script"))) << path;
    EXPECT_THAT(html, Not(HasSubstr("<i>n"))) << path;
    EXPECT_THAT(html, Not(HasSubstr("<img"))) << path;
    EXPECT_THAT(html, Not(HasSubstr("<strong>"))) << path;
    EXPECT_THAT(html, HasSubstr("&lt;i&gt;n&lt;/i&gt;")) << path;
    for (const MarkdownLink& link : links_of(markdown)) {
      EXPECT_TRUE(link.url.starts_with("/") || link.url.starts_with("https://api.example.com/") ||
                  link.url == "https://example.org/?a=1&copy;=2(3)")
          << path << " links to " << link.url;
    }
  }
  // A bar that ended a cell would push the last cell, the status, out of its row.
  const std::string html = html_of(at(some, "/discovery/sources")).text;
  std::size_t whole_rows = 0;
  constexpr std::string_view end = "<td>unknown</td>\n</tr>";
  for (std::size_t found = html.find(end); found != html.npos; found = html.find(end, found + 1)) {
    ++whole_rows;
  }
  EXPECT_EQ(whole_rows, 2u) << html;
  EXPECT_THAT(at(some, "/discovery"), HasSubstr("[b](/discovery/sources/b)")) << "without a name";
}

TEST_F(DirectoryTest, NoPageGrowsWithTheRegistry) {
  std::vector<std::string> files = many_providers(3'000);
  std::string big = "provider: {key: big, name: Big, listing: " + listing_of("weather") +
                    "}\nupstreams: {m: {plugin: http}}\nroutes:\n";
  for (int at = 0; at < 500; ++at) big += "  - {path: /r" + std::to_string(at) + ", price: one}\n";
  files.push_back(big);
  for (int at = 0; at < 100; ++at) {
    const std::string number = std::to_string(at);
    files.push_back("provider: {key: c" + number + ", name: C, listing: " +
                    listing_of("cat" + number) + "}\n");
  }
  const Installed many = installed(files);
  for (const char* const path :
       {"/discovery", "/discovery/sources", "/discovery/sources/page/70", "/discovery/sources/big",
        "/discovery/sources/p11000", "/discovery/categories/weather",
        "/discovery/compare/big-vs-p11000"}) {
    const std::string markdown = at(many, path);
    EXPECT_LT(markdown.size(), 20'000u) << path;
    EXPECT_LT(links_of(markdown).size(), 150u) << path;
  }
  EXPECT_THAT(at(many, "/discovery/sources/big"),
              HasSubstr("And 450 more routes [in the catalog](<https://api.example.com/v1/"
                        "capabilities?provider_key=big>)"));
  EXPECT_THAT(at(many, "/discovery"), HasSubstr("And 41 more: each stands with its"));
  std::size_t compared = 0;
  std::size_t for_models = 0;
  std::set<std::string> paths;
  for (const MarkdownPage& page : directory_.list(*site_, many.facts)) {
    compared += page.path.find("/compare/") != page.path.npos ? 1 : 0;
    for_models += page.section.empty() ? 0 : 1;
    EXPECT_TRUE(paths.insert(page.path).second) << page.path;
  }
  EXPECT_EQ(compared, 1'000u);
  EXPECT_EQ(for_models, 200u);
}

TEST(TermsText, SaysWhatPeopleSay) {
  EXPECT_EQ(credits_text(1), "1 Credit");
  EXPECT_EQ(credits_text(0), "0 Credits");
  EXPECT_EQ(credits_text(1'234'567), "1,234,567 Credits");
  EXPECT_EQ(credits_text(1, 1), "1 Credit");
  EXPECT_EQ(credits_text(1, 12), "1 to 12 Credits");
  EXPECT_EQ(duration_text(59), "59 s");
  EXPECT_EQ(duration_text(60), "1 min");
  EXPECT_EQ(duration_text(90), "90 s");
  EXPECT_EQ(duration_text(7'200), "2 h");
  EXPECT_EQ(duration_text(86'400), "1 day");
  EXPECT_EQ(duration_text(604'800), "7 days");
  EXPECT_EQ(code_text("/a/{b}"), "`/a/{b}`");
  EXPECT_EQ(code_text("a`b"), "a\\`b");
}

}  // namespace
}  // namespace turnpike::site
