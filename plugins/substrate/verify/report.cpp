#include "substrate/verify/report.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "substrate/verify/json.h"

namespace turnpike::substrate {
namespace {

constexpr std::string_view schema_version = "service.substrate.runtime_upgrade.verify.v1";

std::string_view name_of_status(CheckStatus status) noexcept {
  constexpr std::string_view names[] = {"pass", "fail", "warn", "unknown", "skip"};
  return names[static_cast<std::size_t>(status)];
}

std::string_view name_of_weight(Weight weight) noexcept {
  constexpr std::string_view names[] = {"critical", "important", "info"};
  return names[static_cast<std::size_t>(weight)];
}

std::string_view name_of_source(Source source) noexcept {
  constexpr std::string_view names[] = {"input", "blob", "call", "rpc"};
  return names[static_cast<std::size_t>(source)];
}

std::string_view name_of_assurance(int level) noexcept {
  constexpr std::string_view names[] = {"declared",     "rpc_version", "rpc_hash",
                                        "bytes_hashed", "state_proof", "multi_source"};
  return names[static_cast<std::size_t>(std::clamp(level, 0, 5))];
}

template <class T>
void put(OrderedJson& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

void put_hash(OrderedJson& object, const char* name, const std::optional<Hash>& hash) {
  if (hash) object[name] = hex_of(*hash);
}

OrderedJson block_json(const std::optional<BlockFacts>& block) {
  if (!block) return nullptr;
  OrderedJson json = OrderedJson::object();
  put(json, "block_number", block->number);
  put_hash(json, "block_hash", block->hash);
  put_hash(json, "state_root", block->state_root);
  return json;
}

OrderedJson runtime_json(const std::optional<RuntimeFacts>& runtime) {
  if (!runtime) return nullptr;
  const RuntimeVersion& version = runtime->version;
  OrderedJson json = {{"spec_name", version.spec_name},
                      {"impl_name", version.impl_name},
                      {"authoring_version", version.authoring_version},
                      {"spec_version", version.spec_version},
                      {"impl_version", version.impl_version}};
  put(json, "transaction_version", version.transaction_version);
  put(json, "state_version", version.state_version);
  json["source"] = runtime->source == Source::rpc ? "rpc" : "blob";
  return json;
}

OrderedJson code_json(const Report& report) {
  if (!report.code) return nullptr;
  const CodeFacts& code = *report.code;
  OrderedJson json = {{"code_hash", hex_of(code.code_hash)},
                      {"size", code.size},
                      {"format", name_of(code.format)},
                      {"compressed", code.is_compressed},
                      {"prefix", code.prefix}};
  put(json, "uncompressed_size", code.uncompressed_size);
  put_hash(json, "uncompressed_code_hash", code.uncompressed_hash);
  json["sha256"] = hex_of(code.sha256);
  put_hash(json, "set_code_call_hash", report.set_code_call);
  put_hash(json, "authorize_upgrade_call_hash", report.authorize_upgrade_call);
  return json;
}

OrderedJson authorization_json(const std::optional<Authorization>& authorization) {
  if (!authorization) return nullptr;
  OrderedJson json = {{"present", authorization->is_present}};
  put_hash(json, "code_hash", authorization->code_hash);
  put(json, "check_version", authorization->check_version);
  json["source"] = "rpc";
  return json;
}

OrderedJson proposal_json(const std::optional<ProposalFacts>& proposal) {
  if (!proposal) return nullptr;
  OrderedJson json = {{"kind", name_of(proposal->kind)},
                      {"call_hash", hex_of(proposal->call_hash)}};
  put(json, "call_length", proposal->length);
  put_hash(json, "code_hash", proposal->code_hash);
  put(json, "check_version", proposal->check_version);
  json["wrapped"] = proposal->is_wrapped;
  json["matches"] = OrderedJson::array();
  for (const PatternMatch& match : proposal->matches) {
    json["matches"].push_back({{"pattern", match.pattern}, {"offset", match.offset}});
  }
  return json;
}

OrderedJson checks_json(const Report& report) {
  OrderedJson list = OrderedJson::array();
  for (const Check& check : report.checks) {
    OrderedJson json = {{"id", check.id},
                        {"status", name_of_status(check.status)},
                        {"severity", name_of_weight(check.severity)}};
    if (!check.expected.empty()) json["expected"] = check.expected;
    if (!check.actual.empty()) json["actual"] = check.actual;
    json["source"] = name_of_source(check.source);
    json["detail"] = check.detail;
    list.push_back(std::move(json));
  }
  return list;
}

OrderedJson evidence_json(const Report& report) {
  OrderedJson list = OrderedJson::array();
  for (const Evidence& evidence : report.evidence) {
    OrderedJson json = {{"method", evidence.method},
                        {"params_digest", hex_of(evidence.params_digest)}};
    put_hash(json, "block_hash", evidence.block_hash);
    json["result_digest"] = hex_of(evidence.result_digest);
    json["endpoint_key"] = evidence.endpoint_key;
    json["at"] = time_text(evidence.at_ms);
    list.push_back(std::move(json));
  }
  return list;
}

bool any_check(const Report& report, CheckStatus status, Weight weight) noexcept {
  return std::any_of(report.checks.begin(), report.checks.end(), [&](const Check& check) {
    return check.status == status && check.severity == weight;
  });
}

// The check of the chain's own rule. Its failure means `rejected` instead of `mismatch`.
constexpr std::string_view increases = "version.increases";

std::string what_of(const Report& report) {
  if (report.runtime) {
    return report.runtime->version.spec_name + " " +
           std::to_string(report.runtime->version.spec_version);
  }
  return report.code ? "code " + hex_of(report.code->code_hash) : "the upgrade";
}

std::string first_detail(const Report& report, CheckStatus status) {
  for (const Weight weight : {Weight::critical, Weight::important}) {
    for (const Check& check : report.checks) {
      if (check.status == status && check.severity == weight) {
        return check.id + ": " + check.detail;
      }
    }
  }
  return {};
}

std::string why_inconclusive(const Report& report) {
  std::string detail = first_detail(report, CheckStatus::fail);
  if (detail.empty()) detail = first_detail(report, CheckStatus::unknown);
  if (detail.empty() && report.assurance < report.min_assurance) {
    detail = "the assurance reached is " + std::to_string(report.assurance) + " of the " +
             std::to_string(report.min_assurance) + " asked for";
  }
  return detail;
}

std::string summary_of(const Report& report, Verdict verdict) {
  const std::string what = what_of(report);
  switch (verdict) {
    case Verdict::mismatch:
      return "Mismatch for " + what + ". " + first_detail(report, CheckStatus::fail) + ".";
    case Verdict::rejected: {
      const Check* const check = report.find(increases);
      const std::string why = check == nullptr ? "" : " " + check->detail + ".";
      return "The chain refuses, or would refuse, " + what + "." + why;
    }
    case Verdict::pending:
      return "Pending: " + what + " is authorised or stored, and the chain does not run it yet.";
    case Verdict::content_equal:
      return "The blob of " + what +
             " has another code hash, but the same code once it is decompressed.";
    case Verdict::inconclusive:
      return "Inconclusive for " + what + ". " + why_inconclusive(report) + ".";
    case Verdict::verified:
      break;
  }
  return "Verified: " + what + " passed every check that was asked for.";
}

}  // namespace

std::string shown(const Hash& hash) { return hex_of(hash); }

std::string_view name_of(Verdict verdict) noexcept {
  constexpr std::string_view names[] = {"mismatch",      "rejected",     "pending",
                                        "content_equal", "inconclusive", "verified"};
  return names[static_cast<std::size_t>(verdict)];
}

const Check* Report::find(std::string_view id) const noexcept {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [&](const Check& check) { return check.id == id; });
  return found == checks.end() ? nullptr : &*found;
}

Verdict verdict_of(const Report& report) noexcept {
  bool is_refused = report.is_refused_by_chain;
  for (const Check& check : report.checks) {
    if (check.status != CheckStatus::fail || check.severity != Weight::critical) continue;
    if (check.id != increases) return Verdict::mismatch;
    is_refused = true;
  }
  if (is_refused) return Verdict::rejected;
  if (report.is_pending) return Verdict::pending;
  if (report.is_content_equal) return Verdict::content_equal;
  const bool is_open = any_check(report, CheckStatus::fail, Weight::important) ||
                       any_check(report, CheckStatus::unknown, Weight::critical) ||
                       any_check(report, CheckStatus::unknown, Weight::important);
  if (is_open || report.assurance < report.min_assurance) return Verdict::inconclusive;
  return Verdict::verified;
}

std::string time_text(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(ms % 1000));
  return text;
}

std::string render(const Report& report) {
  const Verdict verdict = verdict_of(report);
  OrderedJson json = {{"schema_version", schema_version},
                      {"verdict", name_of(verdict)},
                      {"summary", summary_of(report, verdict)},
                      {"mode", name_of(report.mode)}};
  json["chain"] = nullptr;
  if (report.chain) {
    json["chain"] = {{"key", report.chain->key},
                     {"genesis_hash", hex_of(report.chain->genesis_hash)}};
    if (!report.chain->name.empty()) json["chain"]["name"] = report.chain->name;
  }
  json["assurance"] = {{"level", report.assurance}, {"name", name_of_assurance(report.assurance)}};
  json["assurance"]["finalized"] = nullptr;
  if (report.is_final) json["assurance"]["finalized"] = *report.is_final;
  json["generated_at"] = time_text(report.generated_at_ms);
  json["at"] = block_json(report.at);
  json["from"] = block_json(report.from);
  if (report.applied_at) json["applied_at"] = *report.applied_at;
  json["runtime"] = runtime_json(report.runtime);
  json["previous_runtime"] = runtime_json(report.previous_runtime);
  json["code"] = code_json(report);
  json["authorization"] = authorization_json(report.authorization);
  json["proposal"] = proposal_json(report.proposal);
  json["checks"] = checks_json(report);
  json["warnings"] = OrderedJson::array();
  for (const Warning& warning : report.warnings) {
    json["warnings"].push_back({{"code", warning.code}, {"text", warning.text}});
  }
  json["evidence"] = evidence_json(report);
  json["next_steps"] = report.next_steps;
  return dump(json);
}

std::string text_of_reply(std::string_view reply) {
  const auto json = read_bounded_json(reply, {16, 20'000});
  if (!json || !json->is_object()) return {};
  const std::string* const summary = text_member(*json, "summary");
  const Json* const checks = member_of(*json, "checks");
  if (summary == nullptr || checks == nullptr || !checks->is_array()) return {};
  std::string text = *summary;
  for (const Json& check : *checks) {
    const std::string* const id = text_member(check, "id");
    const std::string* const status = text_member(check, "status");
    const std::string* const detail = text_member(check, "detail");
    if (id == nullptr || status == nullptr || detail == nullptr) continue;
    if (*status == "fail" || *status == "warn") text += "\n" + *status + " " + *id + ": " + *detail;
  }
  return text;
}

}  // namespace turnpike::substrate
