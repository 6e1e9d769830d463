// How the registry declares the monitoring of operations and upstreams: the classes, how a sample
// is compiled, what its reply must contain, and that no revision fixes any of it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/digest.h"
#include "registry/diff.h"
#include "registry/facts.h"
#include "registry/programs.h"
#include "support/paths.h"

namespace turnpike::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class MonitoringTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sources = read_sources(support::source_path("tests/fixtures/registry/valid/monitoring"));
    ASSERT_TRUE(sources);
    auto compiled = compile(
        {.sources = *sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
    if (!compiled) FAIL() << compiled.error().front().text();
    program_ = *compiled;
  }

  const Monitoring& at(const std::string& path, Method method = Method::get) {
    const Match match = program_->match("/v1/gateway/t" + path);
    EXPECT_EQ(match.status, MatchStatus::found) << path;
    return *program_->operation(*match.route, method)->monitoring;
  }

  std::shared_ptr<const Program> program_;
};

TEST_F(MonitoringTest, ANarrowerPlaceGoesOverAWiderOneKeyByKey) {
  EXPECT_EQ(at("/lists").kind, MonitoringClass::continuous);
  EXPECT_EQ(at("/lists").interval_ms, 120'000u);
  EXPECT_EQ(at("/lists").per_day_max, 2'000u) << "of the defaults";
  EXPECT_EQ(at("/notes").interval_ms, 60'000u) << "unless it is stated";
  EXPECT_EQ(at("/pets/x").kind, MonitoringClass::manual);
  EXPECT_EQ(at("/pets/x").interval_ms, 0u) << "it has no regular looks";
  EXPECT_EQ(at("/events").kind, MonitoringClass::not_applicable);
  EXPECT_EQ(at("/events").sample.path, "");
}

TEST_F(MonitoringTest, ASampleIsARequestOfItsOperation) {
  EXPECT_EQ(at("/lists").sample.path, "/v1/gateway/t/lists");
  const Sample& pet = at("/pets/x").sample;
  EXPECT_EQ(pet.path, "/v1/gateway/t/pets/%C3%A4%20b");
  EXPECT_THAT(pet.parameters, ElementsAre(Pair("id", "ä b")));
  EXPECT_EQ(pet.query, "limit=3&order=a%26b%3Dc");
  EXPECT_EQ(pet.body, "");
  const Sample& note = at("/notes", Method::post).sample;
  EXPECT_EQ(note.body, R"({"stars":5,"tags":["a",null,true,1.5],"text":"1"})");
  EXPECT_EQ(note.content_type, "application/json");
  EXPECT_EQ(at("/notes").sample.body, "") << "a method of its own";
}

TEST_F(MonitoringTest, AnExpectationHasAHashOfWhatItAsksFor) {
  const Expectation& expect = at("/lists").expect;
  EXPECT_THAT(expect.kinds, ElementsAre(Pair("", JsonKind::object), Pair("/data", JsonKind::array),
                                        Pair("/next", JsonKind::null)));
  EXPECT_EQ(expect.fresh_within_seconds, 600u);
  EXPECT_EQ(expect.fresh_at, "/at");
  EXPECT_TRUE(expect.learns_shape);
  EXPECT_EQ(expect.hash,
            "sha256:" + crypto::sha256_hex(
                            R"({"fresh_at":"/at","fresh_within_seconds":600,"json":[)"
                            R"({"key":"","kind":"object"},{"key":"/data","kind":"array"},)"
                            R"({"key":"/next","kind":"null"}],"learn_shape":true})"));
  EXPECT_EQ(at("/notes").expect.hash, "") << "nothing is expected";
}

TEST_F(MonitoringTest, AnUpstreamIsProbedAsItSays) {
  const ProbePolicy& stated = program_->upstreams()[0].probe;
  EXPECT_EQ(stated.interval_ms, 300'000u);
  EXPECT_EQ(stated.per_day_max, 300u);
  EXPECT_TRUE(stated.uses_credential);
  const ProbePolicy& usual = program_->upstreams()[1].probe;
  EXPECT_EQ(usual.interval_ms, 60'000u);
  EXPECT_EQ(usual.per_day_max, 1'440u);
  EXPECT_FALSE(usual.uses_credential);
}

std::string with(const std::string& monitoring, const std::string& probe = "") {
  return "provider: {key: t, name: Test}\n"
         "upstreams: {main: {plugin: http" +
         probe +
         "}}\nprices: {standard: {version: 1, credit_cost: 1}}\n"
         "routes: [{path: /a, price: standard" +
         monitoring + "}]\n";
}

const std::string manual = ", monitoring: {class: manual}";

TEST(Monitoring, IsNotSaidOfAnOperationThatSaysNothing) {
  const auto program = program_of(with(""));
  EXPECT_EQ(program->operations()[0].monitoring->kind, MonitoringClass::unreviewed);
  EXPECT_THAT(program->canonical_json(), Not(HasSubstr("monitoring")));
  EXPECT_THAT(program->canonical_json(), Not(HasSubstr("probe")));
  const auto usual = program_of(
      with("", ", probe: {interval_ms: 60000, per_day_max: 1440, credential: false}"));
  EXPECT_EQ(usual->payload_hash(), program->payload_hash()) << "what holds anyway";
}

// Otherwise targets could not be derived from the public generation.
TEST(Monitoring, IsPartOfTheHash) {
  const auto hash = [](const std::string& monitoring, const std::string& probe = "") {
    return program_of(with(monitoring, probe))->payload_hash();
  };
  const std::string prefix = ", monitoring: {class: continuous, sample: {}, per_day_max: 1440";
  EXPECT_NE(hash(""), hash(manual));
  EXPECT_NE(hash(manual), hash(", monitoring: {class: not_applicable}"));
  EXPECT_NE(hash(prefix + "}"), hash(prefix + ", interval_ms: 60001}"));
  EXPECT_EQ(hash(prefix + "}"), hash(prefix + ", interval_ms: 60000}"));
  EXPECT_NE(hash(prefix + "}"), hash(prefix + ", expect: {json: {/a: null}}}"));
  EXPECT_EQ(hash(prefix + "}"), hash(prefix + ", expect: {}}"));
  EXPECT_NE(hash(""), hash("", ", probe: {interval_ms: 60001}"));
}

TEST(Monitoring, IsTheOperatorsToChangeUnderTheSameRevision) {
  const auto facts = facts_of(*program_of(with("")));
  EXPECT_TRUE(compiled(with(manual), facts));
  EXPECT_TRUE(compiled(with("", ", probe: {interval_ms: 90000, credential: true}"), facts));
  EXPECT_FALSE(compiled(with(", deadline_ms: 7"), facts)) << "as that is not";
}

// A plugin learns at bind() whether its probes carry the credential.
TEST(Monitoring, AProbeWithTheCredentialBindsTheUpstreamAnew) {
  const auto digest = [](const std::string& probe) {
    return program_of(with("", probe))->upstreams()[0].settings_digest;
  };
  EXPECT_EQ(digest(""), digest(", probe: {interval_ms: 90000, credential: false}"));
  EXPECT_NE(digest(""), digest(", probe: {credential: true}"));
}

TEST(Monitoring, ADifferenceNamesWhatChanged) {
  const auto text = [](const std::string& before, const std::string& after) {
    return text_of(difference(*program_of(before), *program_of(after)));
  };
  const std::string expecting = ", monitoring: {class: manual, expect: {json: {/a: KIND}}}";
  const auto kind = [&](const std::string& name) {
    return std::string(expecting).replace(expecting.find("KIND"), 4, name);
  };
  EXPECT_EQ(text(with(kind("array")), with(kind("object"))),
            "~ routes /v1/gateway/t/a (t)\n"
            "    /monitoring/expect/json//a/kind: \"array\" -> \"object\"\n");
  EXPECT_EQ(text(with(""), with("", ", probe: {interval_ms: 90000}")),
            "~ upstreams main\n    /probe: nothing -> "
            "{\"credential\":false,\"interval_ms\":90000,\"per_day_max\":1440}\n");
}

TEST(Monitoring, TextOfASampleIsSentAsItStands) {
  const auto program = program_of(
      preamble +
      "routes:\n"
      "  - path: /notes\n"
      "    methods: [POST]\n"
      "    body: {max_bytes: 8, media_types: [application/json, text/plain]}\n"
      "    monitoring: {class: manual, sample: {body: '{\"a\":1}', content_type: text/plain}}\n");
  EXPECT_EQ(program->operations()[0].monitoring->sample.body, R"({"a":1})");
  EXPECT_EQ(program->operations()[0].monitoring->sample.content_type, "text/plain");
}

}  // namespace
}  // namespace turnpike::registry
