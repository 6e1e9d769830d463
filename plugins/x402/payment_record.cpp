#include "x402/payment_record.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "x402/json_object.h"
#include "x402/protocol/digest.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 10> state_names = {
    "claimed", "working",  "settling",  "settled", "answered", "released", "settlement_unknown",
    "owed",    "refunded", "never_paid"};

constexpr std::array<std::string_view, 4> audit_names = {"none", "due", "doubted", "confirmed"};

// The text members, with their names.
constexpr std::pair<const char*, std::string PaymentRecord::*> texts[] = {
    {"request", &PaymentRecord::request_digest},
    {"payload", &PaymentRecord::payload_digest},
    {"operation", &PaymentRecord::operation},
    {"route_id", &PaymentRecord::route_id},
    {"offer_id", &PaymentRecord::offer_id},
    {"resource", &PaymentRecord::resource_url},
    {"request_id", &PaymentRecord::request_id},
    {"scheme", &PaymentRecord::scheme},
    {"network", &PaymentRecord::network},
    {"asset", &PaymentRecord::asset},
    {"amount", &PaymentRecord::amount},
    {"pay_to", &PaymentRecord::pay_to},
    {"payer", &PaymentRecord::payer},
    {"nonce", &PaymentRecord::nonce},
    {"node", &PaymentRecord::node},
    {"boot", &PaymentRecord::boot},
    {"facilitator", &PaymentRecord::facilitator},
    {"transaction", &PaymentRecord::transaction},
    {"reason", &PaymentRecord::reason},
    {"identifiers", &PaymentRecord::identifiers},
    {"purchase", &PaymentRecord::purchase},
};
constexpr std::pair<const char*, std::int64_t PaymentRecord::*> times[] = {
    {"valid_before_s", &PaymentRecord::valid_before_s},
    {"claimed_ms", &PaymentRecord::claimed_ms},
    {"lease_until_ms", &PaymentRecord::lease_until_ms},
    {"settling_ms", &PaymentRecord::settling_ms},
    {"settled_ms", &PaymentRecord::settled_ms},
    {"ended_ms", &PaymentRecord::ended_ms},
    {"attempted_ms", &PaymentRecord::attempted_ms},
    {"retry_ms", &PaymentRecord::retry_ms},
    {"watch_ms", &PaymentRecord::watch_ms},
};

constexpr std::pair<const char*, bool PaymentRecord::*> flags[] = {
    {"has_reply", &PaymentRecord::has_reply},
    {"bound", &PaymentRecord::is_bound},
};

Json parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json();
}

// Reads the member `name` if there is one. Returns false if its type is not that of `into`.
template <class Value>
bool read(const Json& json, const char* name, Value& into) {
  const auto member = json.find(name);
  if (member == json.end()) return true;
  if constexpr (std::is_same_v<Value, std::string>) {
    if (!member->is_string()) return false;
  } else if constexpr (std::is_same_v<Value, bool>) {
    if (!member->is_boolean()) return false;
  } else {
    if (!member->is_number_integer()) return false;
  }
  into = member->template get<Value>();
  return true;
}

// The time comes first, so that what is written at one time stands together, which costs the disk
// least.
std::string timed(std::string_view prefix, std::int64_t at_ms, std::string_view key_hex) {
  char time[24];
  std::snprintf(time, sizeof(time), "%014lld/", static_cast<long long>(at_ms));
  std::string key(prefix);
  return key.append(time).append(key_hex);
}

std::string joined(std::string_view prefix, std::string_view rest) {
  std::string key(prefix);
  return key += rest;
}

}  // namespace

std::string_view name_of(PaymentState state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

std::string_view name_of(Audit audit) noexcept {
  return audit_names[static_cast<std::size_t>(audit)];
}

bool may_be_worked_for(const PaymentRecord& record, std::int64_t now_ms) noexcept {
  const bool was_leased = record.lease_until_ms != 0;
  return record.purchase.empty() && record.is_bound && now_ms < record.valid_before_s * 1000 &&
         (record.unearned == UnearnedPayment::retry || !was_leased);
}

// Written by hand for speed, since this runs at every step of every payment.
std::string to_json(const PaymentRecord& record) {
  JsonObject json;
  json.text("state", name_of(record.state));
  json.text("flow", name_of(record.flow));
  json.text("on_failure", name_of(record.unearned));
  json.number("price_version", record.price_version);
  json.number("attempts", record.attempts);
  for (const auto& [name, member] : flags) json.raw(name, record.*member ? "true" : "false");
  if (record.audit != Audit::none) json.text("audit", name_of(record.audit));
  for (const auto& [name, member] : texts) {
    if (!(record.*member).empty()) json.text(name, record.*member);
  }
  for (const auto& [name, member] : times) {
    if (record.*member != 0) json.number(name, record.*member);
  }
  return std::move(json).end();
}

std::optional<PaymentRecord> record_of_json(std::string_view text) {
  const Json json = parse(text);
  PaymentRecord record;
  std::string state, flow, unearned;
  std::string audit(name_of(Audit::none));
  bool is_sound = read(json, "state", state) && read(json, "flow", flow) &&
                  read(json, "on_failure", unearned) &&
                  read(json, "price_version", record.price_version) &&
                  read(json, "attempts", record.attempts) && read(json, "audit", audit);
  for (const auto& [name, member] : flags) is_sound = is_sound && read(json, name, record.*member);
  for (const auto& [name, member] : texts) is_sound = is_sound && read(json, name, record.*member);
  for (const auto& [name, member] : times) is_sound = is_sound && read(json, name, record.*member);
  const auto known = std::find(state_names.begin(), state_names.end(), state);
  const auto audited = std::find(audit_names.begin(), audit_names.end(), audit);
  if (!is_sound || known == state_names.end() || audited == audit_names.end()) return std::nullopt;
  record.state = static_cast<PaymentState>(known - state_names.begin());
  record.audit = static_cast<Audit>(audited - audit_names.begin());
  using enum PaymentFlow;
  using enum UnearnedPayment;
  record.flow = flow == name_of(upfront) ? upfront : authorization;
  record.unearned = unearned == name_of(refund) ? refund : retry;
  if (flow != name_of(record.flow) || unearned != name_of(record.unearned)) return std::nullopt;
  return record;
}

// One line of JSON, then the body as it is.
std::string encode(const Replay& reply) {
  Json head = {{"status", reply.status}, {"headers", Json::array()}};
  for (const OwnedHeader& header : reply.headers) {
    head["headers"].push_back({header.name, header.value});
  }
  std::string stored = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  stored += '\n';
  return stored += reply.body;
}

std::optional<Replay> decode_reply(std::string_view stored) {
  const std::size_t line = stored.find('\n');
  if (line == stored.npos) return std::nullopt;
  const Json head = parse(stored.substr(0, line));
  Replay reply;
  const auto headers = head.find("headers");
  if (!read(head, "status", reply.status) || headers == head.end() || !headers->is_array()) {
    return std::nullopt;
  }
  for (const Json& header : *headers) {
    if (!header.is_array() || header.size() != 2) return std::nullopt;
    if (!header[0].is_string() || !header[1].is_string()) return std::nullopt;
    reply.headers.push_back({header[0].get<std::string>(), header[1].get<std::string>()});
  }
  reply.body = stored.substr(line + 1);
  return reply;
}

// Three lines; the JSON is compact and so has no line breaks.
std::string encode(const OpenSettlement& open) {
  std::string stored = open.requirements_json;
  stored.append("\n").append(open.fee_payer).append("\n");
  return stored += open.payload_json;
}

std::optional<OpenSettlement> decode_open_settlement(std::string_view stored) {
  const std::size_t first = stored.find('\n');
  const std::size_t second = first == stored.npos ? first : stored.find('\n', first + 1);
  if (second == stored.npos) return std::nullopt;
  OpenSettlement open;
  open.requirements_json = stored.substr(0, first);
  open.fee_payer = stored.substr(first + 1, second - first - 1);
  open.payload_json = stored.substr(second + 1);
  if (open.payload_json.empty()) return std::nullopt;
  return open;
}

namespace keys {

std::string payment(std::string_view key_hex) { return joined(payments, key_hex); }
std::string reply(std::int64_t claimed_ms, std::string_view key_hex) {
  return timed(replies, claimed_ms, key_hex);
}
std::string open_settlement(std::int64_t claimed_ms, std::string_view key_hex) {
  return timed(open, claimed_ms, key_hex);
}

std::string watch(std::int64_t due_ms, std::string_view key_hex) {
  return timed(watched, due_ms, key_hex);
}

std::string owed(std::string_view key_hex) { return joined(owed_refunds, key_hex); }

std::string audit(std::int64_t due_ms, std::string_view key_hex) {
  return timed(audits, due_ms, key_hex);
}

std::string identifier(std::string_view scope, std::string_view id) {
  return joined("i/", digits_of(sha256({scope, "\n", id})));
}

std::string news(std::int64_t at_ms, std::string_view purchase_id) {
  return timed(purchase_news, at_ms, purchase_id);
}

std::string entry(std::int64_t at_ms, std::string_view key_hex, std::string_view what) {
  return timed(entries, at_ms, key_hex).append("/").append(what);
}

}  // namespace keys

std::string digits_of(const Word& word) { return hex_encode(bytes_of(word)).substr(2); }

}  // namespace turnpike::x402
