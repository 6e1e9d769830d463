// Pages as authors write them: front matter, values, marks for operators, the menu, and every
// mistake with its file and line.
#include "site/authored.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "site/site_fixture.h"

namespace turnpike::site {
namespace {

using testing::HasSubstr;

class AuthoredTest : public tests::SiteFixture {};

TEST_F(AuthoredTest, PathsFollowFromNames) {
  write_page("pages/index.md", "# Home\n");
  write_page("pages/developers/index.md", "# Docs\n");
  write_page("pages/developers/calling.md", "# Calling\n");
  write_page("blog/first.md", "# First\n", "updated: 2026-11-01\n");
  write("pages/README.md", "no page");
  const auto site = load();
  ASSERT_NE(site, nullptr);
  std::vector<std::string> paths;
  for (const auto& [path, page] : site->authored().pages()) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/", "/blog/first", "/developers",
                                             "/developers/calling"}));
  EXPECT_EQ(site->authored().find("/blog/first")->layout, "post.html");
  EXPECT_EQ(site->authored().find("/developers")->layout, "page.html");
}

TEST_F(AuthoredTest, AnOverlayReplacesPagesAndAddsSome) {
  write_page("pages/index.md", "# Ours\n");
  settings_.overlay = directory_.path() + "/overlay";
  const std::string site_directory = settings_.directory;
  settings_.directory = settings_.overlay;
  write_page("pages/index.md", "# Theirs\n");
  write_page("pages/imprint.md", "# Imprint\n");
  settings_.directory = site_directory;
  EXPECT_EQ(markdown(facts_of(nullptr), "/"), "# Theirs\n");
  EXPECT_EQ(markdown(facts_of(nullptr), "/imprint"), "# Imprint\n");
}

// Pages in the overlay that remove ours. The page that remains has `links`.
class RemovalTest : public AuthoredTest {
 protected:
  void write_sites(const std::string& links, const std::string& removal) {
    write_page("pages/index.md", "# Home\n\n" + links + "\n");
    write_page("pages/plugins.md", "# Plugins\n", "nav: {order: 1, label: Plugins}\n");
    write_page("pages/plugins/lane.md", "# Lanes\n\n[all](/plugins)\n");
    write_page("pages/plugins-2.md", "# More\n");
    write_page("pages/products/_provider.md", "# Product\n");
    write_page("blog/first.md", "# First\n", "updated: 2026-11-01\n");
    settings_.overlay = directory_.path() + "/overlay";
    overlay("pages/plugins.md", removal);
    overlay("pages/plugins/own.md",
            "---\ntitle: Own\ndescription: Ours.\n---\n# Own\n");
  }
  void overlay(const std::string& name, const std::string& text) {
    std::swap(settings_.directory, settings_.overlay);
    write(name, text);
    std::swap(settings_.directory, settings_.overlay);
  }
  std::vector<std::string> paths() {
    std::vector<std::string> all;
    const auto site = load();
    if (site == nullptr) return all;
    for (const MarkdownPage& page : pages_.list(*site, facts_of(nullptr))) all.push_back(page.path);
    return all;
  }
};

TEST_F(RemovalTest, AnOverlayRemovesAPageAndOursBelowIt) {
  write_sites("", "---\nremoved: all\n---\n");
  EXPECT_EQ(paths(), (std::vector<std::string>{"/", "/blog/first", "/plugins-2", "/plugins/own"}));
  EXPECT_EQ(markdown(facts_of(nullptr), "/plugins"), "");
  EXPECT_EQ(markdown(facts_of(nullptr), "/plugins/lane"), "");
  EXPECT_EQ(markdown(facts_of(nullptr), "/plugins/own"), "# Own\n");
  EXPECT_TRUE(load()->menu("/").empty());
}

TEST_F(RemovalTest, LinksToWhatIsRemovedAreTold) {
  write_sites("[all](/plugins) [lanes](/plugins/lane#x)", "---\nremoved: all\n---\n");
  const std::string found = problems();
  EXPECT_THAT(found, HasSubstr("index.md:7: the link `/plugins` leads to a page that the overlay"));
  EXPECT_THAT(found, HasSubstr("index.md:7: the link `/plugins/lane#x` leads to a page that"));
  overlay("pages/plugins.md", "---\nremoved: page\n---\n");
  EXPECT_THAT(problems(), HasSubstr("lane.md:7: the link `/plugins` leads to a page that"));
}

TEST_F(RemovalTest, PostsAndThePageOfProvidersAreRemovedToo) {
  write_sites("", "---\nremoved: all\n---\n");
  overlay("blog/first.md", "---\nremoved: page\n---\n");
  overlay("pages/products/_provider.md", "---\nremoved: page\n---\n");
  const auto site = load();
  ASSERT_NE(site, nullptr);
  EXPECT_TRUE(site->authored().posts().empty());
  EXPECT_EQ(site->authored().of_provider(), nullptr);
}

TEST_F(RemovalTest, WhatCannotBeRemovedIsTold) {
  write_sites("", "---\nremoved: all\n---\n");
  overlay("pages/index.md", "---\nremoved: page\n---\n");
  overlay("pages/plugin.md", "---\nremoved: page\n---\n");
  overlay("pages/plugins-2.md", "---\nremoved: page\n---\n# Text\n");
  overlay("pages/plugins.md", "---\nremoved: yes\n---\n");
  const std::string found = problems();
  EXPECT_THAT(found, HasSubstr("index.md:1: `/` is no page that can be removed"));
  EXPECT_THAT(found, HasSubstr("plugin.md:1: there is no page of this name to remove"));
  EXPECT_THAT(found, HasSubstr("plugins-2.md:4: a page that is removed has no text"));
  EXPECT_THAT(found, HasSubstr("plugins.md:2: `removed` is page, or all"));
}

TEST_F(AuthoredTest, TheMenuFollowsFromFrontMatter) {
  write_page("pages/pricing.md", "# P\n", "nav: {order: 20, label: Pricing}\n");
  write_page("pages/developers.md", "# D\n", "nav: {order: 10, label: Docs & more}\n");
  write_page("pages/developers/calling.md", "# C\n");
  const auto site = load();
  ASSERT_NE(site, nullptr);
  const auto menu = site->menu("/developers/calling");
  ASSERT_EQ(menu.size(), 2u);
  EXPECT_EQ(menu[0].label, "Docs & more");
  EXPECT_TRUE(menu[0].is_here);
  EXPECT_EQ(menu[1].path, "/pricing");
  EXPECT_FALSE(menu[1].is_here);
}

TEST_F(AuthoredTest, TheFootFollowsFromFrontMatter) {
  write_page("pages/terms.md", "# T\n", "foot: {order: 20, label: Terms}\n");
  write_page("pages/about.md", "# A\n", "foot: {order: 10, label: About}\n");
  write_page("pages/pricing.md", "# P\n", "nav: {order: 20, label: Pricing}\n");
  const auto site = load();
  ASSERT_NE(site, nullptr);
  const auto foot = site->authored().foot();
  ASSERT_EQ(foot.size(), 2u);
  EXPECT_EQ(foot[0].label, "About");
  EXPECT_EQ(foot[1].path, "/terms");
}

TEST_F(AuthoredTest, MistakesOfFrontMatterHaveTheirLines) {
  write("pages/a.md", "# No front matter\n");
  write("pages/b.md", "---\ntitle: B\nlayuot: page.html\ndescription: x\n---\n# B\n");
  write("pages/c.md", "---\ntitle: [\n---\n# C\n");
  write("pages/d.md", "---\ntitle: D\n---\n# D\n");
  write("pages/e.md", "---\ntitle: E\ndescription: x\nnoindex: perhaps\n---\n# E\n");
  write("pages/f.md", "---\ntitle: F\ndescription: x\nupdated: today\n---\n# F\n");
  write("pages/g.md", "---\ntitle: G\ndescription: x\nnav: 3\n---\n# G\n");
  write("pages/h.md", "---\ntitle: H\ndescription: x\ntitle: again\n---\n# H\n");
  write("pages/i.md", "---\ntitle: I\ndescription: x\nlayout: none.html\n---\n# I\n");
  write("pages/Upper.md", "---\ntitle: U\ndescription: x\n---\n# U\n");
  write("blog/j.md", "---\ntitle: J\ndescription: x\n---\n# J\n");
  const std::string found = problems();
  EXPECT_THAT(found, HasSubstr("a.md:1"));
  EXPECT_THAT(found, HasSubstr("b.md:3: unknown key `layuot`"));
  EXPECT_THAT(found, HasSubstr("c.md:3"));
  EXPECT_THAT(found, HasSubstr("d.md:1: the front matter lacks `description`"));
  EXPECT_THAT(found, HasSubstr("e.md:4"));
  EXPECT_THAT(found, HasSubstr("f.md:4: `updated` is a day"));
  EXPECT_THAT(found, HasSubstr("g.md:4: `nav` is {order"));
  EXPECT_THAT(found, HasSubstr("h.md:4: `title` stands there twice"));
  EXPECT_THAT(found, HasSubstr("i.md:1: there is no layout layouts/none.html"));
  EXPECT_THAT(found, HasSubstr("Upper.md:1: the name of a page"));
  EXPECT_THAT(found, HasSubstr("j.md:1: the front matter lacks `updated`"));
}

TEST_F(AuthoredTest, MistakesOfTheTextHaveTheirLines) {
  write_page("pages/a.md",
             "# A\n\n{{nothing}}\n\n```turnpike price\n```\n\n```turnpike prices colour=red\n```\n"
             "\n```turnpike limits\ntext\n```\n\n{{site}} and {{ open\n\n"
             "```turnpike prices provider=this\n```\n\n```turnpike snippet in=cobol\n```\n");
  write_page("pages/b.md", "No heading\n\n{{provider}}\n\n```turnpike blog count=many\n```\n");
  write_page("pages/c.md", "# C\n\n```turnpike routes\n");
  const std::string found = problems();
  EXPECT_THAT(found, HasSubstr("a.md:7: there is no value `{{nothing}}`"));
  EXPECT_THAT(found, HasSubstr("a.md:9: there is no live part `price`; there are prices, routes"));
  EXPECT_THAT(found, HasSubstr("a.md:12: the part `prices` has no option `colour`"));
  EXPECT_THAT(found, HasSubstr("a.md:16: a live part has no text of its own"));
  EXPECT_THAT(found, HasSubstr("a.md:19: `{{` begins no value"));
  EXPECT_THAT(found, HasSubstr("a.md:21: `provider=this` is for"));
  EXPECT_THAT(found, HasSubstr("a.md:24: `in=cobol` is none of"));
  EXPECT_THAT(found, HasSubstr("b.md:5: the text begins with its heading"));
  EXPECT_THAT(found, HasSubstr("b.md:7: there is no value `{{provider}}`"));
  EXPECT_THAT(found, HasSubstr("b.md:9: `count=many` is no number"));
  EXPECT_THAT(found, HasSubstr("c.md:7: the live part is not closed"));
}

TEST_F(AuthoredTest, DeadLinksAndAnchorsHaveTheirLines) {
  write_page("pages/pricing.md", "# Prices\n\n## Free variants\n");
  write_page("pages/a.md",
             "# A\n\n[good](/pricing) [too](/pricing#free-variants) [md](/pricing.md)\n\n"
             "```turnpike limits\n```\n\n[dead](/prices)\n\n[anchor](/pricing#paid)\n\n"
             "[relative](pricing.md)\n\n[own](#a) [none](#b)\n\n"
             "[out](https://example.org/x) [mail](mailto:a@b.example) [dir](/discovery/x)\n");
  const std::string found = problems();
  EXPECT_THAT(found, HasSubstr("a.md:12: the link `/prices` leads nowhere"));
  EXPECT_THAT(found, HasSubstr("a.md:14: the link `/pricing#paid` names no heading"));
  EXPECT_THAT(found, HasSubstr("a.md:16: the link `pricing.md` does not begin at the root"));
  EXPECT_THAT(found, HasSubstr("a.md:18: the link `#b` names no heading"));
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 4) << found;
}

TEST_F(AuthoredTest, LinksIntoTheCatalogLeadToWhatIsInstalled) {
  const auto view = view_of(catalog::tests::varied_yaml);
  const std::string key = view->program().providers().front().key;
  write_page("pages/products/_provider.md", "# Product\n");
  write_page("pages/a.md", "# A\n\n[p](/products/" + key + ") [d](/discovery/sources/" + key +
                               ".md) [l](/discovery/sources) [h](/discovery#x)"
                               " [j](/discovery/agent-capabilities.json)\n\n"
                               "[dead](/products/nobody)\n\n[dead](/discovery/sources/nobody)\n\n"
                               "[dead](/discovery/chains/none)\n\n[page](/a)\n");
  const auto site = load();
  ASSERT_NE(site, nullptr);
  std::string found;
  for (const registry::Problem& problem : dead_links_to_catalog(*site, view->program())) {
    found += std::to_string(problem.line) + " " + problem.message.substr(0, 45) + "\n";
  }
  EXPECT_EQ(found,
            "9 the link `/products/nobody` leads nowhere: th\n"
            "11 the link `/discovery/sources/nobody` leads no\n"
            "13 the link `/discovery/chains/none` leads nowhe\n");
}

TEST_F(AuthoredTest, ValuesAreFilledInEverywhere) {
  settings_.brand.name = "A *B* `C`";
  settings_.brand.contact = "help@example.com";
  write_page("pages/a.md",
             "# {{site}}\n\n`{{site}}` and \\{{site}} [mail](mailto:{{contact}})\n\n"
             "```sh\ncurl {{api}}/v1 # {{site}}\n```\n{{fill: the court}} {{legal_name}}\n");
  EXPECT_EQ(markdown(facts_of(nullptr), "/a"),
            "# A \\*B\\* \\`C\\`\n\n`A *B* 'C'` and {{site}} [mail](mailto:help@example.com)\n\n"
            "```sh\ncurl https://api.example.com/v1 # A *B* 'C'\n```\n"
            "\\[The operator has not said yet: the court\\] "
            "\\[The operator has not said yet: site.brand.legal\\_name\\]\n");
}

TEST_F(AuthoredTest, WhatOperatorsMustSayIsListedWithItsPlace) {
  write_page("pages/terms-of-service.md", "# Terms\n\n{{fill: the court}}\n\n{{legal_name}}\n");
  auto site = load();
  ASSERT_NE(site, nullptr);
  const Problems marks = unfilled_marks(*site);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_THAT(marks[0].text(), HasSubstr("terms-of-service.md:7: the operator has not said yet: "
                                         "the court"));
  EXPECT_EQ(marks[1].line, 9);
  settings_.brand.legal_name = "Example GmbH";
  EXPECT_EQ(unfilled_marks(*load()).size(), 1u);
}

TEST_F(AuthoredTest, ProvidersHaveAPageInCommonAndMayHaveTheirOwn) {
  write("pages/products/_provider.md",
        "---\ntitle: \"{{provider}}\"\ndescription: Calls of {{provider}}.\n---\n# {{provider}}\n\n"
        "```turnpike routes provider=this\n```\n");
  const Facts facts = facts_of(view_of(catalog::tests::varied_yaml));
  const auto site = load();
  ASSERT_NE(site, nullptr);
  const auto page = pages_.find(*site, facts, "/products/alpha");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->title, "Alpha data");
  EXPECT_THAT(page->markdown, HasSubstr("`GET /v1/gateway/alpha/v1/things`"));
  EXPECT_FALSE(pages_.find(*site, facts, "/products/beta"));
  EXPECT_FALSE(pages_.find(*site, facts, "/products/_provider"));
  EXPECT_FALSE(pages_.find(*site, facts_of(nullptr), "/products/alpha"));
  const auto cards = pages_.list(*site, facts);
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].path, "/products/alpha");
  EXPECT_EQ(cards[0].section, "Products");
  write_page("pages/products/alpha.md", "# Our own\n");
  EXPECT_EQ(markdown(facts, "/products/alpha"), "# Our own\n");
}

TEST_F(AuthoredTest, SixPagesAreNegotiated) {
  for (const char* const path : {"/", "/about", "/contact", "/developers", "/products",
                                 "/pricing"}) {
    EXPECT_TRUE(is_negotiated_path(path)) << path;
  }
  for (const char* const path : {"/blog", "/status", "/developers/calling", "/partners", ""}) {
    EXPECT_FALSE(is_negotiated_path(path)) << path;
  }
}

}  // namespace
}  // namespace turnpike::site
