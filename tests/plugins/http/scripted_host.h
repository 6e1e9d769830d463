// ScriptedHost: a Host whose upstream follows a script. Each call of http() is recorded and
// answered by the next line of the script or, if there is none, by a function. Time moves only when
// a test or a sleep moves it. One Thread.
#pragma once

#include <turnpike/host.h>
#include <turnpike/provider.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/memory_store.h"
#include "support/sdk_fakes.h"
#include "support/settings.h"

namespace turnpike::http {

// The path parameters that the tests' routes declare.
inline constexpr std::string_view path_names[] = {"id"};

class ScriptedCall final : public Call {
 public:
  ScriptedCall(support::ManualClock& clock, std::int64_t timeout_ms)
      : clock_(clock), deadline_ns_(clock.monotonic_ns() + timeout_ms * 1'000'000) {}
  [[nodiscard]] std::string_view request_id() const noexcept override { return "request"; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return deadline_ns_; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    clock_.move_ms(duration_ms);
    slept_ms.push_back(duration_ms);
    if (while_sleeping) while_sleeping();
    return clock_.monotonic_ns() < deadline_ns_;
  }
  std::vector<std::uint32_t> slept_ms;
  std::function<void()> while_sleeping;
  void extend_ms(std::int64_t ms) { deadline_ns_ += ms * 1'000'000; }

 private:
  support::ManualClock& clock_;
  std::int64_t deadline_ns_;
};

class ScriptedHost final : public Host {
 public:
  struct Answer {  // with `failure`: a failure, after the head if there is a status
    int status = 0;
    std::vector<OwnedHeader> headers = {};
    std::string body = {};
    std::optional<Failure> failure = {};
    std::function<void(const Call&)> then = {};  // called after the reply
  };
  struct Seen {
    Method method;
    std::string url;
    std::vector<OwnedHeader> headers;
    std::string body;
    HttpOptions options;
    std::int64_t deadline_ns;
    [[nodiscard]] std::vector<std::string> values_of(std::string_view name) const {
      std::vector<std::string> values;
      for (const OwnedHeader& header : headers) {
        if (same_header_name(header.name, name)) values.push_back(header.value);
      }
      return values;
    }
  };

  [[nodiscard]] Report& report() noexcept override { return report_; }
  [[nodiscard]] Clock& clock() noexcept override { return scripted_clock; }
  [[nodiscard]] Random& random() noexcept override { return *randomness; }
  [[nodiscard]] Http& http() noexcept override { return http_; }
  [[nodiscard]] Offload& offload() noexcept override { return offload_; }
  [[nodiscard]] Store& store() noexcept override { return memory_store; }

  support::ManualClock scripted_clock{1'000};
  std::deque<Answer> script;
  std::function<Answer(const Seen&)> answers;
  std::deque<Seen> seen;  // a deque: a nested call does not move its elements
  std::vector<std::string> logged;
  std::map<std::string, std::uint64_t> counted;
  std::map<std::string, double> gauges;
  support::MemoryStore memory_store{[this] { return scripted_clock.now_ms(); }};
  Random* randomness = &zeros_;

 private:
  class ScriptedReport final : public Report {
   public:
    explicit ScriptedReport(ScriptedHost& host) : host_(host) {}
    void log(Severity, std::string_view text) noexcept override { host_.logged.emplace_back(text); }
    void count(std::string_view name, std::uint64_t increment) noexcept override {
      host_.counted[std::string(name)] += increment;
    }
    void set(std::string_view name, double value) noexcept override {
      host_.gauges[std::string(name)] = value;
    }

   private:
    ScriptedHost& host_;
  };
  class ScriptedHttp final : public Http {
   public:
    explicit ScriptedHttp(ScriptedHost& host) : host_(host) {}
    Done call(const HttpRequest& request, const HttpOptions& options, HttpSink& sink,
              Call& call) noexcept override {
      Seen seen{request.method, std::string(request.url), {}, std::string(request.body),
                options,        call.deadline_ns()};
      for (const HeaderField& field : request.headers) {
        seen.headers.push_back({std::string(field.name), std::string(field.value)});
      }
      host_.seen.push_back(std::move(seen));
      if (host_.script.empty() && host_.answers) {
        host_.script.push_back(host_.answers(host_.seen.back()));
      }
      if (host_.script.empty()) return Failure{FailureKind::unavailable, "no script", {}, false};
      const Answer answer = std::move(host_.script.front());
      host_.script.pop_front();
      if (answer.status != 0 && !give(answer, sink)) {
        return Failure{FailureKind::cancelled, "the sink stopped", {}, true};
      }
      if (answer.then) answer.then(call);
      if (answer.failure) return *answer.failure;
      return Unit{};
    }

   private:
    static bool give(const Answer& answer, HttpSink& sink) {
      std::vector<HeaderField> fields;
      for (const OwnedHeader& header : answer.headers) {
        fields.push_back({header.name, header.value});
      }
      if (!sink.head(answer.status, fields, answer.body.size())) return false;
      return answer.body.empty() || sink.body(answer.body);
    }
    ScriptedHost& host_;
  };
  class InlineOffload final : public Offload {
   public:
    Done run(void (*work)(void*) noexcept, void* argument) noexcept override {
      work(argument);
      return Unit{};
    }
  };

  ScriptedReport report_{*this};
  support::ConstantRandom zeros_;
  ScriptedHttp http_{*this};
  InlineOffload offload_;
};

class RecordingSink final : public ReplySink {
 public:
  bool head(int got_status, Headers got, std::optional<std::uint64_t>) override {
    status = got_status;
    for (const HeaderField& field : got) {
      headers.push_back({std::string(field.name), std::string(field.value)});
    }
    return !stops_at_head;
  }
  bool body(std::string_view bytes) override {
    text += bytes;
    return true;
  }
  bool stops_at_head = false;
  int status = 0;
  std::vector<OwnedHeader> headers;
  std::string text;
};

}  // namespace turnpike::http
