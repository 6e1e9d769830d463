#include "status/record.h"

#include <array>

#include "status/rules.h"
#include "status/text_form.h"
#include "text/json_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> record_kinds = {"probe", "contract", "sentinel",
                                                          "traffic", "pricing"};
constexpr std::array<std::string_view, 4> look_results = {"pass", "fail", "unknown", "skipped"};
constexpr std::array<std::string_view, reason_count> reasons = {
    "none",         "timeout",   "unreachable", "protocol",           "status",
    "credential",   "rate_limited", "content_type", "response_too_large", "contract",
    "freshness",    "blocked",   "plugin_fault", "price_missing",     "inventory",
    "ledger",       "offer",     "stopping",    "budget"};

void append_counts(std::string& out, const Traffic::Counts& counts) {
  ObjectText(out)
      .integer("gateway_fault", static_cast<std::int64_t>(counts.gateway_fault))
      .integer("good", static_cast<std::int64_t>(counts.good))
      .integer("provider_fault", static_cast<std::int64_t>(counts.provider_fault))
      .end();
}

Record record_from(Fields& fields) {
  Record record;
  record.body_sha256 = fields.text_or_empty("body_sha256");
  record.difference = fields.text_or_empty("difference");
  record.due_at_ms = fields.time("due_at");
  record.expect_hash = fields.text_or_empty("expect_hash");
  record.generation = fields.text("generation");
  record.kind = static_cast<RecordKind>(fields.one_of("kind", record_kinds));
  if (fields.has("latency_ms")) {
    record.latency_ms = static_cast<std::uint32_t>(fields.integer("latency_ms", 0, 0xFFFF'FFFF));
  }
  record.node = fields.text("node");
  if (fields.has("reason")) {
    record.reason = static_cast<Reason>(fields.one_of("reason", reasons));
  }
  record.result = static_cast<LookResult>(fields.one_of("result", look_results));
  record.sequence = static_cast<std::uint64_t>(fields.integer("seq", 1));
  record.started_at_ms = fields.time("started_at");
  record.status = static_cast<std::uint32_t>(fields.integer_or_zero("status", 1, 999));
  record.sweep_id = fields.text_or_empty("sweep_id");
  record.target = fields.text("target");
  if (!fields.has("traffic")) return record;
  Fields traffic(fields.object("traffic"));
  record.traffic = read_traffic(traffic);
  if (!traffic.is_right()) fields.refuse();
  return record;
}

// Rejects well-formed values that a look of this gateway cannot have produced.
std::string fault_in(const Record& record) {
  if ((record.kind == RecordKind::traffic) != record.traffic.has_value()) {
    return "a record of kind traffic has traffic, and no other has";
  }
  if (record.traffic && !adds_up(*record.traffic)) {
    return "the parts of its traffic do not add up to 10,000";
  }
  if (record.result == LookResult::pass && record.reason != Reason::none) {
    return "it passed, and yet it names a reason";
  }
  return "";
}

}  // namespace

std::string_view name_of(RecordKind kind) noexcept {
  return record_kinds[static_cast<std::size_t>(kind)];
}

std::string_view name_of(LookResult result) noexcept {
  return look_results[static_cast<std::size_t>(result)];
}

std::string_view name_of(Reason reason) noexcept {
  return reasons[static_cast<std::size_t>(reason)];
}

void append_traffic(std::string& out, const Traffic& traffic) {
  ObjectText object(out);
  if (traffic.counts) append_counts(object.member("counts"), *traffic.counts);
  object.integer("gateway_fault", traffic.gateway_fault)
      .integer("good", traffic.good)
      .integer("provider_fault", traffic.provider_fault)
      .boolean("thin", traffic.is_thin)
      .end();
}

Traffic read_traffic(Fields& fields) {
  Traffic traffic;
  const auto part = [&](const char* name) {
    return static_cast<std::uint32_t>(fields.integer(name, 0, traffic_parts));
  };
  traffic.gateway_fault = part("gateway_fault");
  traffic.good = part("good");
  traffic.provider_fault = part("provider_fault");
  traffic.is_thin = fields.boolean("thin");
  if (!fields.has("counts")) return traffic;
  Fields counts(fields.object("counts"));
  const auto count = [&](const char* name) {
    return static_cast<std::uint64_t>(counts.integer(name));
  };
  traffic.counts = {.good = count("good"),
                    .provider_fault = count("provider_fault"),
                    .gateway_fault = count("gateway_fault")};
  if (!counts.is_right()) fields.refuse();
  return traffic;
}

std::string line_of(const Record& record) {
  std::string out;
  out.reserve(320);
  ObjectText object(out);
  object.text_unless_empty("body_sha256", record.body_sha256)
      .text_unless_empty("difference", record.difference)
      .time("due_at", record.due_at_ms)
      .text_unless_empty("expect_hash", record.expect_hash)
      .text("generation", record.generation)
      .text("kind", name_of(record.kind));
  if (record.latency_ms) object.integer("latency_ms", *record.latency_ms);
  object.text("node", record.node);
  if (record.reason != Reason::none) object.text("reason", name_of(record.reason));
  object.text("result", name_of(record.result))
      .integer("seq", static_cast<std::int64_t>(record.sequence))
      .time("started_at", record.started_at_ms)
      .integer_unless_zero("status", record.status)
      .text_unless_empty("sweep_id", record.sweep_id)
      .text("target", record.target);
  if (record.traffic) append_traffic(object.member("traffic"), *record.traffic);
  object.end();
  return out;
}

Result<Record, std::string> read_line(std::string_view line) {
  const json object = text::parse_json(line);
  if (!object.is_object()) return std::string("this is no record: it is no JSON object");
  Fields fields(object);
  Record record = record_from(fields);
  if (!fields.is_right()) {
    return std::string("this is no record: a member is missing or has another form");
  }
  const std::string fault = fault_in(record);
  if (!fault.empty()) return "the record makes no sense: " + fault;
  if (line_of(record) != line) {
    return std::string("the record is not written as canonical JSON of what it states");
  }
  return record;
}

}  // namespace turnpike::status
