// The directory entry of a provider in the registry: how it is compiled, which addresses are
// accepted, and that no revision fixes any of it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/diff.h"
#include "registry/facts.h"
#include "registry/programs.h"

namespace turnpike::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string with_listing(const std::string& listing, const std::string& name = "Test") {
  return "provider: {key: t, name: " + name + listing + "}\n";
}

std::string listed(const std::string& more = "") {
  return with_listing(", listing: {category: weather, description: Wind and rain." + more + "}");
}

std::string with_url(const std::string& url) {
  return listed(", source: {name: Office, url: \"" + url + "\"}");
}

TEST(Listing, IsKeptWithItsWordsSorted) {
  const auto program = program_of(listed(
      ", chains: [optimism, base], topics: [], source: {name: ' Met Office ', "
      "url: 'https://data.example.org:8443/a?b=c#d', licence: CC-BY-4.0, updated: 2024-02-29}"));
  const Listing& listing = *program->providers()[0].listing;
  EXPECT_EQ(listing.category, "weather");
  EXPECT_THAT(listing.chains, ElementsAre("base", "optimism"));
  EXPECT_THAT(listing.topics, ElementsAre());
  EXPECT_EQ(listing.source.name, "Met Office");
  EXPECT_EQ(listing.source.url, "https://data.example.org:8443/a?b=c#d");
  EXPECT_EQ(listing.source.licence, "CC-BY-4.0");
  EXPECT_EQ(listing.source.updated, "2024-02-29");
  EXPECT_EQ(listing.description, "Wind and rain.");
}

TEST(Listing, NeedsNoSource) {
  const auto program = program_of(listed());
  EXPECT_EQ(program->providers()[0].listing->source.name, "");
}

TEST(Listing, IsNotSaidOfAProviderThatSaysNothing) {
  const auto program = program_of(with_listing(""));
  EXPECT_EQ(program->providers()[0].listing, nullptr);
  EXPECT_THAT(program->canonical_json(), Not(HasSubstr("listing")));
}

TEST(Listing, IsPartOfTheHash) {
  EXPECT_NE(program_of(with_listing(""))->payload_hash(), program_of(listed())->payload_hash());
  EXPECT_EQ(program_of(listed(", topics: [a, b]"))->payload_hash(),
            program_of(listed(", topics: [b, a]"))->payload_hash());
}

TEST(Listing, IsTheOperatorsToChangeUnderTheSameRevision) {
  const auto facts = facts_of(*program_of(with_listing("")));
  EXPECT_TRUE(registry::compiled(listed(), facts));
  EXPECT_FALSE(registry::compiled(with_listing("", "Another"), facts)) << "as the name is not";
}

TEST(Listing, ADifferenceNamesWhatChanged) {
  EXPECT_EQ(text_of(difference(*program_of(listed(", source: {name: A, updated: 2026-01-01}")),
                               *program_of(listed(", source: {name: A, updated: 2026-02-01}")))),
            "~ providers t\n"
            "    /listing/source/updated: \"2026-01-01\" -> \"2026-02-01\"\n");
}

TEST(Listing, LinksLeadToHttpsAlone) {
  for (const char* const url : {"https://example.org", "https://example.org/a%20b?c=d"}) {
    EXPECT_TRUE(registry::compiled(with_url(url))) << url;
  }
  for (const char* const url :
       {"http://example.org", "javascript:alert(1)", "//example.org", "https://", "https:///a",
        "https://a b", "https://example.org/a b", "https://example.org/<b>", "https://[::1]/",
        "https://me@example.org", "https://example.org:", "https://example.org:x",
        "https://example.org/%zz", "HTTPS://example.org", "https://example.org/\\\"onclick"}) {
    EXPECT_FALSE(registry::compiled(with_url(url))) << url;
  }
}

TEST(Listing, LengthsHoldAtTheirBounds) {
  const auto described = [](std::size_t bytes) {
    const std::string text(bytes, 'x');
    return registry::compiled(with_listing(", listing: {category: a, description: " + text + "}"))
        .ok();
  };
  EXPECT_TRUE(described(600));
  EXPECT_FALSE(described(601));
  const auto topics = [](int count) {
    std::string text;
    for (int at = 0; at < count; ++at) text += (at == 0 ? "t" : ", t") + std::to_string(at);
    return registry::compiled(listed(", topics: [" + text + "]")).ok();
  };
  EXPECT_TRUE(topics(16));
  EXPECT_FALSE(topics(17));
}

}  // namespace
}  // namespace turnpike::registry
