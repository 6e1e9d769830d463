// A gateway without sockets for the tests of serve(): the program of program_fixture.h in service,
// with the scripted surroundings of fakes.h. One Thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/call_reports.h"
#include "exchange/charge_rules.h"
#include "exchange/fakes.h"
#include "exchange/program_fixture.h"
#include "lanes/free.h"
#include "quota/node_store.h"

namespace turnpike::exchange {

inline constexpr std::string_view request_id = "019a0000-0000-7000-8000-000000000001";
inline const HeaderField good_key{"Authorization", "Bearer good"};

struct TestRequest {
  std::string method = "GET";
  std::string path = "/v1/gateway/acme/items";
  std::string query = {};
  std::vector<HeaderField> headers = {{"Authorization", "Bearer good"}};
  std::string content_type = {};
  TextBody* body = nullptr;
  std::string key = {};  // Idempotency-Key
  std::uint64_t reply_bytes_max = Invocation().reply_bytes_max;
  std::string content_coding = {};
  const FoundOperation* found = nullptr;
};

class ServeTest : public ::testing::Test {
 protected:
  ServeTest() {
    add_key("good", identity::AccountStatus::active);
    install();
  }

  void add_key(const std::string& token, identity::AccountStatus status) {
    const std::string key = "key_" + token;
    const std::string account = "acct_" + token;
    authenticator.principals[token] =
        identity::make_principal({.account_status = status, .id = key, .account_id = account});
  }

  Bound bind(const Service* previous, registry::SecretResolver* secrets = nullptr) {
    const ProviderSlot providers[] = {{"scripted", &provider, &host}};
    std::vector<LaneSlot> lanes = {{&credits, &host, nullptr}, {&bench, &host, nullptr}};
    if (payment != nullptr) lanes.push_back({payment.get(), &host, nullptr});
    if (free != nullptr) lanes.push_back({free.get(), &host, nullptr});
    BindInput input;
    input.installed.program = program_fixture();
    input.installed.generation.id = "gen_test";
    input.providers = providers;
    input.lanes = lanes;
    input.secrets = secrets;
    input.public_origin = "http://127.0.0.1";
    input.calls_per_upstream_max = calls_per_upstream_max;
    input.previous = previous;
    input.reports = reports;
    return bind_service(input);
  }

  void install() {
    auto bound = bind(nullptr);
    ASSERT_TRUE(bound.ok()) << bound.error().front().message;
    service = *bound;
  }

  // Registers a lane for PAYMENT-SIGNATURE, as the x402 plugin does.
  ScriptedLane& install_payment_lane() {
    payment = std::make_unique<ScriptedLane>(journal, "x402", "payment-signature");
    payment->buffer_whole = true;
    payment->has_terms = true;
    install();
    return *payment;
  }

  // Installs the real lane on a real store in memory.
  void install_free_lane() {
    free = std::make_unique<lanes::FreeLane>(free_counts);
    install();
  }

  Served run(const TestRequest& request = {}) {
    writer = std::make_unique<RecordingWriter>(journal, caller);
    writer->fails_at = fails_at;
    writer->while_writing = while_writing;
    Invocation invocation;
    invocation.method = request.method;
    invocation.path = request.path;
    invocation.query = request.query;
    invocation.headers = request.headers;
    invocation.content_type = request.content_type;
    invocation.content_coding = request.content_coding;
    invocation.request_id = request_id;
    invocation.client_request_id = "mine-1";
    invocation.idempotency_key = request.key;
    invocation.body = request.body;
    invocation.caller = &caller;
    invocation.reply_bytes_max = request.reply_bytes_max;
    invocation.found = request.found;
    const Context context{service.get(), loop, authenticator, transfers, rules, clock};
    return serve(context, invocation, *writer);
  }

  // The code of the refusal, or "" if the request is served.
  std::string refusal(const TestRequest& request) {
    const Served served = run(request);
    if (!writer->refusal.has_value()) return {};
    EXPECT_EQ(served.ending, Ending::refused);
    EXPECT_EQ(served.error, writer->refusal->code);
    return std::string(base::info_of(writer->refusal->code).name);
  }

  [[nodiscard]] std::string journal_text() const {
    std::string text;
    for (const std::string& event : journal) text += (text.empty() ? "" : " ") + event;
    return text;
  }

  Journal journal;
  TestClock clock;
  TestHost host{clock};
  ScriptedProvider provider{journal};
  RecordingLedger ledger{journal};
  lanes::CreditsLane credits{ledger, ledger.replays};
  ScriptedLane bench{journal, "bench", "x-bench-lane"};
  std::unique_ptr<ScriptedLane> payment;
  quota::NodeStore free_counts{clock, std::nullopt};
  std::unique_ptr<lanes::FreeLane> free;
  TestAuthenticator authenticator;
  TransferSlots transfers{2, 10};
  runtime::BlockingPool pool{1, 16};
  ChargeRules rules{pool};
  LoopState loop{{.calls = 4, .calls_per_account = 2}};
  TestCaller caller;
  std::uint32_t calls_per_upstream_max = 3;
  CallReports* reports = nullptr;
  int fails_at = 0;
  std::function<void()> while_writing;
  std::unique_ptr<RecordingWriter> writer;
  std::shared_ptr<const Service> service;
};

}  // namespace turnpike::exchange
