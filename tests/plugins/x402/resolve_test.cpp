#include "x402/remote/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_node.h"

namespace turnpike::x402 {
namespace {

using http::ScriptedCall;
using http::ScriptedHost;
using nlohmann::json;
using Resolved = Resolution::Outcome;
using Proof = Resolution::Proof;

const std::string chain_hash = hex_of(filled<Word>(0x11));
const std::string told_hash = hex_of(filled<Word>(0x22));
constexpr std::string_view paid_network = "eip155:84532";
constexpr std::int64_t validity_s = 300;
constexpr std::int64_t expiry_margin_s = 60;

// The state of the payment on the chain.
enum class OnChain { not_configured, down, unused, paid, cancelled, otherwise };
// The facilitator's answer to a settlement.
enum class Says { settled, refused, pending, used, typed_otherwise, lost, unreachable };

constexpr OnChain all_on_chain[] = {OnChain::not_configured, OnChain::down,
                                    OnChain::unused,         OnChain::paid,
                                    OnChain::cancelled,      OnChain::otherwise};
constexpr Says all_says[] = {Says::settled,         Says::refused, Says::pending,    Says::used,
                             Says::typed_otherwise, Says::lost,    Says::unreachable};

ScriptedHost::Answer answer_of(Says says) {
  json body = {{"success", false}, {"transaction", ""}, {"network", paid_network}};
  switch (says) {
    case Says::settled:
      body["success"] = true;
      body["transaction"] = told_hash;
      break;
    case Says::refused:
      body["errorReason"] = "invalid_exact_evm_insufficient_balance";
      break;
    case Says::pending:
      body["errorReason"] = "settlement_pending";
      body["transaction"] = told_hash;
      break;
    case Says::used:
      body["errorReason"] = "invalid_exact_evm_nonce_already_used";
      break;
    case Says::typed_otherwise:
      return {502, {}, "<html>"};
    case Says::lost:
      return {0, {}, {}, Failure{FailureKind::timeout, "", {}, true}};
    case Says::unreachable:
      return {0, {}, {}, Failure{FailureKind::transport, "", {}, false}};
  }
  return {200, {}, body.dump()};
}

class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() {
    host_.answers = [this](const ScriptedHost::Seen& seen) {
      if (seen.url.find("node.example") != std::string::npos) {
        order_ += order_.ends_with('c') ? "" : "c";
        if (on_chain_ == OnChain::down) return ScriptedHost::Answer{503, {}, ""};
        return node_.answer(seen);
      }
      order_ += 'f';
      return answer_of(says_);
    };
    Settings facilitators;
    facilitators.kind = Settings::Kind::list;
    facilitators.items = {map({{"url", scalar("https://one.example")}})};
    facilitators_.emplace(*read_facilitators(facilitators), host_);
    authorization_ = authorization_on(node_);
  }

  void put(OnChain on_chain) {
    on_chain_ = on_chain;
    node_.transactions.clear();
    Settings chains;
    if (on_chain != OnChain::not_configured) {
      chains =
          map({{std::string(paid_network), map({{"rpc_url", scalar("https://node.example")}})}});
    }
    chains_.emplace(*read_chains(chains), host_);
    if (on_chain == OnChain::paid) mine_payment();
    if (on_chain == OnChain::cancelled) mine({FakeNode::cancelled(authorization_)});
    if (on_chain == OnChain::otherwise) mine({FakeNode::used(authorization_)});
  }
  void mine_payment() {
    mine({FakeNode::used(authorization_), FakeNode::transfer(authorization_)});
  }
  void mine(std::vector<FakeNode::Event> events) {
    node_.mine({filled<Word>(0x11), node_.head - 2, true, std::move(events)});
  }
  // One step, `age_s` after the claim, on a chain whose newest block has the current time.
  Resolution step(std::int64_t age_s) {
    order_.clear();
    const std::int64_t now_s = node_.time_of(node_.head);
    OpenPayment payment;
    payment.request = {"{}", "{}", "exact", paid_network, {}};
    if (has_authorization_) {
      authorization_.claimed_at_s = now_s - age_s;
      payment.authorization = authorization_;
    }
    payment.valid_before_s = now_s - age_s + validity_s;
    payment.transaction = hint_;
    payment.facilitator = "https://one.example";
    payment.may_collect = may_collect_;
    return resolve(payment, now_s, *facilitators_, *chains_, call_);
  }

  FakeNode node_;
  Authorization authorization_;
  ScriptedHost host_;
  ScriptedCall call_{host_.scripted_clock, 100'000'000};
  std::optional<Facilitators> facilitators_;
  std::optional<Chains> chains_;
  OnChain on_chain_ = OnChain::not_configured;
  Says says_ = Says::lost;
  bool has_authorization_ = true;
  bool may_collect_ = true;
  std::string hint_;
  std::string order_;  // who was asked: (c)hain, (f)acilitator
};

// All combinations of both answers, before the payment expires, shortly after, and once the chain
// proves it; with and without an authorization that a chain could show.
TEST_F(ResolveTest, OnlyProofsEndAPayment) {
  for (const bool has_authorization : {true, false}) {
    for (const OnChain on_chain : all_on_chain) {
      for (const Says says : all_says) {
        for (const std::int64_t age_s :
             {std::int64_t{60}, validity_s - settle_margin_s, validity_s - settle_margin_s + 1,
              validity_s + expiry_margin_s - 1, validity_s + expiry_margin_s}) {
          has_authorization_ = has_authorization;
          says_ = says;
          put(on_chain);
          const Resolution got = step(age_s);
          const std::string where = "authorization " + std::to_string(has_authorization) +
                                    ", chain " + std::to_string(int(on_chain)) + ", facilitator " +
                                    std::to_string(int(says)) + ", age " + std::to_string(age_s);
          const bool tells = has_authorization && on_chain != OnChain::not_configured;
          const bool is_asked = !tells || age_s <= validity_s - settle_margin_s;
          const bool is_over = age_s >= validity_s + expiry_margin_s;
          Resolved expected = Resolved::still_unknown;
          Proof proof = Proof::none;
          if (tells && on_chain == OnChain::paid) {
            expected = Resolved::settled;
          } else if (tells && on_chain == OnChain::cancelled) {
            expected = Resolved::never_paid;
            proof = Proof::cancelled;
          } else if (tells && on_chain == OnChain::otherwise) {
            expected = Resolved::never_paid;
            proof = Proof::used_otherwise;
          } else if (tells && on_chain == OnChain::unused && is_over) {
            expected = Resolved::never_paid;
            proof = Proof::expired;
          } else if (is_asked && says == Says::settled) {
            expected = Resolved::settled;
          }
          EXPECT_EQ(got.outcome, expected) << where;
          EXPECT_EQ(got.proof, proof) << where;
          EXPECT_EQ(got.retry_after_s != 0, expected == Resolved::still_unknown) << where;
          if (expected == Resolved::settled) {
            const bool is_of_chain = tells && on_chain == OnChain::paid;
            EXPECT_EQ(got.transaction, is_of_chain ? chain_hash : told_hash) << where;
          }
        }
      }
    }
  }
}

TEST_F(ResolveTest, TheChainIsAskedThenTheFacilitatorThenTheChain) {
  put(OnChain::unused);
  says_ = Says::used;
  step(60);
  EXPECT_EQ(order_, "cfc");
  says_ = Says::pending;
  step(60);
  EXPECT_EQ(order_, "cffc");  // settlement_pending is asked again
  says_ = Says::unreachable;
  step(60);
  EXPECT_EQ(order_, "cf");
  says_ = Says::settled;
  step(60);
  EXPECT_EQ(order_, "cf");
  step(validity_s + expiry_margin_s - 1);
  EXPECT_EQ(order_, "c");
  put(OnChain::paid);
  step(60);
  EXPECT_EQ(order_, "c");
  put(OnChain::not_configured);
  says_ = Says::used;
  step(validity_s + 1'000'000);
  EXPECT_EQ(order_, "f");
}

TEST_F(ResolveTest, WhereNobodyWaitsNobodyIsAskedWhoCouldCollect) {
  may_collect_ = false;
  says_ = Says::settled;
  put(OnChain::unused);
  EXPECT_EQ(step(60).outcome, Resolved::still_unknown);
  EXPECT_EQ(order_, "c");
  EXPECT_EQ(step(validity_s + expiry_margin_s).outcome, Resolved::never_paid);
  EXPECT_EQ(order_, "c");
  put(OnChain::paid);
  EXPECT_EQ(step(60).outcome, Resolved::settled);
  put(OnChain::not_configured);
  const Resolution early = step(certain_end_s(validity_s) - 1);
  EXPECT_EQ(early.outcome, Resolved::still_unknown);
  EXPECT_EQ(early.retry_after_s, 2u);
  EXPECT_EQ(order_, "");
  EXPECT_EQ(step(certain_end_s(validity_s)).outcome, Resolved::settled);  // remembered
  EXPECT_EQ(order_, "f");
}

TEST_F(ResolveTest, AnAnswerThatWasLostIsFoundOnTheChain) {
  put(OnChain::unused);
  host_.answers = [this, node = host_.answers](const ScriptedHost::Seen& seen) {
    if (seen.url.find("/settle") != std::string::npos) mine_payment();
    return node(seen);
  };
  says_ = Says::lost;
  const Resolution got = step(60);
  EXPECT_EQ(got.outcome, Resolved::settled);
  EXPECT_EQ(got.transaction, chain_hash);
  EXPECT_EQ(order_, "cfc");
}

TEST_F(ResolveTest, ANamedTransactionIsKeptAndLookedAtFirst) {
  put(OnChain::unused);
  says_ = Says::pending;
  const Resolution open = step(60);
  ASSERT_EQ(open.outcome, Resolved::still_unknown);
  EXPECT_EQ(open.transaction, told_hash);
  EXPECT_EQ(open.facilitator, "https://one.example");
  says_ = Says::lost;
  hint_ = told_hash;
  EXPECT_EQ(step(60).transaction, told_hash);
  hint_ = chain_hash;
  put(OnChain::paid);
  node_.range_max = 0;  // no logs are needed
  EXPECT_EQ(step(60).outcome, Resolved::settled);
}

TEST_F(ResolveTest, AnotherTransactionThanTheNamedOneMayHavePaid) {
  put(OnChain::paid);
  hint_ = told_hash;  // replaced or invented
  const Resolution got = step(60);
  EXPECT_EQ(got.outcome, Resolved::settled);
  EXPECT_EQ(got.transaction, chain_hash);
  node_.mine({filled<Word>(0x22), node_.head - 1, false, {}});
  EXPECT_EQ(step(60).transaction, chain_hash);
}

TEST_F(ResolveTest, TheNextLookIsNotLaterThanTheProof) {
  put(OnChain::unused);
  says_ = Says::unreachable;
  EXPECT_EQ(step(60).retry_after_s, retry_first_s);
  EXPECT_EQ(step(validity_s + expiry_margin_s - 2).retry_after_s, 3u);
}

TEST(RetryAfter, DoublesButNotPastTheMomentOfProof) {
  EXPECT_EQ(retry_after_s(0, 100'000), retry_first_s);
  EXPECT_EQ(retry_after_s(1, 100'000), 2 * retry_first_s);
  EXPECT_EQ(retry_after_s(5, 100'000), 32 * retry_first_s);
  EXPECT_EQ(retry_after_s(20, 100'000), retry_max_s);
  EXPECT_EQ(retry_after_s(~0u, 100'000), retry_max_s);
  EXPECT_EQ(retry_after_s(20, 161), 161u);
  EXPECT_EQ(retry_after_s(20, 1), 1u);
  EXPECT_EQ(retry_after_s(20, 0), retry_max_s);
  EXPECT_EQ(retry_after_s(20, -5), retry_max_s);
  EXPECT_EQ(retry_after_s(3, std::numeric_limits<std::int64_t>::max()), 40u);
}

TEST(ProofOf, AnEndlessAuthorizationNeverExpires) {
  ChainAnswer unused;
  unused.outcome = ChainAnswer::Outcome::not_used;
  unused.expired_s = 1'800'000'000;
  EXPECT_FALSE(proof_of(unused, std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE(proof_of(unused, 0));
}

}  // namespace
}  // namespace turnpike::x402
