// How the registry handles a lane's terms, whatever they mean: it collects them, reports the lane's
// mistakes at their places, and puts the lane's texts into canonical forms.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "registry/compile.h"
#include "registry/diff.h"
#include "text/canonical_json.h"

namespace turnpike::registry {
namespace {

constexpr std::string_view reserved[] = {"x-fare"};

// Represents every part by its first scalar, and refuses what a test chooses.
class FareLane final : public Lane {
 public:
  explicit FareLane(std::string_view name = "fare") : name_(name) {}

  [[nodiscard]] LaneTraits traits() const noexcept override {
    LaneTraits traits;
    traits.name = name_;
    traits.has_terms = true;
    traits.buffer_whole = true;
    traits.reserved_headers = reserved;
    return traits;
  }
  [[nodiscard]] Result<ReadTerms> read_terms(const RegistryParts& parts) const override {
    if (failure) return *failure;
    ReadTerms read;
    read.mistakes = mistakes;
    read.is_enabled = parts.section != nullptr;
    if (parts.section != nullptr) read.canonical = worded(*parts.section);
    for (const Settings* price : parts.prices) {
      PriceTerms terms;
      terms.is_offered = true;
      terms.canonical = worded(*price);
      terms.definition = "[]";
      read.prices.push_back(std::move(terms));
    }
    for (const auto& [settings, over] : parts.policies) {
      PolicyTerms terms;
      if (settings != nullptr) {
        terms.binding = read.policies[over].binding + "/" + worded(*settings);
        terms.canonical = worded(*settings);
      }
      read.policies.push_back(std::move(terms));
    }
    return read;
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding&, Host&) override {
    return Failure{FailureKind::unavailable, "it is for registries alone", {}, false};
  }

  std::vector<TermsMistake> mistakes;
  std::optional<Failure> failure;

 private:
  static std::string worded(const Settings& settings) {
    const Settings* node = &settings;
    while (node->kind != Settings::Kind::scalar) {
      node = node->kind == Settings::Kind::list ? &node->items.at(0) : &node->fields.at(0).value;
    }
    return "\"" + node->text + "\"";
  }

  const std::string_view name_;
};

// The tests refer to line numbers of this text.
constexpr std::string_view text = R"(provider: {key: t, name: T}
upstreams: {u: {plugin: http}}
fare:
  zones:
    inner.city: {tariff: a1}
prices:
  p: {version: 1, credit_cost: 1, fare: [5, 6]}
  q: {version: 1, credit_cost: 1}
defaults: {price: p, fare: {child: half}}
routes:
  - {path: /a}
  - {path: /b, fare: {dog: free}}
  - {path: /c, price: q}
)";

Compiled compiled(const Lane& lane, std::string_view yaml = text) {
  const Source source{"t.yaml", std::string(yaml)};
  return compile({.sources = {&source, 1}, .installed = {}, .plugins = {}, .lane = &lane});
}

std::vector<std::string> problems_of(const Compiled& result) {
  std::vector<std::string> all;
  if (result.ok()) return all;
  for (const Problem& problem : result.error()) {
    all.push_back(std::string(problem.rule) + " " + problem.text());
  }
  return all;
}

TEST(LaneTermsTest, AreInTheCanonicalFormInTheirPlaces) {
  for (const std::string name : {"fare", "a", "zoo"}) {
    std::string yaml(text);
    for (std::size_t at = yaml.find("fare:"); at != yaml.npos; at = yaml.find("fare:", at + 1)) {
      yaml.replace(at, 4, name);
    }
    const auto program = compiled(FareLane(name), yaml);
    ASSERT_TRUE(program.ok()) << problems_of(program).front();
    const auto json = nlohmann::json::parse((*program)->canonical_json());
    EXPECT_EQ(text::canonical_json(json), (*program)->canonical_json()) << name;
    EXPECT_EQ(json[name], "a1");
    EXPECT_EQ(json["prices"][0][name + "_terms"], "5");
    EXPECT_EQ(json["prices"][0][name + "_enabled"], true);
    EXPECT_FALSE(json["prices"][1].contains(name + "_terms"));
  }
}

TEST(LaneTermsTest, APolicyIsReadOverThatOfTheDefaults) {
  const auto program = compiled(FareLane());
  ASSERT_TRUE(program.ok()) << problems_of(program).front();
  const auto policy_of = [&](std::string_view path) {
    const auto match = (*program)->match(path);
    return (*program)->lane_terms()->policies[match.route->policy].binding;
  };
  EXPECT_EQ(policy_of("/v1/gateway/t/a"), "/\"half\"");
  EXPECT_EQ(policy_of("/v1/gateway/t/b"), "/\"half\"/\"free\"");
  const auto is_sold = [&](std::string_view path) {
    const auto match = (*program)->match(path);
    return (*program)->is_sold_per_call(*(*program)->operation(*match.route, Method::get));
  };
  EXPECT_TRUE(is_sold("/v1/gateway/t/a"));
  EXPECT_FALSE(is_sold("/v1/gateway/t/c")) << "its price has no terms";
}

TEST(LaneTermsTest, MistakesAreToldAtTheirPlaces) {
  using Part = TermsMistake::Part;
  FareLane lane;
  lane.mistakes = {{Part::section, 0, "zones.inner.city.tariff", "one", false},
                   {Part::section, 0, "zones.inner.city", "two", true},
                   {Part::price, 0, "[1]", "three", false},
                   {Part::policy, 2, "dog", "four", false},
                   {Part::policy, 1, "gone.away", "five", false},
                   {Part::price, 7, "", "six", false}};
  EXPECT_EQ(problems_of(compiled(lane)),
            (std::vector<std::string>{"lane_terms fare: six",
                                      "lane_terms t.yaml:5:5: fare.zones.inner.city: two",
                                      "lane_terms t.yaml:5:26: fare.zones.inner.city.tariff: one",
                                      "lane_terms t.yaml:7:45: prices.p.fare[1]: three",
                                      "lane_terms t.yaml:9:28: defaults.fare: five",
                                      "lane_terms t.yaml:12:28: routes[1].fare.dog: four"}));
}

TEST(LaneTermsTest, ALaneThatFailsIsTold) {
  FareLane lane;
  lane.failure = Failure{FailureKind::plugin_fault, "out of luck", {}, false};
  EXPECT_EQ(problems_of(compiled(lane)),
            std::vector<std::string>{
                "lane_failed fare: the lane \"fare\" could not read its terms: out of luck"});
}

TEST(LaneTermsTest, ALaneCannotBeNamedLikeAKeyOfTheLanguage) {
  const auto problems = problems_of(compiled(FareLane("routes"), "prices: {}\n"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0],
            "lane_name_taken t.yaml:1:1: the lane \"routes\" has the name of a key here, so its "
            "terms cannot be told");
}

TEST(LaneTermsTest, HeadersOfTheLaneAreNeverForwardedOrPassedBack) {
  constexpr std::string_view yaml =
      "provider: {key: t, name: T}\nupstreams: {u: {plugin: http}}\nroutes:\n"
      "  - {path: /a, price: unavailable, forwarded_headers: [X-Fare],\n"
      "     allowed_response_headers: [x-fare]}\n";
  EXPECT_EQ(problems_of(compiled(FareLane(), yaml)).size(), 2u);
}

TEST(LaneTermsTest, WhatChangesInThemIsADifference) {
  const auto before = compiled(FareLane());
  std::string yaml(text);
  yaml.replace(yaml.find("a1"), 2, "b2");
  const auto after = compiled(FareLane(), yaml);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(text_of(difference(**before, **after)), "~ fare fare\n    : \"a1\" -> \"b2\"\n");
  yaml.erase(yaml.find("fare:"), yaml.find("prices:") - yaml.find("fare:"));
  const auto without = compiled(FareLane(), yaml);
  ASSERT_TRUE(without.ok()) << problems_of(without).front();
  EXPECT_EQ(text_of(difference(**before, **without)), "- fare fare\n");
}

}  // namespace
}  // namespace turnpike::registry
