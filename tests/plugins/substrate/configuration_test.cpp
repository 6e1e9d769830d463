#include "substrate/configuration.h"

#include <gmock/gmock.h>
#include <turnpike/helpers/mistakes.h>
#include <turnpike/helpers/test_host.h>

#include "support/settings.h"

namespace turnpike::substrate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view genesis =
    "0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3";

Settings chain(std::string_view key, std::string_view url) {
  Settings value = settings_of({{"key", key}, {"genesis_hash", genesis}});
  value.fields.push_back({"endpoints", list({scalar(std::string(url))})});
  return value;
}

Settings table(std::vector<Settings> chains) {
  Settings value;
  value.kind = Settings::Kind::map;
  value.fields.push_back({"chains", list(std::move(chains))});
  return value;
}

Result<Configuration> read(const Settings& settings, Method method = Method::post) {
  BoundOperation operation;
  operation.method = method;
  operation.path = "/v1/gateway/substrate/verify";
  return read_configuration({"substrate", settings, {&operation, 1}});
}

std::vector<std::string> places(const Result<Configuration>& read) {
  std::vector<std::string> found;
  if (read.ok()) return found;
  for (const Mistake& mistake : split_mistakes(read.error())) found.push_back(mistake.where);
  return found;
}

TEST(ConfigurationTest, NoChainIsNeeded) {
  EXPECT_THAT(places(read({})), IsEmpty());
  EXPECT_EQ(read({})->find("polkadot"), nullptr);
}

TEST(ConfigurationTest, ChainsAreRead) {
  Settings relay = chain("polkadot", "https://rpc.example");
  Settings para = chain("collectives", "https://para.example/key");
  para.fields.push_back({"relay_key", scalar("polkadot")});
  para.fields.push_back({"para_id", scalar("1001")});
  para.fields.push_back({"max_code_size", scalar("3145728")});
  const auto configuration = read(table({relay, para}));
  ASSERT_THAT(places(configuration), IsEmpty());
  const ChainSettings* const found = configuration->find("collectives");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->para_id, 1001U);
  EXPECT_EQ(found->code_size_max, 3'145'728U);
  EXPECT_EQ(found->endpoints.front().key, "collectives#0");
  EXPECT_EQ(hex_of(found->genesis_hash), genesis);
  EXPECT_FALSE(found->allows_private_addresses);
}

TEST(ConfigurationTest, EndpointsMayBeSecrets) {
  Settings secret = chain("polkadot", "");
  secret.fields.back().value = list({secret_of("")});
  const auto without = read(table({secret}));
  ASSERT_THAT(places(without), IsEmpty());
  EXPECT_TRUE(without->find("polkadot")->lacks_secret());
  secret.fields.back().value = list({secret_of("https://rpc.example/s3cret\n")});
  EXPECT_EQ(read(table({secret}))->find("polkadot")->endpoints.front().url,
            "https://rpc.example/s3cret");
}

TEST(ConfigurationTest, WhatIsWrongIsToldInItsPlace) {
  using ::testing::ElementsAre;
  EXPECT_THAT(places(read(table({chain("polkadot", "http://127.0.0.1:9944")}))),
              ElementsAre("chains[0].endpoints[0]"));
  EXPECT_THAT(places(read(table({chain("polkadot", "ftp://x")}))),
              ElementsAre("chains[0].endpoints[0]"));
  EXPECT_THAT(places(read(table({chain("Polkadot", "https://x.example")}))),
              ElementsAre("chains[0].key"));
  const Settings one = chain("a", "https://x.example");
  EXPECT_THAT(places(read(table({one, one}))),
              ElementsAre("chains[0].key", "chains[1].key"));
  Settings para = chain("a", "https://x.example");
  para.fields.push_back({"relay_key", scalar("b")});
  EXPECT_THAT(places(read(table({para}))), ElementsAre("chains[0].para_id", "chains[0].relay_key"));
  EXPECT_THAT(places(read(table({settings_of({{"kee", "a"}})}))),
              ElementsAre("chains[0].kee", "chains[0].key", "chains[0].genesis_hash",
                          "chains[0].endpoints"));
  EXPECT_THAT(places(read({}, Method::get)), ElementsAre("operations[0]"));
}

}  // namespace
}  // namespace turnpike::substrate
