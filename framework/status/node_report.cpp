#include "status/node_report.h"

#include <nlohmann/json.hpp>

#include "text/json_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;

// Enumerators are stored as numbers. New ones are appended at the end, so a node of another build
// reads a number correctly or rejects it as unknown.
template <class Enum>
std::optional<Enum> enum_at(const json& object, const char* name, Enum last) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(last)) return std::nullopt;
  return static_cast<Enum>(number);
}

json look_json(const SentinelLook& one) {
  json object{{"target", one.target},
              {"due", one.due_at_ms},
              {"started", one.started_at_ms},
              {"result", static_cast<unsigned>(one.look.result)},
              {"reason", static_cast<unsigned>(one.look.reason)},
              {"status", one.look.status}};
  if (one.look.latency_ms) object["latency"] = *one.look.latency_ms;
  return object;
}

SentinelLook look_at(const json& object) {
  SentinelLook one;
  one.target = object.at("target").get<std::string>();
  one.due_at_ms = object.at("due").get<std::int64_t>();
  one.started_at_ms = object.at("started").get<std::int64_t>();
  one.look.result = enum_at(object, "result", LookResult::skipped).value_or(LookResult::unknown);
  one.look.reason = enum_at(object, "reason", Reason::budget).value_or(Reason::none);
  one.look.status = object.at("status").get<std::uint32_t>();
  if (object.contains("latency")) one.look.latency_ms = object["latency"].get<std::uint32_t>();
  return one;
}

json sum_json(const TrafficSum& sum) {
  return {sum.counts.good, sum.counts.provider_fault, sum.counts.gateway_fault,
          sum.counts.charged_failures, sum.accounts};
}

TrafficSum sum_at(const json& list) {
  TrafficSum sum;
  sum.counts = {list.at(0).get<std::uint64_t>(), list.at(1).get<std::uint64_t>(),
                list.at(2).get<std::uint64_t>(), list.at(3).get<std::uint64_t>()};
  for (const auto account : list.at(4).get<std::vector<std::uint64_t>>()) sum.add_account(account);
  return sum;
}

}  // namespace

std::string write_node_content(const NodeContent& content) {
  json looks = json::array();
  for (const SentinelLook& one : content.looks) looks.push_back(look_json(one));
  json traffic = json::object();
  for (const auto& [operation, sum] : content.traffic) traffic[operation] = sum_json(sum);
  return json{{"looks", looks}, {"traffic", traffic}}.dump();
}

Result<NodeContent, std::string> read_node_content(std::string_view text) {
  const json object = text::parse_json(text);
  try {
    NodeContent content;
    for (const json& one : object.at("looks")) content.looks.push_back(look_at(one));
    for (const auto& [operation, list] : object.at("traffic").items()) {
      content.traffic.emplace(operation, sum_at(list));
    }
    return content;
  } catch (const json::exception& error) {
    return "the report of a node cannot be read: " + std::string(error.what());
  }
}

}  // namespace turnpike::status
