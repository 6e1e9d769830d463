// Writes the public documents of the shipped registry into a folder, as the API host would serve
// them: openapi-<features>.json, page-..., detail-<id>-..., inventory-....
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
#include "support/paths.h"
#include "support/x402_lane.h"

namespace {

using namespace turnpike;

class EverythingReady final : public catalog::ReadinessSource {
 public:
  State state(std::uint32_t) const noexcept override { return {}; }
};

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
  const catalog::View view({program, generation}, std::make_shared<EverythingReady>(),
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
  return 0;
}
