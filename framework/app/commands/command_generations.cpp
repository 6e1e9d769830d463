// registry diff, bump, history and rollback: commands on the registry's files, the program in
// service, and earlier installations.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "app/commands/command_database.h"
#include "app/config/paths.h"
#include "app/control.h"
#include "app/kept_programs.h"
#include "app/plugins/binding_check.h"
#include "registry/bump.h"
#include "registry/diff.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::app {
namespace {

using nlohmann::json;
using registry::InstalledBefore;

int fail_with(const CommonOptions& options, const std::vector<registry::Problem>& problems) {
  print_problems(problems, options.json);
  return exit_failed;
}

int diff_directories(const CommonOptions& options, const std::string& old_directory,
                     const std::string& new_directory) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const CheckedPlugins plugins(*config);
  const auto before = compile_directory(old_directory, plugins.lane_with_terms());
  const auto after = compile_directory(new_directory, plugins.lane_with_terms());
  for (const auto* compiled : {&before, &after}) {
    if (!compiled->ok()) return fail_with(options, plugins.explain(compiled->error()));
  }
  const auto changes = registry::difference(**before, **after);
  if (options.json) {
    std::cout << registry::json_of(changes) << '\n';
  } else {
    const std::string text = registry::text_of(changes);
    std::cout << (text.empty() ? "no difference\n" : text);
  }
  return exit_done;
}

// Returns the generation that the gateway of this data directory serves; empty: no gateway runs.
std::string generation_in_service(const Config& config) {
  try {
    const std::string answer = ask_control(control_socket(config), R"({"command":"generation"})");
    return text::parse_json(answer).value("generation", "");
  } catch (const std::system_error&) {
    return {};
  }
}

int diff_with_service(const CommonOptions& options, Tools& tools) {
  registry::ManifestStore& manifest = tools.node.manifest();
  const std::string& directory = tools.config.registry_path;
  const std::string serving = generation_in_service(tools.config);
  const auto found = serving.empty()
                         ? Result<std::optional<InstalledBefore>, base::Error>(std::nullopt)
                         : manifest.find(serving);
  if (!found.ok()) return print_failure(options, found.error().message);
  const CheckedPlugins plugins(tools.config);
  const LoadedPlugins loaded{{}, plugins.lane_with_terms()};
  const auto before = *found ? compile_kept(manifest, **found, directory, loaded)
                             : compile_last_installed(manifest, directory, loaded);
  if (!before.ok()) return fail_with(options, plugins.explain(before.error()));
  const auto after = compile_directory(directory, loaded.lane);
  if (!after.ok()) return fail_with(options, plugins.explain(after.error()));
  const auto changes = registry::difference(*before->program, **after);
  const std::string& id = before->installed.generation.id;
  if (options.json) {
    std::cout << json_text({{"generation", id},
                            {"inService", found->has_value()},
                            {"files", directory},
                            {"changes", registry::json_of(changes)}})
              << '\n';
    return exit_done;
  }
  std::cout << "from " << id << (*found ? ", which serves," : ", which was installed last,")
            << " to the files in " << directory << '\n'
            << (changes.empty() ? "no difference\n" : registry::text_of(changes));
  return exit_done;
}

// Replaces the file atomically and keeps its permissions.
void replace_file(const std::string& name, const std::string& text) {
  namespace fs = std::filesystem;
  const fs::path target = fs::canonical(name);
  // A hidden name, since hidden files do not belong to a registry.
  const fs::path made = target.parent_path() / ("." + target.filename().string() + ".bump");
  std::ofstream file(made, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    throw std::system_error(errno, std::generic_category(), made.string());
  }
  fs::permissions(made, fs::status(target).permissions());
  fs::rename(made, target);
}

json to_json(const registry::Raised& raised) {
  return {{"file", raised.file},
          {"line", raised.line},
          {"path", raised.path},
          {"counter", raised.counter},
          {"to", raised.to}};
}

json to_json(const InstalledBefore& entry) {
  return {{"manifestSequence", entry.generation.manifest_sequence},
          {"installedAt", text::rfc3339(entry.generation.installed_at_ms)},
          {"generation", entry.generation.id},
          {"sequence", entry.generation.sequence},
          {"payloadHash", entry.generation.payload_hash},
          {"rolledBackFrom", entry.rolled_back_from.empty()
                                 ? json(nullptr)
                                 : json(registry::generation_id(entry.rolled_back_from))},
          {"filesKept", entry.has_files}};
}

std::string line_of(const InstalledBefore& entry) {
  std::string line = std::to_string(entry.generation.manifest_sequence) + "  " +
                     text::rfc3339(entry.generation.installed_at_ms) + "  " + entry.generation.id +
                     "  sequence " + std::to_string(entry.generation.sequence);
  if (!entry.rolled_back_from.empty()) {
    line += "  rolled back from " + registry::generation_id(entry.rolled_back_from);
  }
  return entry.has_files ? line : line + "  files no longer kept";
}

// Records a rollback without a running gateway: the next start reads it from the manifest.
int record_rollback(const CommonOptions& options, Tools& tools, const std::string& generation_id) {
  registry::ManifestStore& manifest = tools.node.manifest();
  const CheckedPlugins plugins(tools.config);
  const auto kept = prepare_rollback(manifest, generation_id, tools.config.registry_path,
                                     {{}, plugins.lane_with_terms()});
  if (!kept.ok()) return fail_with(options, plugins.explain(kept.error()));
  const auto installed = manifest.install(
      {.program = *kept->program,
       .files = kept->files,
       .compiled_at_ms = kept->installed.generation.compiled_at_ms,
       .rolled_back_from = kept->installed.rolled_back_from,
       .may_redefine = tools.config.environment == identity::Environment::development});
  const std::string note = rollback_note(tools.config.registry_path, kept->installed);
  return print(
      options, installed,
      [&](const registry::Generation& generation) {
        return json{{"ok", true},
                    {"notes", {"no gateway runs here", note}},
                    {"generation", generation.id},
                    {"sequence", generation.sequence},
                    {"payload_hash", generation.payload_hash}};
      },
      [&](const registry::Generation& generation) {
        return "note: " + note + "\nno gateway runs here: the next start serves " + generation.id;
      });
}

}  // namespace

int run_registry_diff(const CommonOptions& options, const std::string& old_directory,
                      const std::string& new_directory) {
  if (!old_directory.empty()) return diff_directories(options, old_directory, new_directory);
  return with_database(options, [&](Tools& tools) { return diff_with_service(options, tools); });
}

int run_registry_bump(const CommonOptions& options, bool dry_run) {
  return with_database(options, [&](Tools& tools) {
    const CheckedPlugins plugins(tools.config);
    const auto files = registry::read_sources(tools.config.registry_path);
    if (!files.ok()) return fail_with(options, files.error());
    const auto facts = tools.node.manifest().facts();
    if (!facts.ok()) return print_failure(options, facts.error().message);
    const auto bumped = registry::bump(*files, *facts, plugins.lane_with_terms());
    if (!bumped.ok()) return fail_with(options, plugins.explain(bumped.error()));
    try {
      for (const registry::Source& file : bumped->changed) {
        if (!dry_run) replace_file(file.name, file.text);
      }
    } catch (const std::system_error& error) {
      return print_failure(options, error.what());
    }
    json list = json::array();
    for (const registry::Raised& raised : bumped->raised) {
      list.push_back(to_json(raised));
      if (options.json) continue;
      std::cout << raised.file << ":" << raised.line << ": " << raised.path << ": "
                << raised.counter << (dry_run ? " would be " : " is now ") << raised.to << '\n';
    }
    if (options.json) {
      std::cout << json_text({{"ok", true}, {"written", !dry_run}, {"raised", list}}) << '\n';
    } else if (list.empty()) {
      std::cout << "nothing to raise: no installed definition is changed\n";
    }
    return exit_done;
  });
}

int run_registry_history(const CommonOptions& options, std::uint32_t most) {
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.manifest().history(most),
        [](const std::vector<InstalledBefore>& list) {
          json items = json::array();
          for (const InstalledBefore& entry : list) items.push_back(to_json(entry));
          return json{{"items", items}};
        },
        [](const std::vector<InstalledBefore>& list) {
          std::string text;
          for (const InstalledBefore& entry : list) {
            text += (text.empty() ? "" : "\n") + line_of(entry);
          }
          return text.empty() ? std::string("nothing was installed yet") : text;
        });
  });
}

int run_registry_rollback(const CommonOptions& options, const std::string& generation_id) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  try {
    const json ask = {{"command", "rollback"}, {"generation", generation_id}};
    return print_reloaded(options, ask_control(control_socket(*config), json_text(ask)));
  } catch (const std::system_error& error) {
    const int reason = error.code().value();
    if (reason != ECONNREFUSED && reason != ENOENT) return print_failure(options, error.what());
  }
  return with_database(
      options, [&](Tools& tools) { return record_rollback(options, tools, generation_id); });
}

}  // namespace turnpike::app
