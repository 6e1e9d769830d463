// TestHost: a Host for the tests of a plugin, without a gateway. Its store is in memory, the test
// sets its clock, a function of the test answers its HTTP requests, and its random bytes are always
// the same. made_by() makes the object that a gateway would make from the plugin's descriptor, when
// the test is linked with the plugin's sources:
//
//   extern "C" const turnpike::Descriptor turnpike_plugin_v1;
//   ...
//   auto provider = turnpike::made_by<turnpike::Provider>(turnpike_plugin_v1);
//
// Helpers are compiled into the code that uses them (see mistakes.h). One Thread at a time. The
// store and the calls ignore deadlines, since nothing here waits.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <turnpike/plugin.h>

namespace turnpike {

// Null: the plugin does not fill the slot of `Interface`.
template <class Interface>
std::unique_ptr<Interface> made_by(const Descriptor& descriptor) {
  for (const FilledSlot& filled : descriptor.slots) {
    if (filled.slot != slot_of<Interface>) continue;
    return std::unique_ptr<Interface>(static_cast<Interface*>(filled.make()));
  }
  return nullptr;
}

// A map of settings as read from YAML: {{"base_url", "https://example.org"}, {"retries", "2"}}.
inline Settings settings_of(
    std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  Settings settings;
  settings.kind = Settings::Kind::map;
  for (const auto& [name, text] : fields) {
    Settings value;
    value.kind = Settings::Kind::scalar;
    value.text = text;
    settings.fields.push_back({std::string(name), std::move(value)});
  }
  return settings;
}

// The value of a secret, for a field of a map of settings.
inline Settings secret_of(std::string_view text) {
  Settings value;
  value.kind = Settings::Kind::scalar;
  value.is_secret = true;
  value.text = text;
  return value;
}

class TestCall final : public Call {
 public:
  [[nodiscard]] std::string_view request_id() const noexcept override {
    return "01930000-0000-7000-8000-000000000001";
  }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return INT64_MAX; }
  [[nodiscard]] bool cancelled() const noexcept override { return is_cancelled; }
  bool sleep_ms(std::uint32_t) noexcept override { return !is_cancelled; }

  bool is_cancelled = false;
};

// The reply of a provider.
class TestReply final : public ReplySink {
 public:
  bool head(int got, Headers fields, std::optional<std::uint64_t>) override {
    status = got;
    for (const HeaderField& field : fields) {
      headers.push_back({std::string(field.name), std::string(field.value)});
    }
    return true;
  }
  bool body(std::string_view bytes) override {
    text += bytes;
    return true;
  }

  int status = 0;
  std::vector<OwnedHeader> headers;
  std::string text;
};

class TestHost final : public Host {
 public:
  // Answers the plugin's requests. Without it each request fails as if the peer did not listen.
  std::function<Done(const HttpRequest&, HttpSink&)> answer;
  std::int64_t time_ms = 1'800'000'000'000;
  std::vector<std::string> log;  // lines that the plugin logged
  std::map<std::string, std::uint64_t> counts;

  [[nodiscard]] Report& report() noexcept override { return report_; }
  [[nodiscard]] Clock& clock() noexcept override { return clock_; }
  [[nodiscard]] Random& random() noexcept override { return random_; }
  [[nodiscard]] Http& http() noexcept override { return http_; }
  [[nodiscard]] Offload& offload() noexcept override { return offload_; }
  [[nodiscard]] Store& store() noexcept override { return store_; }

 private:
  struct TestReport final : Report {
    explicit TestReport(TestHost& of) : host(of) {}
    void log(Severity, std::string_view text) noexcept override { host.log.emplace_back(text); }
    void count(std::string_view name, std::uint64_t increment) noexcept override {
      host.counts[std::string(name)] += increment;
    }
    void set(std::string_view, double) noexcept override {}
    TestHost& host;
  };
  struct TestClock final : Clock {
    explicit TestClock(TestHost& of) : host(of) {}
    [[nodiscard]] std::int64_t now_ms() const noexcept override { return host.time_ms; }
    [[nodiscard]] std::int64_t monotonic_ns() const noexcept override {
      return host.time_ms * 1'000'000;
    }
    TestHost& host;
  };
  struct TestRandom final : Random {
    void fill(std::span<std::uint8_t> out) noexcept override {
      for (std::uint8_t& byte : out) byte = ++last;
    }
    std::uint8_t last = 0;
  };
  struct TestHttp final : Http {
    explicit TestHttp(TestHost& of) : host(of) {}
    Done call(const HttpRequest& request, const HttpOptions&, HttpSink& sink,
              Call&) noexcept override {
      if (host.answer) return host.answer(request, sink);
      return Failure{FailureKind::transport, "the test answers no request", {}};
    }
    TestHost& host;
  };
  struct TestOffload final : Offload {
    Done run(void (*work)(void*) noexcept, void* argument) noexcept override {
      work(argument);
      return Unit{};
    }
  };
  struct TestStore final : Store {
    explicit TestStore(TestHost& of) : host(of) {}
    StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                       Call&) noexcept override {
      for (const StoreCheck& check : checks) {
        const auto found = records.find(check.key);
        const std::uint64_t version = found == records.end() ? 0 : found->second.version;
        if (version != check.version) return {StoreOutcome::conflict};
      }
      ++last_version;
      for (const StoreWrite& write : writes) {
        const std::string key(write.key);
        records.erase(key);
        if (write.value) records[key] = {key, std::string(*write.value), last_version};
      }
      return {StoreOutcome::applied, last_version};
    }
    Result<std::optional<StoreRecord>> get(std::string_view key, Call&) noexcept override {
      const auto found = records.find(key);
      if (found == records.end()) return std::optional<StoreRecord>();
      return std::optional(found->second);
    }
    Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                          std::uint32_t limit, Call&) noexcept override {
      std::vector<StoreRecord> page;
      for (const auto& [key, record] : records) {
        if (page.size() < limit && key > after && key.starts_with(prefix)) page.push_back(record);
      }
      return page;
    }
    [[nodiscard]] std::int64_t now_ms() const noexcept override { return host.time_ms; }
    TestHost& host;
    std::map<std::string, StoreRecord, std::less<>> records;
    std::uint64_t last_version = 0;
  };

  TestReport report_{*this};
  TestClock clock_{*this};
  TestRandom random_;
  TestHttp http_{*this};
  TestOffload offload_;
  TestStore store_{*this};
};

}  // namespace turnpike
