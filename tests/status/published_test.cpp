// A published document compared with the evidence: a correct one, and one with each figure changed
// in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "status/published.h"
#include "status/stream.h"
#include "status/verify.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t day_ms = 86'400'000;

json percent(std::uint64_t part, std::uint64_t whole) {
  const auto hundredths = percent_hundredths(part, whole);
  return hundredths ? json(*hundredths / 100.0) : json();
}

json sums_of(std::uint64_t passed, std::uint64_t failed, std::uint64_t unknown) {
  return {{"active_expected_targets", passed + failed + unknown},
          {"active_passed_targets", passed},
          {"active_failed_targets", failed},
          {"active_unknown_targets", unknown},
          {"active_check_percentage", percent(passed, passed + failed)},
          {"active_coverage_percentage", percent(passed + failed, passed + failed + unknown)}};
}

json history_of(const Stream& stream) {
  json segments = json::array();
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  for (const auto& [key, day] : stream.segments) {
    if (day.scope != "gateway" || day.length_ms != day_ms) continue;
    json shown = sums_of(day.passed, day.failed, day.unknown);
    shown["started_at"] = text::rfc3339(day.started_at_ms);
    shown["status"] = name_of(day.status);
    shown["traffic_good_percentage"] = percent(day.good, day.traffic_rounds * traffic_parts);
    shown["rounds"] = {day.first_round, day.last_round};
    segments.push_back(shown);
    passed += day.passed;
    failed += day.failed;
    unknown += day.unknown;
  }
  json history = sums_of(passed, failed, unknown);
  history["segments"] = segments;
  return history;
}

json provider_of(const Stream& stream, const std::string& key) {
  const ScopeFigures& figures = *stream.book.scope("provider:" + key);
  json counts = {{"operational", 0}, {"degraded", 0}, {"major_outage", 0}, {"unknown", 0}};
  for (const Target& target : stream.set.targets) {
    if (target.kind != TargetKind::contract || target.provider != key) continue;
    const std::string level(name_of(stream.book.scope(target.name)->level));
    counts[level] = counts[level].get<int>() + 1;
  }
  json traffic = {{"good_percentage", nullptr},
                  {"provider_fault_percentage", nullptr},
                  {"gateway_fault_percentage", nullptr},
                  {"requests", nullptr}};
  const TargetFigures* const calls = stream.book.target("traffic:provider:" + key);
  if (calls != nullptr && calls->traffic && !calls->traffic->is_thin) {
    traffic["good_percentage"] = calls->traffic->good / 100.0;
    traffic["provider_fault_percentage"] = calls->traffic->provider_fault / 100.0;
    traffic["gateway_fault_percentage"] = calls->traffic->gateway_fault / 100.0;
  }
  return {{"provider_key", key},
          {"status", name_of(figures.level)},
          {"reachability_status", name_of(*figures.reachability)},
          {"operation_family_status", name_of(*figures.contract)},
          {"operations", counts},
          {"traffic", traffic}};
}

json document_of(const Stream& stream) {
  const RoundHead& head = stream.stored.back().round.head;
  json incidents = json::array();
  for (const Incident& incident : stream.book.incidents()) {
    incidents.push_back({{"incident_id", incident.id},
                         {"scope", incident.scope},
                         {"source", "automatic"},
                         {"state", name_of(incident.state)},
                         {"severity", name_of(incident.severity)},
                         {"started_at", text::rfc3339(incident.started_at_ms)}});
  }
  json sentinels = json::array();
  for (const char* const check : {"healthz", "mcp_ping"}) {
    const auto& looks = stream.book.target("gateway:" + std::string(check))->by_node;
    for (const auto& [node, look] : looks) {
      sentinels.push_back({{"sentinel", check}, {"node", node}, {"result", name_of(look.result)}});
    }
  }
  return {{"schema_version", "service.status.gateway.v1"},
          {"status", name_of(stream.level("gateway"))},
          {"evidence_status", "current"},
          {"operation_pricing_status", name_of(stream.level("pricing"))},
          {"providers", {provider_of(stream, "alpha"), provider_of(stream, "beta")}},
          {"sentinel_observations", sentinels},
          {"incidents", incidents},
          {"health_history", history_of(stream)},
          {"evidence",
           {{"stream", head.stream}, {"round", head.round}, {"head", head.head}}}};
}

class StatusPublished : public testing::Test {
 protected:
  StatusPublished() {
    stream_.signs = true;
    stream_.traffic["traffic:provider:alpha"] = traffic_of(3);
    stream_.traffic["traffic:gateway"] = traffic_of(3);
    stream_.now_ms += 23 * 3'600'000;
    stream_.rounds(90);  // past midnight
    stream_.failing = {"upstream:b", "operation:b1:POST"};
    stream_.rounds(3);
  }
  // What the verifier of all evidence reports about this document.
  [[nodiscard]] std::string fault(const json& document) const {
    Verifier verifier({crypto::ed25519_public_key(stream_.seed)});
    EXPECT_TRUE(verifier.expect(document.dump()));
    const std::string text = stream_.evidence();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (!verifier.take(std::string_view(text).substr(at, end - at))) return verifier.problem();
      at = end + 1;
    }
    EXPECT_TRUE(verifier.end());
    EXPECT_TRUE(verifier.was_compared());
    return "";
  }
  Stream stream_{dozen()};
};

TEST_F(StatusPublished, WhatIsRightIsRight) {
  const json document = document_of(stream_);
  EXPECT_EQ(document["status"], "degraded");
  EXPECT_EQ(document["providers"][1]["status"], "major_outage");
  EXPECT_EQ(document["incidents"].size(), 1u);
  EXPECT_EQ(document["health_history"]["segments"].size(), 2u);
  EXPECT_EQ(fault(document), "");
}

TEST_F(StatusPublished, EachFigureThatIsPaintedIsNamed) {
  struct Paint {
    const char* pointer;
    json value;
    const char* named;
  };
  const Paint paints[] = {
      {"/status", "operational",
       "status was published as \"operational\"; after round 93 the evidence says \"degraded\""},
      {"/operation_pricing_status", "unknown", "operation_pricing_status was published as"},
      {"/providers/1/status", "operational", "providers[beta].status was published as"},
      {"/providers/1/reachability_status", "degraded", "providers[beta].reachability_status"},
      {"/providers/1/operation_family_status", nullptr,
       "providers[beta].operation_family_status was published as null"},
      {"/providers/1/operations/major_outage", 0, "providers[beta].operations.major_outage"},
      {"/providers/0/traffic/good_percentage", 100.0, "providers[alpha].traffic.good_percentage"},
      {"/providers/0/traffic/requests", 7, "providers[alpha].traffic.requests"},
      {"/sentinel_observations/0/result", "fail", "sentinel_observations[healthz on n_1].result"},
      {"/incidents/0/state", "recovering", ".state was published as \"recovering\""},
      {"/incidents/0/severity", "degraded", ".severity was published as \"degraded\""},
      {"/incidents", json::array(), "is open and was not published"},
      {"/evidence/head", "sha256:00", "evidence.head was published as"},
      {"/health_history/segments/0/active_passed_targets", 1, "do not add up"},
      {"/health_history/segments/0/status", "degraded", ".status was published as"},
      {"/health_history/segments/1/rounds/0", 1, ".rounds was published as"},
      {"/health_history/segments/0/active_check_percentage", 99.999, ".active_check_percentage"},
      {"/health_history/active_coverage_percentage", 99.0, "health_history.active_coverage"},
      {"/health_history/segments/0/traffic_good_percentage", 100, ".traffic_good_percentage"}};
  for (const Paint& paint : paints) {
    json document = document_of(stream_);
    document[json::json_pointer(paint.pointer)] = paint.value;
    EXPECT_THAT(fault(document), HasSubstr(paint.named)) << paint.pointer;
  }
}

TEST_F(StatusPublished, LeavingSomethingOutIsNamed) {
  json document = document_of(stream_);
  document["providers"].erase(1);
  EXPECT_EQ(fault(document), "the provider beta was not published");
  document = document_of(stream_);
  document["sentinel_observations"].erase(1);
  EXPECT_THAT(fault(document), HasSubstr("was not published"));
  document = document_of(stream_);
  json& segments = document["health_history"]["segments"];
  segments.erase(1);
  EXPECT_EQ(fault(document), "the sums of health_history are not those of its segments");
  json history = sums_of(segments[0]["active_passed_targets"], segments[0]["active_failed_targets"],
                         segments[0]["active_unknown_targets"]);
  history["segments"] = segments;
  document["health_history"] = history;
  EXPECT_THAT(fault(document), HasSubstr("is not in health_history"));
}

TEST_F(StatusPublished, AnIncidentThatDoesNotExistIsNamed) {
  json document = document_of(stream_);
  json made_up = document["incidents"][0];
  made_up["incident_id"] = "inc_0000000000000000";
  document["incidents"].push_back(made_up);
  EXPECT_THAT(fault(document), HasSubstr("the evidence has no such incident"));
  document["incidents"][1]["source"] = "operator";  // operators may say anything
  EXPECT_EQ(fault(document), "");
}

TEST_F(StatusPublished, ADocumentThatIsStaleClaimsNothing) {
  json document = document_of(stream_);
  document["status"] = "unknown";
  document["evidence_status"] = "stale";
  EXPECT_THAT(fault(document), HasSubstr("status was published as \"unknown\""));
  for (json& provider : document["providers"]) {
    for (const char* const name : {"status", "reachability_status", "operation_family_status"}) {
      provider[name] = "unknown";
    }
  }
  EXPECT_EQ(fault(document), "");
}

TEST_F(StatusPublished, OtherDocumentsAreNotTaken) {
  Verifier verifier({});
  for (const char* const text : {"", "[]", "{}", "{\"schema_version\":\"service.status.v1\"}"}) {
    EXPECT_FALSE(verifier.expect(text)) << text;
  }
}

}  // namespace
}  // namespace turnpike::status
