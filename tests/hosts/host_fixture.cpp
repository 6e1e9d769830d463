#include "hosts/host_fixture.h"
#include "support/x402_lane.h"

#include <chrono>
#include <stdexcept>

namespace turnpike::tests {

using base::ErrorCode;

namespace {

base::Error make_error(ErrorCode code) {
  base::Error error;
  error.code = code;
  error.message = "Scripted.";
  return error;
}

const HeaderField json_fields[] = {{"Content-Type", "application/json"}};

exchange::ReplyHead provider_head() {
  exchange::ReplyHead head;
  head.headers = json_fields;
  head.facts = {exchange::ReplyFrom::provider, "gen_1", "credits", 1, 41, 250, 1'500};
  return head;
}

exchange::Served served(exchange::Ending ending) {
  exchange::Served result;
  result.ending = ending;
  result.route = "route-00000000000000000000000000000001";
  result.provider = "acme";
  result.operation_method = "GET";
  result.operation_path = "/v1/gateway/{script}";
  result.lane = "credits";
  result.principal = identity::make_principal({.id = "key_good", .account_id = "acc_good"});
  return result;
}

exchange::Served refuse(exchange::ReplyWriter& writer, ErrorCode code, std::string_view allow) {
  exchange::RefusalHead head;
  head.allow = allow;
  head.facts.generation = "gen_1";
  base::Error error = make_error(code);
  error.retry_after_seconds = base::info_of(code).advice == base::Advice::after_delay ? 7 : 0;
  writer.refuse(error, head);
  exchange::Served result = served(exchange::Ending::refused);
  result.error = code;
  result.operator_note = "plugin acme: nobody listens";
  return result;
}

exchange::Served challenge(exchange::ReplyWriter& writer) {
  const OwnedHeader lane_headers[] = {{"PAYMENT-REQUIRED", "e30="}};
  exchange::RefusalHead head;
  head.lane_headers = lane_headers;
  head.body = R"({"x402Version":2})";
  head.content_type = "application/json";
  head.facts.lane = "x402";
  writer.refuse(make_error(ErrorCode::billing_credits_exhausted), head);
  return served(exchange::Ending::refused);
}

exchange::Served stream(exchange::ReplyWriter& writer, bool has_length, bool ends) {
  const std::string piece(10'000, 'x');
  if (!writer.begin(provider_head(),
                    has_length ? std::optional<std::uint64_t>(30'000) : std::nullopt)) {
    return served(exchange::Ending::caller_gone);
  }
  if (!writer.write(piece) || !writer.write(piece)) return served(exchange::Ending::caller_gone);
  if (!ends) {
    writer.cut();
    return served(exchange::Ending::cut);
  }
  return served(writer.finish(piece) ? exchange::Ending::replied : exchange::Ending::caller_gone);
}

exchange::Served echo(const exchange::Invocation& invocation, exchange::ReplyWriter& writer) {
  nlohmann::json seen = {{"method", invocation.method},
                         {"path", invocation.path},
                         {"query", invocation.query},
                         {"content_type", invocation.content_type},
                         {"client_request_id", invocation.client_request_id},
                         {"idempotency_key", invocation.idempotency_key},
                         {"has_body", invocation.body != nullptr}};
  if (invocation.body != nullptr) {
    auto body = invocation.body->read(1024);
    if (!body.ok()) return refuse(writer, body.error().code, {});
    seen["body"] = *body;
  }
  writer.reply(provider_head(), seen.dump());
  return served(exchange::Ending::replied);
}

// The query sets the upstream's Cache-Control.
exchange::Served caching(const exchange::Invocation& invocation, exchange::ReplyWriter& writer) {
  const HeaderField fields[] = {{"Content-Type", "application/json"},
                                {"cache-control", invocation.query}};
  exchange::ReplyHead head = provider_head();
  head.headers = fields;
  writer.reply(head, "{}");
  return served(exchange::Ending::replied);
}

exchange::Served many_headers(exchange::ReplyWriter& writer) {
  std::vector<std::string> names;
  for (int at = 0; at < 90; ++at) names.push_back("X-Upstream-" + std::to_string(at));
  std::vector<HeaderField> fields = {{"Cache-Control", "max-age=60"}};
  for (const std::string& name : names) fields.push_back({name, "v"});
  exchange::ReplyHead head = provider_head();
  head.headers = fields;
  writer.reply(head, "{}");
  return served(exchange::Ending::replied);
}

}  // namespace

exchange::Served ScriptedBackend::serve(const exchange::Invocation& invocation,
                                        exchange::ReplyWriter& writer) {
  const std::string_view script = invocation.path.substr(std::string_view("/v1/gateway/").size());
  if (invocation.method == "HEAD") {
    return refuse(writer, ErrorCode::gateway_method_not_allowed, "GET");
  }
  if (script == "caching") return caching(invocation, writer);
  if (script == "reply") {
    writer.reply(provider_head(), R"({"answer":42})");
    return served(exchange::Ending::replied);
  }
  if (script == "empty") {
    writer.reply(provider_head(), {});
    return served(exchange::Ending::replied);
  }
  if (script == "long") return stream(writer, true, true);
  if (script == "chunked") return stream(writer, false, true);
  if (script == "cut") return stream(writer, true, false);
  if (script == "cut-chunked") return stream(writer, false, false);
  if (script == "gone") return served(exchange::Ending::caller_gone);
  if (script == "throw") throw std::runtime_error("a secret of the implementation");
  if (script == "challenge") return challenge(writer);
  if (script == "many-headers") return many_headers(writer);
  if (script.starts_with("refuse/")) {
    const base::ErrorInfo* info = base::find_error(script.substr(7));
    return refuse(writer, info == nullptr ? ErrorCode::gateway_route_not_found : info->code, {});
  }
  return echo(invocation, writer);
}

Result<std::shared_ptr<const identity::Principal>, base::Error> ScriptedAuthenticator::authenticate(
    std::string_view token, runtime::Deadline, identity::Accepts) {
  using identity::AccountStatus;
  const std::map<std::string_view, AccountStatus> known = {
      {"good", AccountStatus::active},
      {"other", AccountStatus::active},
      {"suspended", AccountStatus::suspended},
      {"closed", AccountStatus::closed},
      {"provisioning", AccountStatus::provisioning},
      {"failed", AccountStatus::provisioning_failed}};
  if (token == "down") return make_error(ErrorCode::auth_unavailable);
  if (token == "staging") return make_error(ErrorCode::auth_wrong_environment);
  const auto found = known.find(token);
  if (found == known.end()) return make_error(ErrorCode::auth_credential_invalid);
  const std::string key_id = "key_" + std::string(token);
  const std::string account_id = "acc_" + std::string(token);
  return identity::make_principal(
      {.account_status = found->second, .id = key_id, .account_id = account_id});
}

Result<ledger::Hold, base::Error> ScriptedLedger::hold(const ledger::Payer&, ledger::Credits,
                                                       runtime::Deadline) {
  return make_error(ErrorCode::billing_ledger_unavailable);
}

Result<ledger::CallState, base::Error> ScriptedCalls::call(std::string_view account_id,
                                                           std::string_view request_id,
                                                           runtime::Deadline) {
  if (is_unavailable) return make_error(ErrorCode::billing_ledger_unavailable);
  ledger::CallState state;
  if (account_id != "acc_good") return state;
  state.is_pending = request_id == pending;
  if (request_id != charged) return state;
  ledger::UsageRow usage;
  usage.message_id = request_id;
  usage.occurred_at_ms = 1'700'000'000'123;
  usage.route_id = "route-1";
  usage.method = "GET";
  usage.lane = "credits";
  usage.credit_cost = 2;
  usage.credits_charged = 2;
  usage.generation = "gen_1";
  usage.outcome_reason = "success";
  usage.upstream_status = 200;
  usage.restored = {"cor_1", ledger::CorrectionKind::refund, 1, 0};
  state.record = {65, 7, std::move(usage)};
  return state;
}

ledger::Settlement ScriptedLedger::settle(ledger::Hold, ledger::OwnedFact,
                                          std::unique_ptr<const ledger::ReplyToKeep>) {
  return ledger::SettlementUnknown{};
}

void ScriptedLedger::release(ledger::Hold, ledger::OwnedFact) noexcept {}

Result<ledger::Balance, base::Error> ScriptedLedger::balance(std::string_view, runtime::Deadline) {
  if (error >= 0) return make_error(static_cast<ErrorCode>(error.load()));
  ledger::Balance balance;
  balance.credits = credits;
  balance.generated_at_ms = 1'795'242'540'123;
  return balance;
}

Result<ledger::Page<ledger::UsageRow>, base::Error> ScriptedStatements::usage(
    const ledger::PageQuery& query, runtime::Deadline) {
  if (error >= 0) return make_error(static_cast<ErrorCode>(error.load()));
  page_query = query;
  return usage_page;
}

Result<ledger::Page<ledger::Allocation>, base::Error> ScriptedStatements::allocations(
    const ledger::PageQuery& query, runtime::Deadline) {
  if (error >= 0) return make_error(static_cast<ErrorCode>(error.load()));
  page_query = query;
  return allocation_page;
}

Result<std::vector<ledger::CapsOfKey>, base::Error> ScriptedStatements::key_caps(
    std::string_view, runtime::Deadline) {
  if (error >= 0) return make_error(static_cast<ErrorCode>(error.load()));
  return std::vector<ledger::CapsOfKey>();
}

Result<ledger::UsageSummary, base::Error> ScriptedStatements::summary(
    const ledger::SummaryQuery& query, runtime::Deadline) {
  if (error >= 0) return make_error(static_cast<ErrorCode>(error.load()));
  summary_query = query;
  return sums;
}

void RecordingAccessLog::write(const hosts::AccessRecord& record) noexcept {
  const std::lock_guard lock(mutex_);
  records_.push_back(
      {std::string(record.request_id), std::string(record.client_request_id),
       std::string(record.method), std::string(record.path), std::string(record.route),
       std::string(record.lane), record.endpoint == nullptr ? std::string() : record.endpoint->name,
       record.status, record.error, record.reply_bytes, record.is_whole,
       std::string(record.account_id), std::string(record.key_id), std::string(record.provider),
       std::string(record.operation), std::string(record.reason)});
  written_.notify_all();
}

LoggedRequest RecordingAccessLog::wait_for(const std::string& request_id) {
  std::unique_lock lock(mutex_);
  LoggedRequest found{};
  written_.wait_for(lock, std::chrono::seconds(20), [&] {
    for (const LoggedRequest& record : records_) {
      if (!request_id.empty() && record.request_id != request_id) continue;
      found = record;
      return true;
    }
    return false;
  });
  return found;
}

void HostFixture::start(hosts::api::ApiHostSettings settings) {
  TearDown();
  runtime::RuntimeOptions options;
  options.loops = 2;
  runtime_ = std::make_unique<runtime::Runtime>(options);
  host_ = std::make_unique<hosts::api::ApiHost>(
      hosts::api::ApiHostParts{backend_, plugin_, authenticator_, ledger_, statements_, calls_,
                               free_counts_, *runtime_, *host_clock_, random_, access_log_,
                               discovery_, &support::x402_lane(), nullptr, status_source_},
      std::move(settings));
  server_ = wire::make_server(*runtime_, {}, *log_);
  const auto started =
      server_->start({{.name = "api", .address = "127.0.0.1:0", .handler = host_.get()}});
  ASSERT_TRUE(started.ok()) << started.error();
  address_ = (*started)[0].address;
}

void HostFixture::TearDown() {
  if (server_) server_->drain(std::chrono::milliseconds(2'000));
  server_.reset();
  if (runtime_) {
    runtime_->stop(runtime::Deadline::after_ms(2'000), runtime::Deadline::never());
  }
  host_.reset();
  runtime_.reset();
}

std::string HostFixture::code_of(const HttpReply& reply) {
  EXPECT_TRUE(reply.is_whole);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_TRUE(base::is_uuid(reply.header("x-request-id"))) << reply.header("x-request-id");
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  if (!body.is_object() || !body.contains("error")) return "no envelope: " + reply.body;
  EXPECT_EQ(body["error"]["request_id"], reply.header("x-request-id"));
  return body["error"]["code"];
}

}  // namespace turnpike::tests
