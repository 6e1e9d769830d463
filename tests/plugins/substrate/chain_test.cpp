// Chains as reported by nodes: an upgrade from its proposal to its end, and nodes that lie, forget,
// lag or change their answers. None of these may lead to `verified`.
#include <gtest/gtest.h>

#include "plugins/substrate/scripted_chain.h"
#include "plugins/substrate/verify.h"
#include "substrate/chain/answer_cache.h"

namespace turnpike::substrate {
namespace {

using ::testing::HasSubstr;

class ChainTest : public VerifyTest {
 protected:
  ChainTest() { serve_chain(1); }

  void serve_chain(std::size_t endpoints) {
    Configuration configuration;
    ChainSettings chain;
    chain.key = "example";
    chain.genesis_hash = chains_[0].blocks[0].hash;
    chain.caches_answers = caches_answers_;
    for (std::size_t at = 0; at < endpoints; ++at) {
      chain.endpoints.push_back({"example#" + std::to_string(at),
                                 "https://node" + std::to_string(at) + ".example", {}, false});
    }
    configuration.chains.push_back(chain);
    serve(std::move(configuration));
    host_.answer = [this](const HttpRequest& request, HttpSink& sink) -> Done {
      const auto at = static_cast<std::size_t>(request.url[12] - '0');
      if (is_down_[at]) return Failure{FailureKind::transport, "down", {}, false};
      return chains_[at].answer(request, sink);
    };
  }
  ScriptedChain& chain() { return chains_[0]; }
  Json live(OrderedJson expected, OrderedJson more = OrderedJson::object()) {
    more["mode"] = "live";
    more["chain"] = "example";
    more["expected"] = std::move(expected);
    return verify(more);
  }
  Json proposal() {
    return verify({{"chain", "example"},
                   {"proposal", {{"call", "0x0009" + std::string(vectors::s3_hash.substr(2))}}},
                   {"code", {{"hex", vectors::s3_hex}}}});
  }

  ScriptedChain chains_[2];
  bool is_down_[2] = {false, false};
  bool caches_answers_ = false;  // most tests change what a block holds
};

const OrderedJson expects_s3 = {{"code_hash", vectors::s3_hash}, {"spec_version", 1'000'001}};

TEST_F(ChainTest, UpgradeGoesFromItsProposalToItsEnd) {
  Json reply = proposal();
  EXPECT_EQ(reply["verdict"], "inconclusive") << reply.dump(1);
  EXPECT_EQ(status_of(reply, "auth.present"), "fail");
  EXPECT_EQ(status_of(reply, "version.increases"), "pass");

  chain().add(vectors::s1());
  chain().authorize(vectors::s3_hash, true);
  EXPECT_EQ(proposal()["verdict"], "pending");
  reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "pending") << reply.dump(1);
  EXPECT_EQ(reply["authorization"]["code_hash"], vectors::s3_hash);

  chain().add(vectors::s3(), true);
  chain().finalized = 1;
  EXPECT_EQ(live(expects_s3)["verdict"], "pending") << "the finalized head has the old code";
  reply = live(expects_s3, {{"at", {{"block_number", 2}}}});
  EXPECT_EQ(reply["verdict"], "inconclusive") << reply.dump(1);
  EXPECT_EQ(reply["assurance"]["finalized"], false);
  reply = live(expects_s3, {{"at", {{"tag", "best"}}}});
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["warnings"][0]["code"], "not_final");

  chain().finalized = 2;
  reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["assurance"]["level"], 2);
  EXPECT_EQ(reply["assurance"]["finalized"], true);
  EXPECT_EQ(reply["runtime"]["source"], "rpc");
  EXPECT_EQ(proposal()["verdict"], "verified");
}

TEST_F(ChainTest, TransitionIsFoundByHalving) {
  for (int block = 0; block < 20; ++block) chain().add(vectors::s1());
  chain().add(vectors::s3(), true);
  for (int block = 0; block < 20; ++block) {
    chain().add(vectors::s3()).storage[std::string(keys::last_runtime_upgrade)] =
        vectors::of("06093d00306578616d706c65636861696e");
  }
  Json reply = verify({{"mode", "transition"},
                       {"chain", "example"},
                       {"from", {{"block_number", 0}}},
                       {"expected", expects_s3}});
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["applied_at"], 21);
  EXPECT_EQ(status_of(reply, "transition.digest"), "pass");
  EXPECT_EQ(reply["previous_runtime"]["spec_version"], 1'000'000);
  reply = verify({{"mode", "transition"}, {"chain", "example"}, {"expected", expects_s3}});
  EXPECT_EQ(reply["verdict"], "inconclusive") << "the parent of the head had the code already";
  EXPECT_EQ(reply["warnings"][0]["code"], "upgraded_before");
  reply = verify({{"chain", "example"},
                  {"from", OrderedJson::object()},
                  {"at", {{"block_number", 21}}},
                  {"expected", expects_s3}});
  EXPECT_EQ(reply["mode"], "transition");
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
}

TEST_F(ChainTest, CodeWrittenInAnotherWayLacksTheDigest) {
  chain().add(vectors::s1());
  chain().add(vectors::s3());
  const Json reply =
      verify({{"mode", "transition"}, {"chain", "example"}, {"expected", expects_s3}});
  EXPECT_EQ(status_of(reply, "transition.digest"), "warn");
}

TEST_F(ChainTest, RulesOfTheChainReject) {
  for (const Bytes& code : {vectors::s5(), vectors::s6()}) {
    const std::string hash = hex_of(blake2_256(code));
    const Json reply = verify({{"chain", "example"},
                               {"proposal", {{"call", "0x0009" + hash.substr(2)}}},
                               {"code", {{"hex", hex_of(code)}}}});
    EXPECT_EQ(reply["verdict"], "rejected") << reply.dump(1);
    const Json unchecked = verify({{"chain", "example"},
                                   {"proposal", {{"call", "0x000a" + hash.substr(2)}}},
                                   {"code", {{"hex", hex_of(code)}}}});
    EXPECT_EQ(status_of(unchecked, "version.increases"), "warn");
  }
}

TEST_F(ChainTest, LaterReferendumOverwrites) {
  chain().authorize(vectors::s2_hash, true);
  EXPECT_EQ(proposal()["verdict"], "mismatch");
  const Json asked = verify({{"chain", "example"},
                             {"mode", "authorization"},
                             {"expected", {{"authorized_hash", vectors::s2_hash}}}});
  EXPECT_EQ(asked["verdict"], "verified") << asked.dump(1);
}

TEST_F(ChainTest, OtherCompressionOfTheSameCodeIsSaid) {
  chain().add(vectors::s4(), true);
  const Json reply =
      live({{"code_hash", vectors::s3_hash}, {"uncompressed_code_hash", vectors::s2_hash}});
  EXPECT_EQ(reply["verdict"], "content_equal") << reply.dump(1);
  EXPECT_EQ(status_of(reply, "live.code_bytes"), "pass");
}

TEST_F(ChainTest, BytesAreHashedWhereTheyAreAskedFor) {
  chain().add(vectors::s3(), true);
  const Json reply = live(expects_s3, {{"min_assurance", 3}});
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["assurance"]["name"], "bytes_hashed");
  EXPECT_EQ(live(expects_s3, {{"min_assurance", 5}})["verdict"], "inconclusive");
}

TEST_F(ChainTest, NodeOfAnotherChainIsAMismatch) {
  chain().add(vectors::s3(), true);
  chain().meddle = [](const std::string& method, const Json& params, Json& result) {
    if (method == "chain_getBlockHash" && params == Json::array({0})) result = vectors::s1_hash;
  };
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
}

TEST_F(ChainTest, LiesAreCaughtWhereTheyContradict) {
  chain().add(vectors::s1());
  // The node reports the right hash but has other bytes.
  chain().meddle = [](const std::string& method, const Json& params, Json& result) {
    if (method == "state_getStorageHash" && params[0] == keys::code) result = vectors::s3_hash;
  };
  Json reply = live({{"code_hash", vectors::s3_hash}}, {{"min_assurance", 3}});
  EXPECT_NE(reply["verdict"], "verified");
  EXPECT_EQ(status_of(reply, "live.code_bytes"), "fail");
  // The node reports another version than that of its code.
  chain().meddle = [](const std::string& method, const Json&, Json& result) {
    if (method == "state_getRuntimeVersion") result["specVersion"] = 1'000'001;
  };
  reply = live({{"code_hash", vectors::s1_hash}}, {{"min_assurance", 3}});
  EXPECT_EQ(reply["verdict"], "mismatch");
  EXPECT_EQ(status_of(reply, "live.version"), "fail");
}

TEST_F(ChainTest, EndpointsMustAgree) {
  serve_chain(2);
  chains_[0].add(vectors::s3(), true);
  chains_[1].add(vectors::s3(), true);
  Json reply = live(expects_s3, {{"min_assurance", 5}});
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["assurance"]["name"], "multi_source");
  chains_[1].meddle = [](const std::string& method, const Json& params, Json& result) {
    if (method == "state_getStorageHash" && params[0] == keys::code) result = vectors::s1_hash;
  };
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
  chains_[1].meddle = nullptr;
  is_down_[1] = true;
  EXPECT_EQ(live(expects_s3, {{"min_assurance", 5}})["verdict"], "inconclusive");
  is_down_[1] = false;
  is_down_[0] = true;
  reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["assurance"]["level"], 2);
}

TEST_F(ChainTest, PrunedNodeKnowsNothing) {
  chain().add(vectors::s3(), true);
  chain().meddle = [](const std::string& method, const Json&, Json&) {
    if (method.starts_with("state_")) {
      throw std::runtime_error("State already discarded for 0x12");
    }
  };
  const Json reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "inconclusive");
  EXPECT_EQ(status_of(reply, "live.code_hash"), "unknown");
  EXPECT_EQ(reply["assurance"]["level"], 0);
}

TEST_F(ChainTest, BlockThatIsNotThereIsUnknown) {
  EXPECT_EQ(live(expects_s3, {{"at", {{"block_number", 99}}}})["verdict"], "inconclusive");
  EXPECT_EQ(live(expects_s3, {{"at", {{"block_hash", vectors::s1_hash}}}})["verdict"],
            "inconclusive");
  chain().add(vectors::s3(), true);
  const Json reply = live(expects_s3, {{"at", {{"block_number", 0},
                                               {"block_hash", hex_of(chain().blocks[1].hash)}}}});
  EXPECT_EQ(reply["verdict"], "mismatch");
  EXPECT_EQ(status_of(reply, "chain.block"), "fail");
}

TEST_F(ChainTest, ReorganisedChainIsNotVerified) {
  chain().add(vectors::s3(), true);
  int asked = 0;
  const std::string replaced = hex_of(chain().blocks[0].hash);
  chain().meddle = [&](const std::string& method, const Json& params, Json& result) {
    const bool is_block = method == "chain_getBlockHash" && params == Json::array({1});
    if (is_block && ++asked > 1) result = replaced;
  };
  const Json reply = live(expects_s3, {{"at", {{"tag", "best"}}}});
  EXPECT_EQ(reply["verdict"], "inconclusive") << reply.dump(1);
  EXPECT_EQ(status_of(reply, "chain.block"), "unknown");
  asked = 1;  // replaced at the first request: an abandoned fork
  const Json fork = live(expects_s3, {{"at", {{"block_hash", hex_of(chain().blocks[1].hash)}}}});
  EXPECT_EQ(fork["verdict"], "inconclusive");
  EXPECT_EQ(status_of(fork, "chain.finalized"), "fail");
}

TEST_F(ChainTest, NodeThatIsBehindIsNotVerified) {
  chain().add(vectors::s3(), true);
  const auto put_time = [&](std::int64_t ms) {
    Bytes value;
    for (int byte = 0; byte < 8; ++byte, ms >>= 8) value.push_back(static_cast<std::uint8_t>(ms));
    chain().blocks.back().storage[std::string(keys::timestamp_now)] = value;
  };
  put_time(host_.time_ms - 12'000);
  EXPECT_EQ(live(expects_s3)["verdict"], "verified");
  put_time(host_.time_ms - 3'600'000);
  EXPECT_EQ(live(expects_s3)["verdict"], "inconclusive");
}

TEST_F(ChainTest, NobodyPaysForNodesThatAreAway) {
  is_down_[0] = true;
  live(expects_s3);
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->kind, FailureKind::unavailable);
  host_.answer = [](const HttpRequest&, HttpSink&) -> Done {
    return Failure{FailureKind::timeout, "late", {}, true};
  };
  live(expects_s3);
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->kind, FailureKind::timeout);
}

TEST_F(ChainTest, LateAnswersAreUnknown) {
  chain().add(vectors::s3(), true);
  const auto answer = host_.answer;
  host_.answer = [answer](const HttpRequest& request, HttpSink& sink) -> Done {
    if (request.body.find("StorageHash") == request.body.npos) return answer(request, sink);
    return Failure{FailureKind::timeout, "late", {}, true};
  };
  const Json reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "inconclusive");
  EXPECT_THAT(reply["summary"].get<std::string>(), HasSubstr("in time"));
}

TEST_F(ChainTest, NoiseIsNoAnswer) {
  for (const std::string_view noise :
       {"", "[]", "{}", R"({"jsonrpc":"2.0","id":999,"result":null})", "<html>",
        R"({"jsonrpc":"2.0","id":1,"id":1,"result":null})"}) {
    host_.answer = [noise](const HttpRequest&, HttpSink& sink) -> Done {
      if (sink.head(200, {}, noise.size())) sink.body(noise);
      return Unit{};
    };
    live(expects_s3);
    EXPECT_TRUE(failure_) << noise;
  }
}

TEST_F(ChainTest, PreimageIsTakenFromTheChain) {
  const Bytes call = vectors::of("0009" + std::string(vectors::s3_hash.substr(2)));
  Bytes value = compact_of(static_cast<std::uint32_t>(call.size()));
  value.insert(value.end(), call.begin(), call.end());
  const Hash hash = blake2_256(call);
  chain().add(vectors::s1()).storage[keys::preimage(hash, 34)] = value;
  const OrderedJson proposal = {{"preimage_hash", hex_of(hash)}, {"preimage_len", 34}};
  const Json reply = verify({{"chain", "example"}, {"proposal", proposal}});
  EXPECT_EQ(reply["proposal"]["kind"], "authorize_upgrade") << reply.dump(1);
  EXPECT_EQ(reply["proposal"]["code_hash"], vectors::s3_hash);
  EXPECT_EQ(status_of(reply, "call.hash"), "pass");
}

TEST_F(ChainTest, HeadersThatLieAreNoticed) {
  chain().add(vectors::s3(), true);
  chain().meddle = [](const std::string& method, const Json&, Json& result) {
    if (method == "chain_getHeader") result["stateRoot"] = vectors::s1_hash;
  };
  const Json reply = live(expects_s3);
  EXPECT_EQ(status_of(reply, "chain.header_hash"), "warn");
}

class CachedChainTest : public ChainTest {
 protected:
  CachedChainTest() {
    caches_answers_ = true;
    serve_chain(1);
  }
  int requests_of(const OrderedJson& more = OrderedJson::object()) {
    const int before = chain().requests;
    live(expects_s3, more);
    return chain().requests - before;
  }
};

TEST_F(CachedChainTest, FactsOfABlockAreAskedForOnceAndTheHeadEverySixSeconds) {
  chain().add(vectors::s3(), true);
  Json reply = live(expects_s3);
  ASSERT_EQ(reply["verdict"], "verified") << reply.dump(1);
  const Json first_said = reply["evidence"][0]["at"];
  const int all = chain().requests;

  host_.time_ms += 5'999;
  EXPECT_EQ(requests_of(), 1) << "only whether the block is still on the chain";
  reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "verified") << reply.dump(1);
  EXPECT_EQ(reply["evidence"][0]["at"], first_said) << "the evidence tells when the node said it";

  host_.time_ms += 1;
  const int of_head = requests_of();
  EXPECT_GT(of_head, 1);
  EXPECT_LT(of_head, all);
  host_.time_ms += AnswerCache::block_keep_ms;
  EXPECT_EQ(requests_of(), all);
}

TEST_F(CachedChainTest, UpgradeIsSeenWhenTheHeadIsAskedForAgain) {
  chain().add(vectors::s1());
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
  chain().add(vectors::s3(), true);
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
  host_.time_ms += AnswerCache::head_keep_ms;
  EXPECT_EQ(live(expects_s3)["verdict"], "verified");
}

TEST_F(CachedChainTest, ReorganisationIsNoticedDespiteTheCache) {
  chain().add(vectors::s3(), true);
  EXPECT_EQ(live(expects_s3, {{"at", {{"tag", "best"}}}})["verdict"], "verified");
  chain().blocks.pop_back();
  chain().add(vectors::s2(), true);
  const Json reply = live(expects_s3, {{"at", {{"tag", "best"}}}});
  EXPECT_EQ(reply["verdict"], "inconclusive") << reply.dump(1);
  EXPECT_EQ(status_of(reply, "chain.block"), "unknown");
}

TEST_F(CachedChainTest, TroubleAndAbsentValuesAreNotKept) {
  chain().add(vectors::s3(), true);
  for (const bool throws : {true, false}) {
    chain().meddle = [throws](const std::string& method, const Json&, Json& result) {
      if (method != "state_getStorageHash") return;
      if (throws) throw std::runtime_error("State already discarded for 0x12");
      result = "nonsense";
    };
    EXPECT_EQ(live(expects_s3)["verdict"], "inconclusive");
  }
  chain().meddle = nullptr;
  EXPECT_EQ(live(expects_s3)["verdict"], "verified");
  chain().meddle = [](const std::string& method, const Json&, Json& result) {
    if (method == "state_getStorageHash") result = nullptr;
  };
  host_.time_ms += AnswerCache::block_keep_ms;
  EXPECT_EQ(live(expects_s3)["verdict"], "inconclusive");
  chain().meddle = nullptr;
  host_.time_ms += AnswerCache::head_keep_ms;
  EXPECT_EQ(live(expects_s3)["verdict"], "verified");
}

TEST_F(CachedChainTest, EndpointsDoNotShareAnswers) {
  serve_chain(2);
  chains_[0].add(vectors::s3(), true);
  chains_[1].add(vectors::s3(), true);
  chains_[1].meddle = [](const std::string& method, const Json& params, Json& result) {
    if (method == "state_getStorageHash" && params[0] == keys::code) result = vectors::s1_hash;
  };
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
}

TEST(AnswerCacheTest, HoldsNoMoreThanItsBound) {
  AnswerCache cache(64 * 1024);
  const auto question = [](int number) {
    return blake2_256(bytes_of_text(std::to_string(number)));
  };
  for (int number = 0; number < 1'000; ++number) {
    cache.keep(question(number), std::make_shared<NodeAnswer>(NodeAnswer{number, {}, 0, 500}),
               60'000, 0);
  }
  int held = 0;
  for (int number = 0; number < 1'000; ++number) held += cache.find(question(number), 0) != nullptr;
  EXPECT_GT(held, 25);
  EXPECT_LT(held, 65);
  EXPECT_NE(cache.find(question(999), 59'999), nullptr);
  EXPECT_EQ(cache.find(question(999), 60'000), nullptr);
  const std::size_t too_long = AnswerCache::answer_bytes_max + 1;
  cache.keep(question(1'000), std::make_shared<NodeAnswer>(NodeAnswer{1, {}, 0, too_long}), 60'000,
             0);
  EXPECT_EQ(cache.find(question(1'000), 0), nullptr);
}

class ParachainTest : public ChainTest {
 protected:
  ParachainTest() {
    Configuration configuration;
    for (int at = 0; at < 2; ++at) {
      ChainSettings chain;
      chain.key = at == 0 ? "example" : "relay";
      chain.genesis_hash = chains_[at].blocks[0].hash;
      chain.caches_answers = false;
      chain.endpoints.push_back(
          {chain.key + "#0", "https://node" + std::to_string(at) + ".example", {}, false});
      configuration.chains.push_back(chain);
    }
    configuration.chains[0].relay_key = "relay";
    configuration.chains[0].para_id = 1001;
    serve(std::move(configuration));
    set_relay(keys::current_code_hash(1001), vectors::s1_hash);
  }
  void set_relay(const std::string& key, std::string_view hash) {
    chains_[1].blocks.back().storage[key] = vectors::of(hash);
  }
};

TEST_F(ParachainTest, StoredCodeIsPendingUntilTheRelayLetsItGo) {
  EXPECT_EQ(live(expects_s3)["verdict"], "mismatch");
  set_relay(keys::future_code_hash(1001), vectors::s3_hash);
  Json reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "pending") << reply.dump(1);
  EXPECT_EQ(status_of(reply, "para.relay_hash"), "pass");
  chain().blocks.back().storage[std::string(keys::upgrade_go_ahead)] = {1, 0};
  EXPECT_EQ(live(expects_s3)["verdict"], "rejected");
  chain().add(vectors::s3(), true);
  reply = live(expects_s3);
  EXPECT_EQ(reply["verdict"], "inconclusive") << "the relay has the old code";
  set_relay(keys::current_code_hash(1001), vectors::s3_hash);
  EXPECT_EQ(live(expects_s3)["verdict"], "verified");
}

}  // namespace
}  // namespace turnpike::substrate
