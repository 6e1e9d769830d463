#include "govdata/import/sample.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t same_move_ms = ms_per_day;
constexpr std::int64_t stale_after_s = 7 * 24 * 3600;

Json read_manifest(const std::string& directory) {
  std::ifstream stream(directory + "/manifest.json");
  if (!stream) throw ImportError("no manifest.json in " + directory);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  // The library would take a NUL byte as the end of the text.
  Json manifest = text.find('\0') == text.npos ? Json::parse(text, nullptr, false) : Json();
  if (!manifest.is_object() || !manifest["anchor"].is_string() || !manifest["imports"].is_array()) {
    throw ImportError("manifest.json has no anchor or no list of imports");
  }
  return manifest;
}

// The shift of the sample's times. Uses the last shift again if it differs by less than a day.
std::int64_t choose_move(Database& database, std::int64_t anchor_ms, std::int64_t now_ms) {
  const std::int64_t wanted = now_ms - anchor_ms;
  Transaction transaction(database, Transaction::Kind::write);
  const std::int64_t last =
      database.number("SELECT CAST(value AS INTEGER) FROM meta WHERE key='sample_move_ms'", wanted);
  const std::int64_t chosen = std::llabs(wanted - last) < same_move_ms ? last : wanted;
  const std::string text = std::to_string(chosen);
  database.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES ('sample_move_ms', ?1)")
      .with(text)
      .run();
  transaction.commit();
  return chosen;
}

std::string text_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ImportOptions options_of(const Json& entry, const std::string& directory) {
  ImportOptions options;
  const auto format = format_of(text_of(entry, "format"));
  if (!format) throw ImportError("manifest.json names an unknown format");
  options.format = *format;
  options.dao.dao_id = text_of(entry, "dao");
  for (const auto& [name, field] : {std::pair{"name", &options.dao.name},
                                    {"about", &options.dao.about},
                                    {"website", &options.dao.website}}) {
    if (std::string value = text_of(entry, name); !value.empty()) *field = std::move(value);
  }
  for (const Json& alias : entry.value("aliases", Json::array())) {
    if (alias.is_string()) options.dao.aliases.push_back(alias.get<std::string>());
  }
  options.scope = text_of(entry, "scope");
  options.base_url = text_of(entry, "base_url");
  options.event = text_of(entry, "event");
  options.chain_id = entry.value("chain_id", std::int64_t{1});
  if (const std::string blocks = text_of(entry, "blocks"); !blocks.empty()) {
    options.blocks_path = directory + "/" + blocks;
  }
  options.input_name = text_of(entry, "file");
  options.stale_after_s = stale_after_s;
  return options;
}

}  // namespace

std::vector<SampleResult> load_sample(Database& database, const std::string& directory,
                                      std::int64_t now_ms, const OnRejected& on_rejected) {
  const Json manifest = read_manifest(directory);
  const auto anchor_ms = parse_iso_time(manifest["anchor"].get<std::string>());
  if (!anchor_ms) throw ImportError("the anchor of manifest.json is no ISO 8601 time");
  const std::int64_t move_ms = choose_move(database, *anchor_ms, now_ms);
  std::vector<SampleResult> results;
  for (const Json& entry : manifest["imports"]) {
    ImportOptions options = options_of(entry, directory);
    options.now_ms = now_ms;
    options.as_of_ms = *anchor_ms + move_ms;
    options.time_shift_ms = move_ms;
    Input input(open_file(directory + "/" + options.input_name));
    const OnRejected named = [&](const std::string& position, const std::string& reason) {
      if (on_rejected) on_rejected(options.input_name + ": " + position, reason);
    };
    results.push_back({options.input_name, run_import(database, input, options, named)});
  }
  return results;
}

}  // namespace turnpike::govdata
