#include "hosts/dashboard/own_status.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "text/json_text.h"

namespace turnpike::hosts::dashboard {

namespace {

using nlohmann::json;

constexpr std::size_t documents_max = 20;  // read by one page

json document_of(const site::Facts& facts, std::string_view route_id) {
  const status::BoardDocument* const document =
      facts.board == nullptr ? nullptr : facts.board->operation(route_id);
  return document == nullptr ? json::object() : text::parse_json(document->at(facts.now_ms));
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_open(const json& incident) {
  return !text_in(incident, "opened_at").empty() && text_in(incident, "resolved_at").empty();
}

}  // namespace

std::optional<PublishedStatus> published_status(const site::Facts& facts, std::string_view route_id,
                                                std::string_view method) {
  const json document = document_of(facts, route_id);
  for (const json& operation : document.value("operations", json::array())) {
    if (text_in(operation, "method") != method) continue;
    PublishedStatus published{.level = text_in(operation, "status")};
    const json traffic = operation.value("traffic", json::object());
    if (!traffic.is_object()) return published;
    const auto good = traffic.find("good_percentage");
    if (good != traffic.end() && good->is_number()) published.good_percentage = good->get<double>();
    const auto window = traffic.find("window_seconds");
    if (window != traffic.end() && window->is_number()) {
      published.window_s = window->get<std::int64_t>();
    }
    return published;
  }
  return std::nullopt;
}

std::vector<OpenIncident> open_incidents(
    const site::Facts& facts, std::span<const ledger::UsageSummary::Operation> operations) {
  std::vector<const ledger::UsageSummary::Operation*> most;
  for (const auto& operation : operations) most.push_back(&operation);
  std::sort(most.begin(), most.end(), [](const auto* a, const auto* b) {
    return a->sums.requests > b->sums.requests;
  });
  most.resize(std::min(most.size(), documents_max));
  std::vector<OpenIncident> open;
  for (const auto* const operation : most) {
    const json document = document_of(facts, operation->route_id);
    for (const json& incident : document.value("incidents", json::array())) {
      const std::string id = text_in(incident, "incident_id");
      const bool is_known = std::any_of(open.begin(), open.end(),
                                        [&](const OpenIncident& one) { return one.id == id; });
      if (is_known || !is_open(incident)) continue;
      open.push_back({id, text_in(incident, "scope"), text_in(incident, "severity"),
                      text_in(incident, "started_at")});
    }
  }
  return open;
}

}  // namespace turnpike::hosts::dashboard
