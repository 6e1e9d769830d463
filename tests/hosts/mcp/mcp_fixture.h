// The MCP host on a real server and real sockets, over a scripted exchange and authenticator. Used
// by the test's Thread; the host runs on the runtime's Threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "hosts/http_client.h"
#include "hosts/mcp/mcp_host.h"
#include "hosts/mcp/service_tools.h"

namespace turnpike::hosts::mcp {

// No program is installed and the database is unavailable; the test defines the answers to calls.
class ScriptedBackend final : public Backend {
 public:
  std::function<exchange::Served(const exchange::Invocation&, exchange::ReplyWriter&)> on_serve;

  exchange::Served serve(const exchange::Invocation& invocation,
                         exchange::ReplyWriter& writer) override {
    if (on_serve) return on_serve(invocation, writer);
    ADD_FAILURE() << "this is no call of a route";
    return {};
  }
  std::shared_ptr<const catalog::View> view() override { return nullptr; }
  Health health() override { return {{{"database", false, "It does not answer."}}, {}}; }
};

// Knows the token "good"; "down" cannot be looked up.
class ScriptedAuthenticator final : public identity::Authenticator {
 public:
  Result<std::shared_ptr<const identity::Principal>, base::Error> authenticate(
      std::string_view token, runtime::Deadline, identity::Accepts) override {
    if (token == "good") return std::make_shared<const identity::Principal>();
    const bool is_down = token == "down";
    return base::Error{
        is_down ? base::ErrorCode::auth_unavailable : base::ErrorCode::auth_credential_invalid,
        is_down ? "Keys cannot be read." : "The API key is not valid."};
  }
};

class FixedToolsets final : public Toolsets {
 public:
  explicit FixedToolsets(std::shared_ptr<const Toolset> tools) : tools_(std::move(tools)) {}
  std::shared_ptr<const Toolset> toolset() override { return tools_; }
  // REQUIRES: no concurrent toolset().
  void set(std::shared_ptr<const Toolset> tools) { tools_ = std::move(tools); }

 private:
  std::shared_ptr<const Toolset> tools_;
};

class McpHostTest : public testing::Test {
 protected:
  static constexpr std::uint64_t reply_bytes_max = 1'000;
  static constexpr std::uint64_t messages_bytes_max = 4'000'000;
  static constexpr std::uint32_t progress_interval_ms = 20;

  // `resource_metadata` is set if there is an authorization server.
  explicit McpHostTest(std::string resource_metadata = "")
      : executions_({backend_, authenticator_, build_, "https://api.example.com",
                     "https://mcp.example.com/x402", std::move(resource_metadata),
                     reply_bytes_max}) {}

  void SetUp() override {
    ASSERT_TRUE(
        server_->start({{.name = "mcp", .address = "127.0.0.1:0", .handler = &host_}}).ok());
  }
  void TearDown() override {
    server_->drain(std::chrono::milliseconds(2'000));
    server_.reset();
    runtime_.stop(runtime::Deadline::after_ms(2'000), runtime::Deadline::never());
  }

  tests::HttpReply call(const std::string& method, const std::string& target,
                        std::vector<std::string> headers = {}, std::string body = {}) {
    return tests::http_call(address_, {.method = method,
                                       .target = target,
                                       .headers = std::move(headers),
                                       .body = std::move(body)});
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::unique_ptr<AccessLog> access_log_ = make_access_log(*log_, *metrics_);
  const BuildInfo build_ = {"1.4.0", "abc1234", "development"};
  ScriptedBackend backend_;
  ScriptedAuthenticator authenticator_;
  const Executions executions_;
  FixedToolsets toolsets_{std::make_shared<const Toolset>(
      make_service_tools(backend_, clock_, executions_), "gen_1", std::string(32, 'k'))};
  const Features features_{.toolsets = toolsets_};
  const Discovery discovery_{{.urls = {.mcp = "https://mcp.example.com"},
                              .release = "1.4.0",
                              .protocol_versions = {"2026-07-28"}}};
  runtime::Runtime runtime_{runtime::RuntimeOptions{.loops = 1}};
  std::unique_ptr<wire::Server> server_ = wire::make_server(runtime_, {}, *log_);
  std::string address_ = server_->reserve("mcp", "127.0.0.1:0")->address;
  McpHost host_{
      {backend_, discovery_, features_, executions_, runtime_, clock_, random_, *access_log_},
      {.access = {.base_url = "https://mcp.example.com", .bound_address = address_},
       .build = build_,
       .messages_bytes_max = messages_bytes_max,
       .progress_interval_ms = progress_interval_ms}};
};

}  // namespace turnpike::hosts::mcp
