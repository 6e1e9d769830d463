// The guard's wrappers forward every virtual function that the SDK's headers declare, with its
// arguments and results, for plugins on the calling Thread and on the pool.
#include <turnpike/lane.h>
#include <turnpike/provider.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/call_by_hand.h"
#include "plugin/guard.h"
#include "plugin/inspect.h"
#include "plugin/surroundings.h"
#include "support/paths.h"

namespace turnpike::plugin {
namespace {

using Words = std::vector<std::string>;

// The declarations of a class in a header: its virtual functions and its data members.
struct Declared {
  Words functions;
  Words members;
};

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
}

// The word that ends before `end`.
std::string word_before(const std::string& line, std::size_t end) {
  while (end > 0 && !is_letter(line[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_letter(line[begin - 1])) --begin;
  return line.substr(begin, end - begin);
}

// Relies on the formatting: a class's declarations are indented by two columns.
Declared declared_in(const std::string& header, const std::string& name) {
  std::ifstream file(support::source_path("framework/sdk/turnpike/" + header));
  Declared declared;
  std::string line;
  const std::string begin = "class " + name + " ";
  while (std::getline(file, line) && !line.starts_with(begin)) continue;
  EXPECT_TRUE(file.good()) << name << " is not in " << header;
  while (std::getline(file, line) && line != "};") {
    line.resize(std::min(line.size(), line.find("//")));
    const bool begins = line.size() > 2 && line.starts_with("  ") && line[2] != ' ';
    if (!begins || line.starts_with("  }") || line.find('~') != line.npos) continue;
    const std::size_t arguments = line.find('(');
    if (line.find("virtual ") != line.npos) {
      declared.functions.push_back(word_before(line, arguments));
    } else if (arguments == line.npos) {
      declared.members.push_back(word_before(line, std::min(line.find('='), line.find(';'))));
    }
  }
  std::sort(declared.functions.begin(), declared.functions.end());
  std::sort(declared.members.begin(), declared.members.end());
  return declared;
}

// The functions that were called in the author's code.
struct Heard {
  Words words;
  void hear(const char* word) { words.emplace_back(word); }
  // Expects each virtual function of the class and of its base exactly once.
  void expect_all(const std::string& header, const std::string& name,
                  const std::string& base = {}) {
    Words declared = declared_in(header, name).functions;
    if (!base.empty()) {
      const Words inherited = declared_in("offers.h", base).functions;
      declared.insert(declared.end(), inherited.begin(), inherited.end());
    }
    std::sort(declared.begin(), declared.end());
    std::sort(words.begin(), words.end());
    EXPECT_EQ(words, declared) << name;
  }
};

IntakeRequest a_note() {
  static constexpr HeaderField fields[] = {{"X-First", "1"}, {"x-first", "2"}};
  return {Method::get, "notes/1", "a=b", fields, "the note", "192.0.2.7"};
}

// The functions of every bound object, for an object that implements `Interface`.
template <class Interface>
class HeardBound : public Interface {
 public:
  explicit HeardBound(Heard& heard) : heard_(heard) {}
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    EXPECT_EQ(operation, 9u);
    heard_.hear("state");
    return {Condition::blocked, "so", 5};
  }
  Result<std::optional<Document>> document(std::string_view path, Call&) override {
    EXPECT_EQ(path, "mine.json");
    heard_.hear("document");
    return std::optional(Document{"text/plain", "it"});
  }
  Result<IntakeReply> receive(const IntakeRequest& request, Call& call) override {
    const IntakeRequest sent = a_note();
    EXPECT_EQ(request.method, sent.method);
    EXPECT_EQ(request.path, sent.path);
    EXPECT_EQ(request.query, sent.query);
    EXPECT_EQ(request.body, sent.body);
    EXPECT_EQ(request.peer, sent.peer);
    EXPECT_EQ(request.headers.size(), 2u);
    EXPECT_EQ(request.headers.back().name, "x-first");
    EXPECT_EQ(request.headers.back().value, "2");
    EXPECT_EQ(call.request_id(), CallByHand().request_id());
    heard_.hear("receive");
    return IntakeReply{202, {{"X-Note", "taken"}}, "thanks"};
  }
  Result<std::uint32_t> run(Call&) override {
    heard_.hear("run");
    return std::uint32_t{42};
  }

 protected:
  Heard& heard_;
};

class HeardTicket final : public Ticket {
 public:
  explicit HeardTicket(Heard& heard) : heard_(heard) {
    headers = {{"X-Word", "kept"}};
    keeps_reply = true;
  }
  Finish settle(const ReplyView& reply, Call&) override {
    EXPECT_EQ(reply.body, "whole");
    heard_.hear("settle");
    return Charged{{}, 7, 8};
  }
  std::optional<Refusal> release(Outcome outcome, int upstream_status, Call&) override {
    EXPECT_EQ(outcome, Outcome::upstream_status);
    EXPECT_EQ(upstream_status, 503);
    heard_.hear("release");
    return Refusal{"billing.credits_exhausted", {}, 0, {}, {}, {}};
  }

 private:
  Heard& heard_;
};

class HeardBoundLane final : public HeardBound<BoundLane> {
 public:
  HeardBoundLane(Heard& heard, Heard& of_ticket) : HeardBound(heard), of_ticket_(of_ticket) {}
  Admission admit(const LaneRequest& request, Call&) override {
    EXPECT_EQ(request.path, "/paid");
    heard_.hear("admit");
    return std::unique_ptr<Ticket>(std::make_unique<HeardTicket>(of_ticket_));
  }
  Recalled recall(const LaneRequest& request, Call&) override {
    EXPECT_EQ(request.path, "/paid");
    heard_.hear("recall");
    return Replay{298, {}, "recalled"};
  }

 private:
  Heard& of_ticket_;
};

constexpr Command commands[] = {{"mine", "my command"}};

// The functions of the object in any slot.
template <class Interface>
class HeardSlot : public Interface {
 public:
  [[nodiscard]] Offers offers() const noexcept override {
    slot_.hear("offers");
    return {.commands = commands};
  }
  int command(std::string_view word, const CommandInput& input, Console&, Host&) override {
    EXPECT_EQ(word, "mine");
    EXPECT_TRUE(input.json);
    slot_.hear("command");
    return 17;
  }
  mutable Heard slot_;
  Heard bound_;
  Heard ticket_;
};

class HeardLane final : public HeardSlot<Lane> {
 public:
  [[nodiscard]] LaneTraits traits() const noexcept override {
    slot_.hear("traits");
    LaneTraits traits;
    traits.name = "mine";
    return traits;
  }
  [[nodiscard]] Result<ReadTerms> read_terms(const RegistryParts& parts) const override {
    EXPECT_EQ(parts.policies.size(), 1u);
    slot_.hear("read_terms");
    ReadTerms terms;
    terms.canonical = "{}";
    terms.policies.push_back({.canonical = "", .binding = "", .billing = "{}"});
    return terms;
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host&) override {
    EXPECT_EQ(binding.generation_id, "gen");
    slot_.hear("bind");
    return std::unique_ptr<BoundLane>(std::make_unique<HeardBoundLane>(bound_, ticket_));
  }
};

class HeardUpstream final : public HeardBound<Upstream> {
 public:
  using HeardBound::HeardBound;
  Done execute(const UpstreamRequest& request, ReplySink&, Call&) override {
    EXPECT_EQ(request.path, "/asked");
    heard_.hear("execute");
    return Failure{FailureKind::timeout, "mine", {}, true};
  }
  Done probe(Call&) override {
    heard_.hear("probe");
    return Failure{FailureKind::transport, "mine", {}, true};
  }
  [[nodiscard]] const OperationTool* tool(std::uint32_t operation) const noexcept override {
    EXPECT_EQ(operation, 9u);
    heard_.hear("tool");
    static constexpr OperationTool mine{.name = "service.mine"};
    return &mine;
  }
};

class HeardProvider final : public HeardSlot<Provider> {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host&) override {
    EXPECT_EQ(binding.upstream_id, "u");
    slot_.hear("bind");
    return std::unique_ptr<Upstream>(std::make_unique<HeardUpstream>(bound_));
  }
};

class NoConsole final : public Console {
 public:
  void out(std::string_view) override {}
  void error(std::string_view) override {}
};

class ForwardingTest : public ::testing::TestWithParam<Execution> {
 protected:
  // Calls everything that the slot's object offers.
  void expect_slot(SlotObject& slot) {
    EXPECT_EQ(slot.offers().commands.front().word, "mine");
    const CommandInput input{{}, true, settings_, {}, {}};
    NoConsole console;
    EXPECT_EQ(slot.command("mine", input, console, host_), 17);
  }
  // Calls everything that a bound object offers.
  void expect_bound(BoundObject& bound) {
    CallByHand call;
    const auto document = bound.document("mine.json", call);
    ASSERT_TRUE(document.ok());
    EXPECT_EQ(document->value_or(Document{}).body, "it");
    const auto reply = bound.receive(a_note(), call);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->status, 202);
    EXPECT_EQ(reply->headers.front().value, "taken");
    EXPECT_EQ(reply->body, "thanks");
    const auto pause_ms = bound.run(call);
    ASSERT_TRUE(pause_ms.ok());
    EXPECT_EQ(*pause_ms, 42u);
  }

  Surroundings surroundings_;
  Guard guard_{
      "heard", 1, GetParam(), {surroundings_.pool, surroundings_.log, *surroundings_.metrics}, {}};
  PluginHost host_{"heard", surroundings_.resources()};
  const Settings settings_{};
};

INSTANTIATE_TEST_SUITE_P(Execution, ForwardingTest,
                         ::testing::Values(Execution::cooperative, Execution::blocking),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST_P(ForwardingTest, ALanePassesEveryWord) {
  HeardLane plain;
  const auto lane = guard_.wrap(plain);
  EXPECT_EQ(lane->traits().name, "mine");
  expect_slot(*lane);
  const RegistryParts::Policy policy;
  RegistryParts parts;
  parts.policies = {&policy, 1};
  const auto terms = lane->read_terms(parts);
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ(terms->canonical, "{}");
  auto bound = lane->bind({{}, settings_, "gen", {}}, host_);
  ASSERT_TRUE(bound.ok());
  plain.slot_.expect_all("lane.h", "Lane", "SlotObject");

  expect_bound(**bound);
  CallByHand call;
  LaneRequest request;
  request.path = "/paid";
  auto admission = (*bound)->admit(request, call);
  const Recalled recalled = (*bound)->recall(request, call);
  EXPECT_EQ(std::get<Replay>(recalled).status, 298);
  EXPECT_EQ((*bound)->state(9).reason, "so");
  plain.bound_.expect_all("lane.h", "BoundLane", "BoundObject");

  auto& ticket = std::get<std::unique_ptr<Ticket>>(admission);
  ASSERT_EQ(declared_in("lane.h", "Ticket").members, (Words{"headers", "keeps_reply"}));
  EXPECT_TRUE(ticket->keeps_reply);
  EXPECT_EQ(ticket->headers.front().value, "kept");
  ReplyView reply;
  reply.body = "whole";
  EXPECT_EQ(std::get<Charged>(ticket->settle(reply, call)).credits_remaining, 8);
  auto other = (*bound)->admit(request, call);
  const auto answer =
      std::get<std::unique_ptr<Ticket>>(other)->release(Outcome::upstream_status, 503, call);
  EXPECT_EQ(answer.value_or(Refusal{}).code, "billing.credits_exhausted");
  plain.ticket_.expect_all("lane.h", "Ticket");
}

TEST_P(ForwardingTest, AProviderPassesEveryWord) {
  HeardProvider plain;
  const auto provider = guard_.wrap(plain);
  expect_slot(*provider);
  auto bound = provider->bind({"u", settings_, {}}, host_);
  ASSERT_TRUE(bound.ok());
  plain.slot_.expect_all("provider.h", "Provider", "SlotObject");

  expect_bound(**bound);
  CallByHand call;
  UpstreamRequest request;
  request.path = "/asked";
  KeptReply reply;
  EXPECT_EQ((*bound)->execute(request, reply, call).error().kind, FailureKind::timeout);
  EXPECT_EQ((*bound)->state(9).reason, "so");
  EXPECT_EQ((*bound)->probe(call).error().kind, FailureKind::transport);
  EXPECT_EQ((*bound)->tool(9)->name, "service.mine");
  plain.bound_.expect_all("provider.h", "Upstream", "BoundObject");
}

// The wrappers forward only functions, so other interfaces must have no data members.
TEST(Forwarding, NoOtherInterfaceHasMembers) {
  EXPECT_EQ(declared_in("lane.h", "Lane").members, Words());
  EXPECT_EQ(declared_in("lane.h", "BoundLane").members, Words());
  EXPECT_EQ(declared_in("provider.h", "Provider").members, Words());
  EXPECT_EQ(declared_in("provider.h", "Upstream").members, Words());
  EXPECT_EQ(declared_in("offers.h", "SlotObject").members, Words());
  EXPECT_EQ(declared_in("offers.h", "BoundObject").members, Words());
}

}  // namespace
}  // namespace turnpike::plugin
