#include "x402/remote/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <turnpike/helpers/mistakes.h>

#include "fake_node.h"
#include "x402/protocol/digest.h"
#include "x402/remote/json_http.h"

namespace turnpike::x402 {
namespace {

using http::ScriptedCall;
using http::ScriptedHost;
using nlohmann::json;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Event = FakeNode::Event;
using ChainOutcome = ChainAnswer::Outcome;

const Word mined_hash = filled<Word>(0x11);

std::vector<ChainSettings> settings_of(std::vector<Settings::Field> fields,
                                       const char* network = "eip155:84532") {
  fields.push_back({"rpc_url", secret("https://node.example/v2/hush?key=hush")});
  auto read = read_chains(map({{network, map(std::move(fields))}}));
  EXPECT_TRUE(read.ok()) << read.error().where << ": " << read.error().message;
  return *std::move(read);
}

class ChainsTest : public ::testing::Test {
 protected:
  ChainsTest() {
    host_.answers = [this](const ScriptedHost::Seen& seen) { return node_.answer(seen); };
    use({});
  }
  void use(std::vector<Settings::Field> fields) {
    chains_.emplace(settings_of(std::move(fields)), host_);
  }
  ChainAnswer find() { return chains_->find_settlement(authorization_, call_); }
  ChainAnswer receipt(const Word& transaction = mined_hash) {
    return chains_->receipt_of(authorization_, hex_of(transaction), call_);
  }
  void mine(std::vector<Event> events, std::uint64_t blocks_ago = 5, bool is_success = true) {
    node_.mine({mined_hash, node_.head - blocks_ago, is_success, std::move(events)});
  }
  void mine_payment(std::uint64_t blocks_ago = 5) {
    mine({FakeNode::used(authorization_), FakeNode::transfer(authorization_)}, blocks_ago);
  }
  // The outcome of find() when a transaction has logged these events.
  ChainOutcome outcome_after(std::vector<Event> events) {
    node_.transactions.clear();
    mine(std::move(events));
    return find().outcome;
  }

  FakeNode node_;
  Authorization authorization_ = authorization_on(node_);
  ScriptedHost host_;
  ScriptedCall call_{host_.scripted_clock, 100'000'000};
  std::optional<Chains> chains_;
};

TEST(TokenEvents, AreKeccakOfTheirSignatures) {
  EXPECT_EQ(authorization_used_event, keccak256("AuthorizationUsed(address,bytes32)"));
  EXPECT_EQ(authorization_canceled_event, keccak256("AuthorizationCanceled(address,bytes32)"));
  EXPECT_EQ(transfer_event, keccak256("Transfer(address,address,uint256)"));
  EXPECT_EQ(authorization_state_selector,
            hex_of(keccak256("authorizationState(address,bytes32)")).substr(0, 10));
}

// The chain is asked whether the payer signed, before any facilitator is asked.
class SignersTest : public ChainsTest {
 protected:
  Chains::Signed ask(std::string_view signature) {
    return chains_->ask_signer("eip155:84532", wallet_, filled<Word>(0x77), signature, call_);
  }
  const Address wallet_ = filled<Address>(0x33);
  const std::string signature_ = std::string(70, '\x5a');
};

TEST_F(SignersTest, AContractSaysItself) {
  std::string taken;
  for (int byte = 0; byte < 70; ++byte) taken += "5a";
  node_.wallets[hex_of(wallet_)] = taken;
  EXPECT_EQ(ask(signature_), Chains::Signed::yes);
  EXPECT_EQ(ask(std::string(70, '\x5b')), Chains::Signed::no);
  node_.wallets[hex_of(wallet_)] = "";
  EXPECT_EQ(ask(signature_), Chains::Signed::no) << "it reverts";
}

TEST_F(SignersTest, AnAccountWithoutCodeHasNotSigned) {
  EXPECT_EQ(ask(signature_), Chains::Signed::no);
  EXPECT_FALSE(node_.asked.contains("eth_call"));
  std::string undeployed = signature_;
  for (int pair = 0; pair < 16; ++pair) undeployed += "\x64\x92";
  EXPECT_EQ(ask(undeployed), Chains::Signed::undeployed);
}

TEST_F(SignersTest, ANodeThatIsAwayIsNoAnswer) {
  node_.spoils["eth_getCode"] = [](const json&) { return FakeNode::Answer{503, {}, ""}; };
  EXPECT_EQ(ask(signature_), Chains::Signed::unavailable);
  EXPECT_EQ(chains_->ask_signer("eip155:1", wallet_, {}, signature_, call_),
            Chains::Signed::unavailable);
}

TEST_F(SignersTest, ForgedOnesAreAskedAboutSoManyTimesAMinute) {
  use({{"unproven_per_minute", scalar("3")}});
  for (int time = 0; time < 3; ++time) EXPECT_EQ(ask(signature_), Chains::Signed::no);
  const int requests = node_.requests;
  EXPECT_EQ(ask(signature_), Chains::Signed::too_many);
  EXPECT_EQ(node_.requests, requests);
  host_.scripted_clock.move_ms(20'000);
  EXPECT_EQ(ask(signature_), Chains::Signed::no);
  EXPECT_EQ(ask(signature_), Chains::Signed::too_many);
}

TEST(ChainSettings, AreReadWithTheirSecrets) {
  const auto read = settings_of({{"confirmations", scalar("3")},
                                 {"timeout_ms", scalar("700")},
                                 {"log_blocks_max", scalar("10")},
                                 {"expiry_margin_s", scalar("5")},
                                 {"allow_private_addresses", scalar("true")},
                                 {"headers", map({{"X-Key", secret("hush")}})}});
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].network, "eip155:84532");
  EXPECT_EQ(read[0].chain_id, 84532u);
  EXPECT_EQ(read[0].url.text, "https://node.example/v2/hush?key=hush");
  EXPECT_EQ(read[0].url.origin, "https://node.example");
  EXPECT_EQ(read[0].confirmations, 3u);
  EXPECT_EQ(read[0].timeout_ms, 700u);
  EXPECT_EQ(read[0].log_blocks_max, 10u);
  EXPECT_EQ(read[0].expiry_margin_s, 5u);
  EXPECT_TRUE(read[0].allow_private_addresses);
  EXPECT_THAT(read[0].headers, SizeIs(1));
  EXPECT_EQ(settings_of({}, "eip155:8453")[0].confirmations, 1u);
  EXPECT_EQ(settings_of({}, "eip155:1")[0].confirmations, 12u);
  EXPECT_THAT(*read_chains(Settings()), IsEmpty());
}

TEST(ChainSettings, WhatIsWrongIsSaidWithItsPlace) {
  const auto problem = [](const char* network, Settings settings) {
    const auto read = read_chains(map({{network, std::move(settings)}}));
    EXPECT_FALSE(read.ok());
    return read.ok() ? "" : read.error().where + ": " + read.error().message;
  };
  const auto with = [&problem](std::string key, Settings value) {
    return problem("eip155:1",
                   map({{"rpc_url", scalar("https://a")}, {std::move(key), std::move(value)}}));
  };
  for (const char* network : {"solana:mainnet", "eip155:", "eip155:0", "eip155:01", "eip155:x",
                              "eip155:99999999999999999999", "base"}) {
    EXPECT_THAT(problem(network, map({{"rpc_url", scalar("https://a")}})),
                HasSubstr(std::string(network) + ": expected an EVM network"));
  }
  EXPECT_THAT(problem("eip155:1", map({})), HasSubstr("eip155:1.rpc_url: is required"));
  EXPECT_THAT(problem("eip155:1", map({{"rpc_url", secret("wss://hush")}})),
              ::testing::AllOf(HasSubstr("https:// or http://"), Not(HasSubstr("hush"))));
  EXPECT_THAT(with("confirmation", scalar("1")), HasSubstr("did you mean `confirmations`?"));
  EXPECT_THAT(with("confirmations", scalar("0")), HasSubstr("eip155:1.confirmations: "));
  EXPECT_THAT(with("log_blocks_max", scalar("0")), HasSubstr("eip155:1.log_blocks_max: "));
  EXPECT_THAT(with("timeout_ms", scalar("x")), HasSubstr("eip155:1.timeout_ms: "));
  EXPECT_THAT(with("headers", map({{"Host", scalar("x")}})), HasSubstr("eip155:1.headers.Host: "));
  EXPECT_FALSE(read_chains(scalar("x")).ok());
}

TEST(ChainSettings, AllMistakesAreToldAtOnce) {
  const auto read = read_chains(map({{"base", map({{"rpc_url", scalar("ftp://a")}})},
                                     {"eip155:1", map({{"rpc_url", scalar("https://10.0.0.1")},
                                                       {"headers", map({{"A", map({})}})},
                                                       {"confirmations", scalar("0")},
                                                       {"timout_ms", scalar("5")},
                                                       {"timeout_ms", scalar("0")}})},
                                     {"eip155:2", scalar("https://a")}}));
  ASSERT_FALSE(read.ok());
  std::vector<std::string> problems;
  for (const Mistake& mistake : split_mistakes(read.error())) {
    problems.push_back(mistake.where + ": " + mistake.message);
  }
  EXPECT_THAT(problems,
              ::testing::UnorderedElementsAre(
                  HasSubstr("base: expected an EVM network"), HasSubstr("base.rpc_url: "),
                  HasSubstr("eip155:1.rpc_url: has an address that is private"),
                  "eip155:1.headers.A: expected a string", HasSubstr("eip155:1.confirmations: "),
                  "eip155:1.timout_ms: unknown key; did you mean `timeout_ms`?",
                  HasSubstr("eip155:1.timeout_ms: "), "eip155:2: expected a map"));
}

TEST_F(ChainsTest, OneWithoutItsSecretIsNotAsked) {
  auto read = read_chains(map({{"eip155:84532", map({{"rpc_url", secret("")}})}}));
  ASSERT_TRUE(read.ok());
  chains_.emplace(*std::move(read), host_);
  EXPECT_FALSE(chains_->knows("eip155:84532"));
  EXPECT_EQ(find().outcome, ChainOutcome::unavailable);
  EXPECT_THAT(host_.seen, IsEmpty());
}

// --- what happened ---

TEST_F(ChainsTest, AnUnusedAuthorizationIsSoAsOfTheNewestFinalBlock) {
  EXPECT_TRUE(chains_->knows("eip155:84532"));
  EXPECT_FALSE(chains_->knows("eip155:8453"));
  const ChainAnswer answer = find();
  EXPECT_EQ(answer.outcome, ChainOutcome::not_used);
  EXPECT_EQ(answer.block, node_.head);
  EXPECT_EQ(answer.time_s, node_.time_of(node_.head));
  EXPECT_EQ(answer.expired_s, answer.time_s - 60);
  use({{"expiry_margin_s", scalar("0")}});
  EXPECT_EQ(find().expired_s, answer.time_s);
  EXPECT_EQ(chains_->expiry_margin_s("eip155:84532"), 0u);
  EXPECT_EQ(receipt().outcome, ChainOutcome::not_final);
}

TEST_F(ChainsTest, APaymentIsProvedByItsUseAndItsTransfer) {
  mine_payment();
  for (const ChainAnswer& answer : {find(), receipt()}) {
    EXPECT_EQ(answer.outcome, ChainOutcome::paid);
    EXPECT_EQ(answer.transaction, hex_of(mined_hash));
    EXPECT_EQ(answer.block, node_.head);
  }
}

TEST_F(ChainsTest, WhatIsNotDeepEnoughHasNotHappenedYet) {
  use({{"confirmations", scalar("4")}});
  for (std::uint64_t blocks_ago = 0; blocks_ago < 6; ++blocks_ago) {
    node_.transactions.clear();
    mine_payment(blocks_ago);
    EXPECT_EQ(find().outcome, blocks_ago < 3 ? ChainOutcome::not_used : ChainOutcome::paid)
        << blocks_ago;
    EXPECT_EQ(receipt().outcome, blocks_ago < 3 ? ChainOutcome::not_final : ChainOutcome::paid);
  }
  node_.transactions.clear();
  EXPECT_EQ(find().time_s, node_.time_of(node_.head - 3));
}

TEST_F(ChainsTest, ACancelledAuthorizationPaysNobody) {
  mine({FakeNode::cancelled(authorization_)});
  EXPECT_EQ(find().outcome, ChainOutcome::cancelled);
}

TEST_F(ChainsTest, ASuccessfulTransactionWithoutTheTransferPaysNothing) {
  mine({}, 3);  // PYUSD accepts a used nonce
  EXPECT_EQ(receipt().outcome, ChainOutcome::used_otherwise);
  EXPECT_EQ(find().outcome, ChainOutcome::not_used);
  mine({FakeNode::used(authorization_), FakeNode::transfer(authorization_)}, 5, false);
  EXPECT_EQ(receipt(mined_hash).outcome, ChainOutcome::used_otherwise);
}

TEST_F(ChainsTest, ARevertedTransactionIsNoPayment) {
  mine({}, 3, false);
  EXPECT_EQ(receipt().outcome, ChainOutcome::reverted);
}

TEST_F(ChainsTest, OnlyTheTransferThatWasAuthorizedPays) {
  const Event use = FakeNode::used(authorization_);
  const Event right = FakeNode::transfer(authorization_);
  EXPECT_EQ(outcome_after({use, right}), ChainOutcome::paid);
  EXPECT_EQ(outcome_after({right, use}), ChainOutcome::paid);
  EXPECT_EQ(outcome_after({use}), ChainOutcome::used_otherwise);
  const auto with = [&](const std::function<void(Authorization&)>& change) {
    Authorization other = authorization_;
    change(other);
    return outcome_after({use, FakeNode::transfer(other)});
  };
  EXPECT_EQ(with([](auto& other) { other.token[0] ^= 1; }), ChainOutcome::used_otherwise);
  EXPECT_EQ(with([](auto& other) { other.from[19] ^= 1; }), ChainOutcome::used_otherwise);
  EXPECT_EQ(with([](auto& other) { other.to[0] ^= 1; }), ChainOutcome::used_otherwise);
  EXPECT_EQ(with([](auto& other) { other.value[31] ^= 1; }), ChainOutcome::used_otherwise);
  EXPECT_EQ(with([](auto& other) { other.value[0] ^= 1; }), ChainOutcome::used_otherwise);
  Event without_data = right;
  without_data.data.reset();
  EXPECT_EQ(outcome_after({use, without_data}), ChainOutcome::used_otherwise);
}

TEST_F(ChainsTest, OneTransferDoesNotPayTwoAuthorizations) {
  Authorization second = authorization_;
  second.nonce = filled<Word>(0xde);
  Authorization to_self = authorization_;
  to_self.to = to_self.from;
  const Event use = FakeNode::used(authorization_);
  const Event second_use = FakeNode::used(second);
  const Event pays = FakeNode::transfer(authorization_);
  const Event back = FakeNode::transfer(to_self);
  EXPECT_EQ(outcome_after({use, pays, second_use, pays}), ChainOutcome::paid);
  EXPECT_EQ(outcome_after({second_use, pays, use, pays}), ChainOutcome::paid);
  EXPECT_EQ(outcome_after({use, back, second_use, pays}), ChainOutcome::used_otherwise);
  EXPECT_EQ(outcome_after({second_use, pays, use, back}), ChainOutcome::used_otherwise);
  EXPECT_EQ(outcome_after({second_use, pays, use}), ChainOutcome::used_otherwise);
  EXPECT_EQ(outcome_after({pays, use, back}), ChainOutcome::used_otherwise);
  // Events of other contracts in between have no effect.
  Event foreign = back;
  foreign.address = filled<Address>(0x01);
  EXPECT_EQ(outcome_after({use, foreign, pays, second_use, back}), ChainOutcome::paid);
}

TEST_F(ChainsTest, AUseFromWellBeforeTheClaimWasNotThisPayment) {
  const std::uint64_t claimed_ago = 30;  // blocks of 2 s: the claim is 60 s old
  const auto slack = static_cast<std::uint64_t>(Chains::claim_slack_s / node_.block_s);
  mine_payment(claimed_ago + slack);
  EXPECT_EQ(find().outcome, ChainOutcome::paid);
  EXPECT_EQ(receipt().outcome, ChainOutcome::paid);
  node_.transactions.clear();
  mine_payment(claimed_ago + slack + 1);
  EXPECT_EQ(find().outcome, ChainOutcome::used_otherwise);
  EXPECT_EQ(receipt().outcome, ChainOutcome::used_otherwise);
}

TEST_F(ChainsTest, ANodeWithoutItsNewestLogsProvesNothing) {
  mine_payment();
  node_.logs_until = node_.head - 6;
  EXPECT_EQ(find().outcome, ChainOutcome::unavailable);
}

TEST_F(ChainsTest, ANodeThatIsFarBehindProvesNothing) {
  mine_payment();
  authorization_.claimed_at_s = node_.time_of(node_.head) + Chains::claim_slack_s + 1;
  EXPECT_EQ(find().outcome, ChainOutcome::unavailable);
}

TEST_F(ChainsTest, AnOldPaymentIsFoundWithFewRequests) {
  for (const std::uint64_t blocks_ago : {1u, 63u, 64u, 500u, 5'000u, 50'000u, 99'000u}) {
    node_.transactions.clear();
    authorization_ = authorization_on(node_, static_cast<std::int64_t>(blocks_ago) * 2 + 20);
    mine_payment(blocks_ago);
    node_.requests = 0;
    EXPECT_EQ(find().outcome, ChainOutcome::paid) << blocks_ago;
    EXPECT_LT(node_.requests, 24) << blocks_ago;
  }
}

TEST_F(ChainsTest, AnOldPaymentIsFoundWhereBlocksCameUnevenly) {
  // First a chain that produced no blocks for a day, then one whose clock stands still.
  node_.spoils["eth_getBlockByNumber"] = [this](json reply) {
    const auto number = std::stoull(reply["result"]["number"].get<std::string>(), nullptr, 16);
    const std::int64_t time_s = node_.time_of(number) - (number < 60'000 ? 86'400 : 0);
    reply["result"]["timestamp"] = quantity(static_cast<std::uint64_t>(time_s));
    return ScriptedHost::Answer{200, {}, reply.dump()};
  };
  authorization_.claimed_at_s = node_.time_of(59'990) - 86'400;
  mine_payment(node_.head - 59'995);
  EXPECT_EQ(find().outcome, ChainOutcome::paid);
  EXPECT_LT(node_.requests, 40);
  node_.spoils["eth_getBlockByNumber"] = [](json reply) {
    reply["result"]["timestamp"] = "0x64";
    return ScriptedHost::Answer{200, {}, reply.dump()};
  };
  node_.requests = 0;
  authorization_.claimed_at_s = 100 + Chains::claim_slack_s;
  EXPECT_EQ(find().outcome, ChainOutcome::paid);
  EXPECT_LT(node_.requests, 100);
}

TEST_F(ChainsTest, ProvidersMayAllowShortRangesOnly) {
  mine_payment();
  for (const std::uint64_t range_max : {1'000u, 150u, 10u}) {
    node_.range_max = range_max;
    EXPECT_EQ(find().outcome, ChainOutcome::paid) << range_max;
  }
  node_.range_max = 0;
  EXPECT_EQ(find().outcome, ChainOutcome::unavailable);
}

TEST_F(ChainsTest, ALookupIsBounded) {
  use({{"log_blocks_max", scalar("1")}});
  mine_payment();
  node_.requests = 0;
  EXPECT_EQ(find().outcome, ChainOutcome::unavailable);
  EXPECT_LE(node_.requests, 96);
}

// --- nodes that answer wrongly ---

TEST_F(ChainsTest, ANodeOfAnotherChainProvesNothing) {
  node_.chain_id = 8453;
  EXPECT_EQ(find().outcome, ChainOutcome::unavailable);
  EXPECT_EQ(receipt().outcome, ChainOutcome::unavailable);
  EXPECT_THAT(host_.logged, Each(HasSubstr("eip155:84532 is of the chain eip155:8453")));
  EXPECT_THAT(host_.logged, Not(IsEmpty()));
}

TEST_F(ChainsTest, AContractWithoutAuthorizationsProvesNothing) {
  for (const json& result : {json("0x"), json(nullptr), json(hex_of(filled<Word>(1))), json("0x1"),
                             json("0x0"), json(false), json("0x" + std::string(128, '0'))}) {
    node_.spoils["eth_call"] = [result](json reply) {
      reply["result"] = result;
      return ScriptedHost::Answer{200, {}, reply.dump()};
    };
    EXPECT_EQ(find().outcome, ChainOutcome::unavailable) << result;
  }
}

// The truth is that the payment was made. Every method's answer is spoilt in every way; the result
// must be the truth or unknown.
TEST_F(ChainsTest, ASpoiltAnswerProvesNothing) {
  using Spoil = std::function<ScriptedHost::Answer(json)>;
  const auto sent = [](const json& reply, int status = 200) {
    return ScriptedHost::Answer{status, {}, reply.dump()};
  };
  const auto put = [&sent](std::string name, json value) -> Spoil {
    return [=](json reply) {
      reply[name] = value;
      return sent(reply);
    };
  };
  const std::vector<Spoil> spoils = {
      put("id", 0),
      put("id", "1"),
      put("id", nullptr),
      put("jsonrpc", "1.0"),
      put("jsonrpc", 2),
      put("error", {{"code", -32000}, {"message", "both"}}),
      put("error", "text"),
      put("result", nullptr),
      put("result", "0x00"),
      put("result", "0xzz"),
      put("result", 7),
      put("result", json::array({json::object()})),
      put("result", json::object()),
      [&](json reply) {
        reply.erase("result");
        return sent(reply);
      },
      [&](json reply) {
        reply.erase("result");
        reply["error"] = {{"code", 3}, {"message", "execution reverted"}};
        return sent(reply);
      },
      [&](const json& reply) { return sent(reply, 429); },
      [&](const json& reply) { return sent(reply, 500); },
      [&](const json& reply) { return sent(reply, 302); },
      [&](const json& reply) { return sent(json::array({reply})); },
      [](const json&) {
        return ScriptedHost::Answer{200, {}, "<html>"};
      },
      [](const json&) {
        return ScriptedHost::Answer{200, {}, ""};
      },
      [](const json& reply) {
        return ScriptedHost::Answer{200, {}, reply.dump() + "x"};
      },
      [](const json&) {
        return ScriptedHost::Answer{0, {}, {}, Failure{FailureKind::timeout, "hush", {}, true}};
      },
  };
  mine_payment();
  ASSERT_EQ(find().outcome, ChainOutcome::paid);
  const std::set<std::string> methods = node_.asked;
  ASSERT_THAT(methods, SizeIs(5));
  for (const std::string& method : methods) {
    for (std::size_t at = 0; at < spoils.size(); ++at) {
      node_.spoils = {{method, spoils[at]}};
      use({});  // a new object has not verified the chain id yet
      EXPECT_EQ(find().outcome, ChainOutcome::unavailable) << method << " " << at;
      const bool is_asked = method != "eth_call" && method != "eth_getLogs";
      const bool is_null = method == "eth_getTransactionReceipt" && at == 7;
      EXPECT_EQ(receipt().outcome, is_null    ? ChainOutcome::not_final
                                   : is_asked ? ChainOutcome::unavailable
                                              : ChainOutcome::paid)
          << method << " " << at;
    }
  }
  EXPECT_THAT(host_.logged, Each(Not(HasSubstr("hush"))));
}

TEST_F(ChainsTest, SpoiltMembersOfLogsAndReceiptsProveNothing) {
  mine_payment();
  const auto spoil = [this](const char* method, const char* pointer, const json& value) {
    node_.spoils = {{method, [=](json reply) {
                       reply[json::json_pointer(pointer)] = value;
                       return ScriptedHost::Answer{200, {}, reply.dump()};
                     }}};
    return find().outcome;
  };
  for (const char* pointer :
       {"/result/0/address", "/result/0/topics", "/result/0/topics/1", "/result/0/transactionHash",
        "/result/0/blockNumber", "/result/0/logIndex"}) {
    for (const json& value : {json("0x"), json("0x01"), json(nullptr), json(5)}) {
      EXPECT_EQ(spoil("eth_getLogs", pointer, value), ChainOutcome::unavailable)
          << pointer << value;
    }
  }
  EXPECT_EQ(spoil("eth_getLogs", "/result/0/removed", true), ChainOutcome::unavailable);
  EXPECT_EQ(spoil("eth_getLogs", "/result/0/blockNumber", "0x1"), ChainOutcome::unavailable);
  EXPECT_EQ(spoil("eth_getLogs", "/result/0/blockNumber", "0xffffff"), ChainOutcome::unavailable);
  const char* receipt_method = "eth_getTransactionReceipt";
  for (const char* pointer : {"/result/transactionHash", "/result/blockNumber", "/result/status",
                              "/result/logs", "/result/logs/0/address"}) {
    for (const json& value : {json("0x"), json("0x02"), json(nullptr), json(1)}) {
      EXPECT_EQ(spoil(receipt_method, pointer, value), ChainOutcome::unavailable)
          << pointer << value;
    }
  }
  EXPECT_EQ(spoil(receipt_method, "/result/status", "0x0"), ChainOutcome::unavailable);
  EXPECT_EQ(spoil(receipt_method, "/result/status", "0x2"), ChainOutcome::unavailable);
  EXPECT_EQ(spoil(receipt_method, "/result/transactionHash", hex_of(filled<Word>(2))),
            ChainOutcome::unavailable);
}

TEST(JsonRpc, QuantitiesHaveOneForm) {
  const auto read = [](const json& value) {
    const auto text = JsonText::parse(value.dump());
    return read_quantity(text->root());
  };
  EXPECT_EQ(read("0x0"), 0u);
  EXPECT_EQ(read("0x41"), 65u);
  EXPECT_EQ(read("0xFf"), 255u);
  EXPECT_EQ(read("0xffffffffffffffff"), ~std::uint64_t{0});
  for (const json& wrong :
       {json("0x"), json("0x00"), json("0x01"), json("0X1"), json("41"), json(""), json("0x-1"),
        json("0x1 "), json(" 0x1"), json("0x+1"), json("0xg"), json("0x10000000000000000"), json(1),
        json(nullptr), json::array()}) {
    EXPECT_FALSE(read(wrong)) << wrong;
  }
  for (const std::uint64_t number : {0ul, 1ul, 255ul, 84532ul, ~0ul}) {
    EXPECT_EQ(read(quantity(number)), number);
  }
}

// The lane asks the chain before it tells a caller that nothing was charged.
TEST_F(ChainsTest, ShowsWhetherAnAuthorizationIsUsedInTheNewestBlock) {
  const auto advance = [this](std::int64_t behind_s) {
    const std::int64_t now_s = node_.time_of(node_.head) + behind_s;
    host_.scripted_clock.move_ms(now_s * 1000 - host_.scripted_clock.now_ms());
  };
  use({{"confirmations", scalar("12")}});
  advance(0);
  EXPECT_EQ(chains_->is_used_now(authorization_, call_), false);
  mine_payment(0);
  EXPECT_EQ(chains_->is_used_now(authorization_, call_), true) << "final or not";
  node_.transactions.clear();
  mine({FakeNode::cancelled(authorization_)}, 0);
  EXPECT_EQ(chains_->is_used_now(authorization_, call_), true);
  advance(Chains::behind_s);
  EXPECT_EQ(chains_->is_used_now(authorization_, call_), true);
  advance(Chains::behind_s + 1);
  EXPECT_EQ(chains_->is_used_now(authorization_, call_), std::nullopt) << "its node is behind";
  advance(0);
  for (const char* method : {"eth_getBlockByNumber", "eth_call"}) {
    node_.spoils[method] = [](const json&) { return ScriptedHost::Answer{503, {}, ""}; };
    EXPECT_EQ(chains_->is_used_now(authorization_, call_), std::nullopt) << method;
    node_.spoils.clear();
  }
  authorization_.network = "eip155:1";
  EXPECT_EQ(chains_->is_used_now(authorization_, call_), std::nullopt) << "no such chain";
}

}  // namespace
}  // namespace turnpike::x402
