// The API host on a real server and real sockets, over a scripted exchange, authenticator and
// ledger. Used by the test's Thread; the host runs on the runtime's Threads.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/sources.h"
#include "hosts/api/api_host.h"
#include "hosts/http_client.h"
#include "ledger/calls.h"
#include "quota/node_store.h"

namespace turnpike::tests {

// Answers /v1/gateway/<script>... :
//   reply, empty, long, chunked, cut, gone, throw, refuse/<code>, challenge, echo, many-headers
class ScriptedBackend final : public hosts::Backend {
 public:
  exchange::Served serve(const exchange::Invocation& invocation,
                         exchange::ReplyWriter& writer) override;
  std::shared_ptr<const catalog::View> view() override {
    const std::lock_guard lock(mutex_);
    return view_;
  }
  hosts::Health health() override {
    const std::lock_guard lock(mutex_);
    return health_;
  }

  void set_view(std::shared_ptr<const catalog::View> view) {
    const std::lock_guard lock(mutex_);
    view_ = std::move(view);
  }
  void set_health(hosts::Health health) {
    const std::lock_guard lock(mutex_);
    health_ = std::move(health);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const catalog::View> view_;
  hosts::Health health_;
};

// Publishes a document. At "box/notes" and "box/page" it answers as the test says.
class ScriptedPlugin final : public hosts::PluginPaths {
 public:
  Result<Document, base::Error> document(std::string_view path) override {
    if (path != "/.well-known/did.json")
      return base::Error{base::ErrorCode::request_not_found, "There is none.", 0};
    return Document{"application/did+json", "{}"};
  }
  Result<hosts::Intake, base::Error> find_intake(std::string_view path) override {
    static constexpr IntakePath rows[] = {{.path = "notes", .body_bytes_max = 8},
                                          {.path = "page", .takes_get = true}};
    for (const IntakePath& row : rows) {
      if (path != "box/" + std::string(row.path)) continue;
      return hosts::Intake{"box", &row, row.path, &box_, nullptr};
    }
    return base::Error{base::ErrorCode::request_not_found, "There is none."};
  }

  std::function<Result<IntakeReply>(const IntakeRequest&, Call&)> answer;

 private:
  class Box final : public BoundObject {
   public:
    explicit Box(const ScriptedPlugin& plugin) : plugin_(plugin) {}
    Result<IntakeReply> receive(const IntakeRequest& request, Call& call) override {
      return plugin_.answer(request, call);
    }

   private:
    const ScriptedPlugin& plugin_;
  };

  Box box_{*this};
};

// Knows the tokens "good", "other", "suspended", "closed", "provisioning" and "failed", each for
// the account "acc_<token>". "down" cannot be looked up; "staging" belongs to another environment.
class ScriptedAuthenticator final : public identity::Authenticator {
 public:
  Result<std::shared_ptr<const identity::Principal>, base::Error> authenticate(
      std::string_view token, runtime::Deadline deadline, identity::Accepts) override;
};

class ScriptedLedger final : public ledger::Ledger {
 public:
  Result<ledger::Hold, base::Error> hold(const ledger::Payer&, ledger::Credits,
                                         runtime::Deadline) override;
  ledger::Settlement settle(ledger::Hold hold, ledger::OwnedFact fact,
                            std::unique_ptr<const ledger::ReplyToKeep> reply) override;
  void release(ledger::Hold hold, ledger::OwnedFact fact) noexcept override;
  Result<ledger::Balance, base::Error> balance(std::string_view account_id,
                                               runtime::Deadline deadline) override;
  std::atomic<int> error{-1};  // a base::ErrorCode to fail with
  std::atomic<std::int64_t> credits{1000};
};

// Records each question and gives the configured answer.
class ScriptedStatements final : public ledger::Statements {
 public:
  Result<ledger::Page<ledger::UsageRow>, base::Error> usage(const ledger::PageQuery& query,
                                                            runtime::Deadline deadline) override;
  Result<ledger::Page<ledger::Allocation>, base::Error> allocations(
      const ledger::PageQuery& query, runtime::Deadline deadline) override;
  Result<std::vector<ledger::CapsOfKey>, base::Error> key_caps(std::string_view account_id,
                                                               runtime::Deadline deadline) override;
  Result<ledger::UsageSummary, base::Error> summary(const ledger::SummaryQuery& query,
                                                    runtime::Deadline deadline) override;
  Result<ledger::Page<ledger::UsageRow>, base::Error> search(const ledger::PageQuery& query,
                                                             const ledger::CallFilter&,
                                                             runtime::Deadline deadline) override {
    return usage(query, deadline);
  }
  Result<std::vector<ledger::UsageRow>, base::Error> calls_named(std::string_view, std::string_view,
                                                                 std::uint32_t,
                                                                 runtime::Deadline) override {
    return usage_page.items;
  }
  Result<ledger::AccountStatement, base::Error> statement(std::string_view, std::int64_t,
                                                          std::int64_t,
                                                          runtime::Deadline) override {
    return ledger::AccountStatement{};
  }
  Result<std::optional<ledger::Allocation>, base::Error> expiring_next(std::string_view,
                                                                       runtime::Deadline) override {
    return std::optional<ledger::Allocation>();
  }

  std::atomic<int> error{-1};  // a base::ErrorCode to fail with
  // Written and read only while no request is in progress.
  ledger::Page<ledger::UsageRow> usage_page;
  ledger::Page<ledger::Allocation> allocation_page;
  ledger::UsageSummary sums;
  ledger::PageQuery page_query;
  ledger::SummaryQuery summary_query;
};

// Knows two calls of acc_good: a charged one, and one whose settlement is unknown.
class ScriptedCalls final : public ledger::Calls {
 public:
  static constexpr std::string_view charged = "019a0000-0000-7000-8000-00000000000a";
  static constexpr std::string_view pending = "019a0000-0000-7000-8000-00000000000b";
  Result<ledger::CallState, base::Error> call(std::string_view account_id,
                                              std::string_view request_id,
                                              runtime::Deadline deadline) override;
  std::atomic<bool> is_unavailable{false};
};

struct LoggedRequest {
  std::string request_id, client_request_id, method, path, route, lane;
  std::string endpoint;
  int status;
  std::optional<base::ErrorCode> error;
  std::uint64_t reply_bytes;
  bool is_whole;
  std::string account_id, key_id, provider, operation, reason;
};

class RecordingAccessLog final : public hosts::AccessLog {
 public:
  const hosts::Endpoint& endpoint(std::string_view name) override {
    return endpoints_.emplace_back(hosts::Endpoint{std::string(name), {}});
  }
  void write(const hosts::AccessRecord& record) noexcept override;
  // Waits for the record of a request, which is written after the reply has been sent.
  LoggedRequest wait_for(const std::string& request_id);

 private:
  std::mutex mutex_;
  std::condition_variable written_;
  std::vector<LoggedRequest> records_;
  std::deque<hosts::Endpoint> endpoints_;
};

class HostFixture : public testing::Test {
 protected:
  void SetUp() override {
    start({.cors_origins = {"https://app.example"},
           .build = {},
           .reference = {},
           .cursor_key = std::string(32, 'k')});
  }
  void TearDown() override;
  void start(hosts::api::ApiHostSettings settings);

  HttpReply call(const HttpCall& what) { return http_call(address_, what); }
  HttpReply get(const std::string& target, std::vector<std::string> headers = {}) {
    return call({.target = target, .headers = std::move(headers)});
  }
  // Checks an envelope's form and headers, and returns its code.
  std::string code_of(const HttpReply& reply);

  base::SystemClock clock_;
  base::SystemRandom random_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  ScriptedBackend backend_;
  ScriptedPlugin plugin_;
  ScriptedAuthenticator authenticator_;
  ScriptedLedger ledger_;
  ScriptedStatements statements_;
  ScriptedCalls calls_;
  quota::NodeStore free_counts_{clock_, std::nullopt};
  RecordingAccessLog access_log_;
  const hosts::Discovery discovery_{{.urls = {.mcp = "https://mcp.example.com"},
                                     .release = "0.1.0",
                                     .protocol_versions = {"2026-07-28"}}};
  const Clock* host_clock_ = &clock_;             // the host's clock
  hosts::StatusSource* status_source_ = nullptr;  // null: there are no status routes
  std::unique_ptr<runtime::Runtime> runtime_;
  std::unique_ptr<hosts::api::ApiHost> host_;
  std::unique_ptr<wire::Server> server_;
  std::string address_;
};

}  // namespace turnpike::tests
