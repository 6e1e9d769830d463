// The surroundings of serve() in its tests, scripted and recorded: the upstream, the ledger, the
// caller and the writer. All write into one Journal, so that tests can assert the order of events.
// One Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sources.h"
#include "exchange/loop_state.h"
#include "exchange/serve.h"
#include "exchange/service.h"
#include "exchange/transfer_slots.h"
#include "identity/authenticator.h"
#include "lanes/credits.h"
#include "runtime/deadline.h"
#include "support/memory_store.h"
#include "support/recording_ledger.h"
#include "support/x402_lane.h"

namespace turnpike::exchange {

using Journal = std::vector<std::string>;

inline std::size_t count_of(const Journal& journal, std::string_view prefix) {
  std::size_t count = 0;
  for (const std::string& event : journal) count += event.starts_with(prefix) ? 1 : 0;
  return count;
}

// Real time that a test can advance.
class TestClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return 1'700'000'000'000; }
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override {
    return runtime::now_ns() + ahead_ns;
  }
  std::int64_t ahead_ns = 0;
};

class TestHost final : public Host, public Report, public Random, public Http, public Offload {
 public:
  explicit TestHost(Clock& clock) : clock_(clock) {}
  Report& report() noexcept override { return *this; }
  Clock& clock() noexcept override { return clock_; }
  Random& random() noexcept override { return *this; }
  Http& http() noexcept override { return *this; }
  Offload& offload() noexcept override { return *this; }
  Store& store() noexcept override { return store_; }
  void log(Severity, std::string_view) noexcept override {}
  void count(std::string_view, std::uint64_t) noexcept override {}
  void set(std::string_view, double) noexcept override {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    for (std::uint8_t& byte : out) byte = 7;
  }
  Done call(const HttpRequest&, const HttpOptions&, HttpSink&, Call&) noexcept override {
    return Failure{FailureKind::transport, "no network in tests", {}, false};
  }
  Done run(void (*work)(void*) noexcept, void* argument) noexcept override {
    work(argument);
    return Unit{};
  }

 private:
  Clock& clock_;
  support::MemoryStore store_;
};

// A copy of a request to an upstream.
struct Asking {
  std::uint32_t operation = 0;
  Method method = Method::get;
  std::string path;
  std::string query;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::pair<std::string, std::string>> parameters;  // name, value
  std::uint64_t reply_bytes_max = 0;
};

using Script = std::function<Done(ReplySink&, Call&)>;

inline Done reply_with(ReplySink& sink, int status, std::string_view body,
                       std::string_view content_type = "application/json") {
  const HeaderField headers[] = {{"Content-Type", content_type}};
  if (sink.head(status, headers, body.size())) sink.body(body);
  return Unit{};
}

class ScriptedProvider final : public Provider {
 public:
  explicit ScriptedProvider(Journal& journal) : journal_(journal) {}

  class ScriptedUpstream final : public Upstream {
   public:
    explicit ScriptedUpstream(ScriptedProvider& owner) : owner_(owner) {}
    Done execute(const UpstreamRequest& request, ReplySink& sink, Call& call) override {
      owner_.journal_.push_back("execute");
      Asking asked{request.operation,
                   request.method,
                   std::string(request.path),
                   std::string(request.query),
                   std::string(request.content_type),
                   std::string(request.body),
                   {},
                   {},
                   request.reply_bytes_max};
      for (const HeaderField& field : request.headers) {
        asked.headers.emplace_back(field.name, field.value);
      }
      for (const PathParameter& parameter : request.parameters) {
        asked.parameters.emplace_back(parameter.name, parameter.value);
      }
      owner_.asked = std::move(asked);
      return owner_.script(sink, call);
    }
    [[nodiscard]] State state(std::uint32_t) const noexcept override { return owner_.state; }
    Done probe(Call&) override { return Unit{}; }
    [[nodiscard]] const OperationTool* tool(std::uint32_t operation) const noexcept override {
      const auto found = owner_.tools.find(operation);
      return found == owner_.tools.end() ? nullptr : &found->second;
    }

   private:
    ScriptedProvider& owner_;
  };

  Result<std::unique_ptr<Upstream>> bind(const Binding& binding, Host&) override {
    ++binds;
    const Settings* secret = binding.settings.find("token");
    bound_secret = secret == nullptr ? "" : secret->text;
    if (bind_failure.has_value()) return *bind_failure;
    return std::unique_ptr<Upstream>(std::make_unique<ScriptedUpstream>(*this));
  }

  Script script = [](ReplySink& sink, Call&) { return reply_with(sink, 200, "{}"); };
  State state;
  std::optional<Asking> asked;
  std::optional<Failure> bind_failure;
  std::string bound_secret;
  int binds = 0;
  std::map<std::uint32_t, OperationTool> tools;  // by the upstream's operation

 private:
  Journal& journal_;
};

using support::RecordingLedger;

class TestAuthenticator final : public identity::Authenticator {
 public:
  Result<std::shared_ptr<const identity::Principal>, base::Error> authenticate(
      std::string_view token, runtime::Deadline, identity::Accepts) override {
    const auto found = principals.find(token);
    if (found != principals.end()) return found->second;
    return base::Error{base::ErrorCode::auth_credential_invalid, "This is no API key."};
  }
  std::map<std::string, std::shared_ptr<const identity::Principal>, std::less<>> principals;
};

class TestCaller final : public Caller {
 public:
  [[nodiscard]] Standing standing() const noexcept override { return now; }
  Standing now = Standing::waiting;
};

class TextBody final : public BodySource {
 public:
  TextBody(std::string text, bool is_length_declared)
      : text_(std::move(text)), is_length_declared_(is_length_declared) {}
  [[nodiscard]] std::optional<std::uint64_t> declared_length() const noexcept override {
    if (is_length_declared_) return text_.size();
    return std::nullopt;
  }
  Result<std::string_view, base::Error> read(std::uint64_t bytes_max) override {
    ++reads;
    if (failure.has_value()) return *failure;
    if (text_.size() > bytes_max) {
      return base::Error{base::ErrorCode::request_body_too_large, "too long"};
    }
    return std::string_view(text_);
  }
  std::optional<base::Error> failure;
  int reads = 0;

 private:
  const std::string text_;
  const bool is_length_declared_;
};

// Records what serve() writes. From its `fails_at`th call (counted from 1) on, the caller is gone.
class RecordingWriter final : public ReplyWriter {
 public:
  RecordingWriter(Journal& journal, TestCaller& caller) : journal_(journal), caller_(caller) {}

  bool reply(const ReplyHead& head, std::string_view bytes) override {
    take(head);
    body.append(bytes);
    return is_complete = step("reply");
  }
  bool begin(const ReplyHead& head, std::optional<std::uint64_t> length) override {
    take(head);
    announced = length;
    return step("begin");
  }
  bool write(std::string_view bytes) override {
    body.append(bytes);
    if (while_writing) while_writing();
    return step("write");
  }
  bool finish(std::string_view bytes) override {
    body.append(bytes);
    return is_complete = step("finish");
  }
  void cut() noexcept override { step("cut"); }
  bool refuse(const base::Error& error, const RefusalHead& head) override {
    refusal = error;
    facts = head.facts;
    generation = head.facts.generation;
    lane = head.facts.lane;
    allow = head.allow;
    body = head.body;
    take(head.lane_headers);
    return step("refuse:" + std::string(base::info_of(error.code).name));
  }

  int fails_at = 0;  // 0: never
  std::function<void()> while_writing;
  int status = 0;
  std::string body;
  bool is_complete = false;
  std::optional<std::uint64_t> announced;
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> lane_headers;
  ReplyFacts facts;  // without its views, which end with the call
  std::string generation;
  std::string lane;
  std::string allow;
  std::optional<base::Error> refusal;

 private:
  void take(const ReplyHead& head) {
    status = head.status;
    facts = head.facts;
    generation = head.facts.generation;
    lane = head.facts.lane;
    for (const HeaderField& field : head.headers) {
      headers[std::string(field.name)] = std::string(field.value);
    }
    take(head.lane_headers);
  }
  void take(std::span<const OwnedHeader> from) {
    for (const OwnedHeader& header : from) lane_headers[header.name] = header.value;
  }
  bool step(std::string event) {
    journal_.push_back(std::move(event));
    ++calls_;
    if (fails_at == 0 || calls_ < fails_at) return true;
    caller_.now = Standing::gone;
    return false;
  }
  Journal& journal_;
  TestCaller& caller_;
  int calls_ = 0;
};

// A lane with its own header, by default without accounts, that answers as the test says.
class ScriptedLane final : public Lane {
 public:
  ScriptedLane(Journal& journal, std::string_view name, std::string_view header)
      : journal_(journal), name_(name), headers_{header} {}

  [[nodiscard]] LaneTraits traits() const noexcept override {
    LaneTraits traits;
    traits.name = name_;
    traits.credential_headers = headers_;
    traits.buffer_whole = buffer_whole;
    traits.needs_account = needs_account;
    if (has_terms) {
      const LaneTraits real = support::x402_lane().traits();
      traits.has_terms = true;
      traits.terms_documents = real.terms_documents;
      traits.codes = real.codes;
    }
    return traits;
  }
  Result<std::unique_ptr<BoundLane>> bind(const LaneBinding& binding, Host&) override {
    operations = binding.operations;
    binding.notes->insert(binding.notes->end(), notes.begin(), notes.end());
    if (bind_failure.has_value()) return *bind_failure;
    return std::unique_ptr<BoundLane>(std::make_unique<Bound>(*this));
  }

  bool buffer_whole = false;
  bool has_terms = false;  // the terms of the x402 lane
  bool needs_account = false;
  bool keeps_reply = false;
  std::function<Admission(const LaneRequest&)> admission;  // empty: a ticket
  std::function<Recalled(const LaneRequest&)> recalled;    // empty: nothing is recalled
  std::vector<Note> notes;
  std::function<Finish(const ReplyView&)> finish = [](const ReplyView&) { return Charged{}; };
  std::optional<Failure> bind_failure;
  std::span<const PricedOperation> operations;
  std::vector<std::pair<std::string, std::string>> seen_credentials;
  std::optional<Refusal> answer_to_release;
  State state;

 private:
  class OneTicket final : public Ticket {
   public:
    explicit OneTicket(ScriptedLane& owner) : owner_(owner) { keeps_reply = owner.keeps_reply; }
    Finish settle(const ReplyView& reply, Call& call) override {
      owner_.journal_.push_back(call.cancelled() ? "settle:cancelled" : "settle:success");
      return owner_.finish(reply);
    }
    std::optional<Refusal> release(Outcome outcome, int, Call&) override {
      owner_.journal_.push_back("release:" + std::string(lanes::name_of(outcome)));
      return owner_.answer_to_release;
    }

   private:
    ScriptedLane& owner_;
  };
  class Bound final : public BoundLane {
   public:
    explicit Bound(ScriptedLane& owner) : owner_(owner) {}
    [[nodiscard]] State state(std::uint32_t) const noexcept override { return owner_.state; }
    Recalled recall(const LaneRequest& request, Call&) override {
      return owner_.recalled ? owner_.recalled(request) : Recalled();
    }
    Admission admit(const LaneRequest& request, Call&) override {
      owner_.seen_credentials.clear();
      for (const HeaderField& field : request.credentials) {
        owner_.seen_credentials.emplace_back(field.name, field.value);
      }
      if (owner_.admission) return owner_.admission(request);
      owner_.journal_.push_back("hold:");
      return std::unique_ptr<Ticket>(std::make_unique<OneTicket>(owner_));
    }

   private:
    ScriptedLane& owner_;
  };

  Journal& journal_;
  std::string_view name_;
  std::string_view headers_[1];
};

}  // namespace turnpike::exchange
