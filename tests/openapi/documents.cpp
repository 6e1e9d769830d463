// Writes the public documents of the shipped registry into a folder, as the API host would serve
// them: openapi-<features>.json, page-..., detail-<id>-..., inventory-..., and those of the status
// as <schema>.<case>-... with everything in them that a status can have.
// usage: openapi_documents FOLDER
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "catalog/view.h"
#include "hosts/api/api_routes.h"
#include "hosts/status_table.h"
#include "registry/compile.h"
#include "status/board_parts.h"
#include "status/documents.h"
#include "support/paths.h"
#include "support/readiness.h"
#include "support/status_story.h"
#include "support/x402_lane.h"

namespace {

using namespace turnpike;

void write_file(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  if (!stream) throw std::runtime_error("cannot write " + path);
}

void write_documents(const std::shared_ptr<const registry::Program>& program,
                     const std::string& folder, const std::string& name,
                     catalog::Features features) {
  registry::Generation generation;
  generation.epoch_id = "ep_01";
  generation.id = "gen_" + program->payload_hash().substr(7, 16);
  generation.sequence = 1;
  generation.manifest_sequence = 1;
  generation.payload_hash = program->payload_hash();
  const catalog::View view({program, generation}, std::make_shared<support::EverythingReady>(),
                           {.base_url = "https://api.turnpike.test",
                            .cursor_key = std::string(32, 'k'),
                            .features = features,
                            .http_status = hosts::call_status,
                            .openapi_frame = hosts::api::api_openapi_frame()});
  const std::string end = "-" + name + ".json";
  write_file(folder + "/openapi" + end, view.render_openapi()->body);
  write_file(folder + "/inventory" + end, (*view.inventory(0))->body);
  catalog::PageRequest request;
  request.limit = 2;
  for (int number = 1;; ++number) {
    const std::string body = (*view.page(request, 0))->body;
    write_file(folder + "/page" + std::to_string(number) + end, body);
    const auto page = nlohmann::json::parse(body);
    if (page["next_cursor"].is_null()) break;
    request.cursor = page["next_cursor"];
  }
  for (const registry::Route& route : program->routes()) {
    write_file(folder + "/detail-" + route.id + end, (*view.detail(route.id, 0))->body);
  }
}

// ---- the status

class StatusDocuments {
 public:
  StatusDocuments(std::shared_ptr<const registry::Program> program, std::string folder,
                  std::string end)
      : story_(std::move(program)), folder_(std::move(folder)), end_(std::move(end)) {}

  void write() {
    write_board("before");
    for (int at = 0; at < 6; ++at) story_.close_round();
    write_board("well");
    for (int at = 0; at < 8; ++at) story_.close_round(trouble);
    add_words();
    write_board("ill");
    write_sweeps();
    nlohmann::ordered_json incidents = nlohmann::ordered_json::array();
    for (const auto& [id, shown] : story_.incidents) {
      incidents.push_back(status::incident_record_json(shown));
    }
    write_one("StatusIncidentPage", "ill",
              status::board_text({{"schema_version", "service.status.incidents.v1"},
                                  {"incidents", incidents},
                                  {"next_cursor", nullptr}}));
    write_one("StatusRules", "any", status::rules_json());
  }

 private:
  // Every second look fails, with counts of calls and without latencies.
  static bool trouble(status::Record& record) {
    const bool fails = record.sequence % 2 == 0 || record.kind != status::RecordKind::sentinel;
    if (record.traffic) {
      record.traffic =
          status::Traffic{false, 4'000, 5'999, 1, status::Traffic::Counts{400, 599, 1}};
      return true;
    }
    if (!fails) return true;
    record.result = status::LookResult::fail;
    record.reason = record.kind == status::RecordKind::contract ? status::Reason::contract
                                                                : status::Reason::timeout;
    if (record.kind == status::RecordKind::contract) record.difference = "/a was null, is number";
    record.latency_ms.reset();
    return true;
  }

  void add_words() {
    status::ShownIncident told;
    told.incident.id = "inc_told";
    told.incident.scope = "gateway";
    told.incident.state = status::IncidentState::resolved;
    told.incident.severity = status::Level::major_outage;
    told.incident.started_at_ms = told.incident.resolved_at_ms = story_.now_ms;
    told.source = status::IncidentSource::operators;
    told.notes = {{story_.now_ms, "op_1", "Not \xFF UTF-8."}};
    story_.incidents[told.incident.id] = told;
    story_.maintenance = {
        {"mnt_1", "gateway", "New disks.", story_.now_ms, story_.now_ms + 1, "op_1", 0}};
    story_.keys.push_back({"older", story_.keys.front().public_key, 1});
  }

  void write_board(const std::string& name) {
    const auto board = story_.board();
    write_both("Status", name, board->status());
    write_both("GatewayStatus", name, board->gateway());
    int number = 0;
    for (const registry::Route& route : story_.program->routes()) {
      write_both("OperationStatus", name + std::to_string(++number), *board->operation(route.id));
    }
    for (const registry::Provider& provider : story_.program->providers()) {
      write_both("ProviderStatus", name + "-" + provider.key, *board->provider(provider.key));
    }
    const std::string* const authority = board->authority(story_.now_ms);
    if (authority != nullptr) write_one("StatusAuthority", name, *authority);
  }

  void write_sweeps() {
    status::Sweep sweep;
    sweep.generation_id = "gen_1";
    sweep.payload_hash = story_.generation.payload_hash;
    for (const status::Target& target : story_.targets.targets) {
      if (!status::is_active(target.kind)) continue;
      status::SweepTarget& one = sweep.targets.emplace_back();
      one.target = target.name;
      one.monitoring = target.monitoring;
    }
    write_one("ReleaseSweep", "begun", status::sweep_json(sweep).dump());
    status::SweepTarget& first = sweep.targets.front();
    first.result = status::LookResult::fail;
    first.reason = status::Reason::freshness;
    first.observed_at_ms = sweep.completed_at_ms = story_.now_ms;
    first.round = 7;
    sweep.state = status::SweepState::failed;
    sweep.reason = "looks_failed";
    write_one("ReleaseSweep", "failed", status::sweep_json(sweep).dump());
  }

  void write_both(const std::string& schema, const std::string& name,
                  const status::BoardDocument& document) {
    write_one(schema, name, document.current);
    write_one(schema, name + "-stale", document.stale);
  }
  void write_one(const std::string& schema, const std::string& name, const std::string& text) {
    write_file(folder_ + "/" + schema + "." + name + end_, text);
  }

  support::StatusStory story_;
  const std::string folder_;
  const std::string end_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: openapi_documents FOLDER\n";
    return 2;
  }
  const auto sources = registry::read_sources(support::source_path("registry"));
  if (!sources.ok()) {
    for (const registry::Problem& problem : sources.error()) std::cerr << problem.text() << "\n";
    return 1;
  }
  const auto program = registry::compile(
      {.sources = *sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  if (!program.ok()) {
    for (const registry::Problem& problem : program.error()) std::cerr << problem.text() << "\n";
    return 1;
  }
  write_documents(*program, argv[1], "plain", {});
  write_documents(*program, argv[1], "all", {.free_lane = true, .per_call = true});
  StatusDocuments(*program, argv[1], "-all.json").write();
  return 0;
}
