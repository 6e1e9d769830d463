// The shells of <turnpike/plugin.h> without any loading: nothing that an author's code throws or
// forgets leaves them, and every word of it passes.
#include <turnpike/plugin.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/paths.h"

namespace turnpike {
namespace {

struct Private {};

class ThrowingProvider final : public Provider {
 public:
  explicit ThrowingProvider(int what) : what_(what) {}
  Result<std::unique_ptr<Upstream>> bind(const Binding&, Host&) override {
    if (what_ == 0) throw std::runtime_error("no luck");
    if (what_ == 1) throw Private{};
    return std::unique_ptr<Upstream>();
  }

 private:
  int what_;
};

class EmptyLane final : public Lane {
 public:
  [[nodiscard]] LaneTraits traits() const noexcept override { return {}; }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding&, Host&) override {
    return std::unique_ptr<BoundLane>();
  }
};

class EmptyBoundLane final : public BoundLane {
 public:
  Admission admit(const LaneRequest&, Call&) override { return std::unique_ptr<Ticket>(); }
};

// The objects above touch neither host nor call, so none is needed.
template <class Interface>
Interface& untouched() {
  alignas(std::max_align_t) static char bytes[sizeof(void*)] = {};
  return *reinterpret_cast<Interface*>(bytes);
}

std::string bind_error(int what) {
  FactoryError error;
  const std::unique_ptr<Provider> provider(shell::make<Provider, shell::GuardedProvider>(
      error, [what] { return std::make_unique<ThrowingProvider>(what); }));
  const Settings settings;
  auto bound = provider->bind(Binding{"u", settings, {}}, untouched<Host>());
  EXPECT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().kind, FailureKind::plugin_fault);
  return bound.error().message;
}

TEST(Shell, ExceptionsOfBindBecomeFailures) {
  EXPECT_EQ(bind_error(0), "the plugin threw: no luck");
  EXPECT_EQ(bind_error(1), "the plugin threw: an exception of a type that is not std::exception");
  EXPECT_EQ(bind_error(2), "bind() returned no upstream");
}

TEST(Shell, AFactoryThatThrowsOrReturnsNothingLeavesItsReason) {
  FactoryError error;
  const auto throwing = []() -> std::unique_ptr<Provider> { throw std::runtime_error("no store"); };
  EXPECT_EQ((shell::make<Provider, shell::GuardedProvider>(error, throwing)), nullptr);
  EXPECT_STREQ(error.text, "the factory threw: no store");
  const auto empty = [] { return std::unique_ptr<Provider>(); };
  EXPECT_EQ((shell::make<Provider, shell::GuardedProvider>(error, empty)), nullptr);
  EXPECT_STREQ(error.text, "the factory returned nothing");
  const auto wordy = []() -> std::unique_ptr<Provider> {
    throw std::runtime_error(std::string(1000, 'x'));
  };
  EXPECT_EQ((shell::make<Provider, shell::GuardedProvider>(error, wordy)), nullptr);
  EXPECT_EQ(std::string_view(error.text).size(), sizeof(error.text) - 1);
}

TEST(Shell, ALaneThatBindsOrAdmitsNothingIsAFaultAndNoCrash) {
  shell::GuardedLane lane(std::make_unique<EmptyLane>());
  const Settings settings;
  const auto bound = lane.bind(LaneBinding{{}, settings, {}, {}}, untouched<Host>());
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().message, "bind() returned no lane");

  shell::GuardedBoundLane bound_lane(std::make_unique<EmptyBoundLane>());
  const Admission admission = bound_lane.admit(LaneRequest{}, untouched<Call>());
  const auto* refusal = std::get_if<Refusal>(&admission);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->code, "gateway.plugin_fault");
  EXPECT_EQ(refusal->message, "admit() returned no ticket");
}

class FailingTicket final : public Ticket {
 public:
  Finish settle(const ReplyView&, Call&) override { throw std::runtime_error("out of luck"); }
  std::optional<Refusal> release(Outcome, int, Call&) override {
    throw std::runtime_error("out of luck");
  }
};

// With the code of a fault, so that the gateway counts it and tells its operator.
TEST(Shell, WhatATicketThrowsIsAFaultThatTheGatewayCanTell) {
  shell::GuardedTicket ticket(std::make_unique<FailingTicket>());
  const Finish finish = ticket.settle(ReplyView{}, untouched<Call>());
  const auto* unknown = std::get_if<Unknown>(&finish);
  ASSERT_NE(unknown, nullptr) << "whether it charged is not known";
  EXPECT_EQ(unknown->refusal.code, "gateway.plugin_fault");
  EXPECT_EQ(unknown->refusal.message, "out of luck");
  const auto answer = ticket.release(Outcome::upstream_failure, 0, untouched<Call>());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->code, "gateway.plugin_fault");
  EXPECT_EQ(answer->message, "out of luck");
}

// ---- every word passes --------------------------------------------------------------------------

using Words = std::vector<std::string>;

// What the header declares in a class: its virtual functions, or all that it holds.
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

// The headers are formatted: what a class declares begins two columns in.
Declared declared_in(const std::string& header, const std::string& name) {
  std::ifstream file(support::source_path("framework/sdk/turnpike/" + header));
  Declared declared;
  std::string line;
  while (std::getline(file, line) && line != "class " + name + " {") continue;
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

// What the author's code was asked, with arguments that are the caller's own.
struct Heard {
  Words words;
  const void* subject = nullptr;  // the first argument that is a reference

  template <class Argument>
  void hear(const char* word, const Argument& argument) {
    words.emplace_back(word);
    subject = &argument;
  }
  // Each virtual function of the class, once.
  void expect_all(const std::string& header, const std::string& name) {
    std::sort(words.begin(), words.end());
    EXPECT_EQ(words, declared_in(header, name).functions) << name;
  }
};

class HeardTicket final : public Ticket {
 public:
  explicit HeardTicket(Heard& heard) : heard_(heard) {
    headers = {{"X-Word", "kept"}};
    keeps_reply = true;
  }
  Finish settle(const ReplyView& reply, Call&) override {
    heard_.hear("settle", reply);
    return Charged{{}, 7, 8};
  }
  std::optional<Refusal> release(Outcome outcome, int upstream_status, Call& call) override {
    EXPECT_EQ(outcome, Outcome::upstream_status);
    EXPECT_EQ(upstream_status, 503);
    heard_.hear("release", call);
    return Refusal{"mine", {}, 0, {}, {}, {}};
  }

 private:
  Heard& heard_;
};

class HeardBoundLane final : public BoundLane {
 public:
  explicit HeardBoundLane(Heard& heard) : heard_(heard) {}
  Admission admit(const LaneRequest& request, Call&) override {
    heard_.hear("admit", request);
    return Replay{299, {}, "stored"};
  }
  Recalled recall(const LaneRequest& request, Call&) override {
    heard_.hear("recall", request);
    return Replay{298, {}, "recalled"};
  }
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    EXPECT_EQ(operation, 9u);
    heard_.words.emplace_back("state");
    return {Condition::blocked, "so", 5};
  }
  Result<std::optional<Document>> document(std::string_view path, Call& call) override {
    EXPECT_EQ(path, "mine.json");
    heard_.hear("document", call);
    return std::optional(Document{"text/plain", "it"});
  }
  Result<std::uint32_t> run(Call& call) override {
    heard_.hear("run", call);
    return std::uint32_t{42};
  }

 private:
  Heard& heard_;
};

class HeardLane final : public Lane {
 public:
  explicit HeardLane(Heard& heard) : heard_(heard) {}
  [[nodiscard]] LaneTraits traits() const noexcept override {
    heard_.words.emplace_back("traits");
    LaneTraits traits;
    traits.name = "mine";
    return traits;
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host&) override {
    heard_.hear("bind", binding);
    return Failure{FailureKind::plugin_fault, "mine", {}, false};
  }
  int command(std::string_view word, const CommandInput& input, Console&, Host&) override {
    EXPECT_EQ(word, "mine");
    heard_.hear("command", input);
    return 17;
  }

 private:
  Heard& heard_;
};

class HeardUpstream final : public Upstream {
 public:
  explicit HeardUpstream(Heard& heard) : heard_(heard) {}
  Done execute(const UpstreamRequest& request, ReplySink&, Call&) override {
    heard_.hear("execute", request);
    return Failure{FailureKind::timeout, "mine", {}, true};
  }
  [[nodiscard]] State state(std::uint32_t operation) const noexcept override {
    EXPECT_EQ(operation, 9u);
    heard_.words.emplace_back("state");
    return {Condition::blocked, "so", 5};
  }
  Done probe(Call& call) override {
    heard_.hear("probe", call);
    return Failure{FailureKind::transport, "mine", {}, true};
  }

 private:
  Heard& heard_;
};

class HeardProvider final : public Provider {
 public:
  explicit HeardProvider(Heard& heard) : heard_(heard) {}
  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host&) override {
    heard_.hear("bind", binding);
    return Failure{FailureKind::plugin_fault, "mine", {}, false};
  }

 private:
  Heard& heard_;
};

TEST(Forwarding, ATicketPassesEveryWord) {
  Heard heard;
  shell::GuardedTicket ticket(std::make_unique<HeardTicket>(heard));
  const ReplyView reply;
  EXPECT_EQ(std::get<Charged>(ticket.settle(reply, untouched<Call>())).credits_remaining, 8);
  EXPECT_EQ(heard.subject, &reply);
  const auto answer = ticket.release(Outcome::upstream_status, 503, untouched<Call>());
  EXPECT_EQ(answer.value_or(Refusal{}).code, "mine");
  EXPECT_EQ(heard.subject, &untouched<Call>());
  heard.expect_all("lane.h", "Ticket");

  ASSERT_EQ(declared_in("lane.h", "Ticket").members, (Words{"headers", "keeps_reply"}));
  EXPECT_TRUE(ticket.keeps_reply);
  ASSERT_EQ(ticket.headers.size(), 1u);
  EXPECT_EQ(ticket.headers.front().value, "kept");
}

TEST(Forwarding, ABoundLanePassesEveryWord) {
  Heard heard;
  shell::GuardedBoundLane lane(std::make_unique<HeardBoundLane>(heard));
  const LaneRequest request;
  EXPECT_EQ(std::get<Replay>(lane.admit(request, untouched<Call>())).status, 299);
  EXPECT_EQ(heard.subject, &request);
  heard.subject = nullptr;
  const Recalled recalled = lane.recall(request, untouched<Call>());
  ASSERT_TRUE(std::holds_alternative<Replay>(recalled));
  EXPECT_EQ(std::get<Replay>(recalled).status, 298);
  EXPECT_EQ(heard.subject, &request);
  EXPECT_EQ(lane.state(9).reason, "so");
  const auto document = lane.document("mine.json", untouched<Call>());
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->value_or(Document{}).body, "it");
  EXPECT_EQ(heard.subject, &untouched<Call>());
  heard.subject = nullptr;
  const auto pause_ms = lane.run(untouched<Call>());
  ASSERT_TRUE(pause_ms.ok());
  EXPECT_EQ(*pause_ms, 42u);
  EXPECT_EQ(heard.subject, &untouched<Call>());
  heard.expect_all("lane.h", "BoundLane");
  EXPECT_EQ(declared_in("lane.h", "BoundLane").members, Words());
}

TEST(Forwarding, ALanePassesEveryWord) {
  Heard heard;
  shell::GuardedLane lane(std::make_unique<HeardLane>(heard));
  EXPECT_EQ(lane.traits().name, "mine");
  const Settings settings;
  const LaneBinding binding{{}, settings, {}, {}};
  EXPECT_EQ(lane.bind(binding, untouched<Host>()).error().message, "mine");
  EXPECT_EQ(heard.subject, &binding);
  const CommandInput input{{}, true, settings, {}, {}};
  EXPECT_EQ(lane.command("mine", input, untouched<Console>(), untouched<Host>()), 17);
  EXPECT_EQ(heard.subject, &input);
  heard.expect_all("lane.h", "Lane");
  EXPECT_EQ(declared_in("lane.h", "Lane").members, Words());
}

TEST(Forwarding, AnUpstreamPassesEveryWord) {
  Heard heard;
  shell::GuardedUpstream upstream(std::make_unique<HeardUpstream>(heard));
  const UpstreamRequest request;
  const Done done = upstream.execute(request, untouched<ReplySink>(), untouched<Call>());
  EXPECT_EQ(done.error().message, "mine");
  EXPECT_EQ(heard.subject, &request);
  EXPECT_EQ(upstream.state(9).reason, "so");
  EXPECT_EQ(upstream.probe(untouched<Call>()).error().kind, FailureKind::transport);
  EXPECT_EQ(heard.subject, &untouched<Call>());
  heard.expect_all("provider.h", "Upstream");
  EXPECT_EQ(declared_in("provider.h", "Upstream").members, Words());
}

TEST(Forwarding, AProviderPassesEveryWord) {
  Heard heard;
  shell::GuardedProvider provider(std::make_unique<HeardProvider>(heard));
  const Settings settings;
  const Binding binding{"u", settings, {}};
  EXPECT_EQ(provider.bind(binding, untouched<Host>()).error().message, "mine");
  EXPECT_EQ(heard.subject, &binding);
  heard.expect_all("provider.h", "Provider");
  EXPECT_EQ(declared_in("provider.h", "Provider").members, Words());
}

}  // namespace
}  // namespace turnpike
