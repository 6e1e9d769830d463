// check, registry, reload, plugin and paths: commands that check and explain the operator's files.
#include <functional>
#include <iostream>
#include <optional>
#include <system_error>

#include "app/commands/command_line.h"
#include "app/config/paths.h"
#include "app/config/warnings.h"
#include "app/control.h"
#include "app/kept_programs.h"
#include "app/plugins/binding_check.h"
#include "app/stores.h"
#include "app/version.h"
#include "base/sources.h"
#include "plugin/catalog.h"
#include "registry/diff.h"
#include "registry/notes.h"
#include "site/authored_pages.h"
#include "text/json_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using nlohmann::json;
using registry::Problem;

// Runs `work` with the program of the configured registry, whatever is installed; returns
// exit_failed after printing the problems.
int with_program(const CommonOptions& options,
                 const std::function<int(const registry::Program&)>& work) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const CheckedPlugins plugins(*config);
  const auto compiled = compile_directory(config->registry_path, plugins.lane_with_terms());
  if (!compiled.ok()) {
    print_problems(plugins.explain(compiled.error()), options.json);
    return exit_failed;
  }
  return work(**compiled);
}

// The findings of check, in the types of print_problems().
struct Findings {
  std::vector<Problem> problems;
  std::vector<std::string> notes;
  std::string payload_hash;
  std::size_t routes = 0;
  std::size_t tools = 0;
  std::shared_ptr<const registry::Program> program = {};  // null: it has mistakes
};

// Returns the names of the provider plugins that would be loaded; runs no code of theirs yet.
std::vector<std::string> check_plugins(const Config& config, Findings& findings) {
  std::vector<std::string> names;
  const auto plugins = plugin::Catalog::check(catalog_options(config));
  if (!plugins.ok()) {
    for (const auto& error : plugins.error()) {
      findings.problems.push_back({"plugin_refused", error.file, 0, 0, "", error.problem});
    }
    return names;
  }
  for (const auto& info : *plugins) {
    if (plugin::fills(info, Slot::provider)) names.push_back(info.name);
  }
  return names;
}

// The installed definitions that the database knows; a database that does not exist yet has none.
struct Installed {
  base::SystemClock clock;
  base::SystemRandom random;
  std::unique_ptr<storage::Node> node;
  std::vector<registry::InstalledFact> facts;

  Installed(const Config& config, Findings& findings) {
    constexpr std::string_view apart = "not compared with an installed program: ";
    auto opened = storage::Node::open(storage_settings(config), storage::Role::tool,
                                      {.clock = clock, .random = random});
    if (!opened.ok()) {
      findings.notes.push_back(std::string(apart) + opened.error());
      return;
    }
    auto known = (*opened)->manifest().facts();
    if (!known.ok()) {
      findings.notes.push_back(std::string(apart) + known.error().message);
      return;
    }
    node = *std::move(opened);
    facts = *std::move(known);
  }
};

// Compiles the files as a reload of this deployment would.
registry::Compiled compile_as_reload(const Config& config, const LoadedPlugins& plugins,
                                     Findings& findings, std::vector<Problem>& unused) {
  const Installed installed(config, findings);
  auto sources = registry::read_sources(config.registry_path);
  if (!sources.ok()) return std::move(sources).error();
  std::vector<registry::Redefinition> redefinitions;
  registry::CompileInput input{
      .sources = *sources, .installed = installed.facts, .plugins = plugins.providers};
  input.lane = plugins.lane;
  if (installed.node) input.definition = installed_definition(installed.node->manifest());
  if (config.environment == identity::Environment::development) {
    input.redefinitions = &redefinitions;
  }
  auto compiled = registry::compile_with_notes(input, unused);
  if (!compiled.ok()) return compiled;
  for (std::string& note : notes_of(redefinitions)) findings.notes.push_back(std::move(note));
  return compiled;
}

// Compiles the files alone, whatever is installed.
registry::Compiled compile_alone(const Config& config, const LoadedPlugins& plugins,
                                 std::vector<Problem>& unused) {
  auto sources = registry::read_sources(config.registry_path);
  if (!sources.ok()) return std::move(sources).error();
  return registry::compile_with_notes(
      {.sources = *sources, .installed = {}, .plugins = plugins.providers, .lane = plugins.lane},
      unused);
}

void append(std::vector<Problem>& all, const std::vector<Problem>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

void check_plugins_and_registry(const Config& config, Findings& findings) {
  const auto names = check_plugins(config, findings);
  std::optional<CheckedPlugins> plugins;
  if (findings.problems.empty()) {
    plugins.emplace(config);
    append(findings.problems, plugins->problems());
  }
  const bool can_bind = findings.problems.empty();
  const LoadedPlugins loaded{names, can_bind ? plugins->lane_with_terms() : nullptr};
  std::vector<Problem> unused;
  auto compiled = compile_as_reload(config, loaded, findings, unused);
  if (!compiled.ok()) {
    append(findings.problems, can_bind ? compiled.error() : without_unclaimed(compiled.error()));
    // The program that conflicts with installed definitions may have mistakes of its own, too.
    unused.clear();
    compiled = compile_alone(config, loaded, unused);
    if (!compiled.ok()) return;
  }
  if (can_bind) {
    const BindingFindings bound = plugins->bind(*compiled);
    append(findings.problems, bound.problems);
    append(unused, bound.missing_secrets);
    append(unused, bound.notes);
    findings.notes.insert(findings.notes.end(), bound.warnings.begin(), bound.warnings.end());
  }
  for (const Problem& note : unused) findings.notes.push_back(note.text());
  findings.program = *compiled;
  findings.payload_hash = (*compiled)->payload_hash();
  findings.routes = (*compiled)->routes().size();
  findings.tools = (*compiled)->tools().size();
}

// Reads the pages of the web host, as a reload would.
void check_site(const Config& config, Findings& findings) {
  const auto site = site::Site::read(site_settings(config));
  if (!site.ok()) return append(findings.problems, site.error());
  if (findings.program) {
    append(findings.problems, site::dead_links_to_catalog(**site, *findings.program));
  }
  if (config.environment != identity::Environment::production) return;
  for (const Problem& mark : site::unfilled_marks(**site)) findings.notes.push_back(mark.text());
}

Findings check(const Config& config) {
  Findings findings;
  for (const Warning& warning : warnings_of(config)) findings.notes.push_back(warning.text);
  for (const Problem& note : config.notes) findings.notes.push_back(note.text());
  check_plugins_and_registry(config, findings);
  check_site(config, findings);
  return findings;
}

}  // namespace

registry::Compiled compile_directory(const std::string& directory, const Lane* lane) {
  auto sources = registry::read_sources(directory);
  if (!sources.ok()) return std::move(sources).error();
  return registry::compile({.sources = *sources, .installed = {}, .plugins = {}, .lane = lane});
}

int run_check(const CommonOptions& options) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const Findings findings = check(*config);
  const bool ok = findings.problems.empty();
  if (options.json) {
    std::cout << json_text({{"ok", ok},
                            {"problems", problems_json(findings.problems)},
                            {"notes", findings.notes},
                            {"payload_hash", ok ? json(findings.payload_hash) : json(nullptr)},
                            {"routes", findings.routes},
                            {"tools", findings.tools}})
              << '\n';
    return ok ? exit_done : exit_failed;
  }
  for (const std::string& note : findings.notes) std::cerr << "note: " << note << '\n';
  for (const Problem& problem : findings.problems) std::cerr << problem.text() << '\n';
  if (!ok) {
    std::cerr << text::counted(static_cast<std::int64_t>(findings.problems.size()), "problem")
              << '\n';
    return exit_failed;
  }
  std::cout << "ok: " << text::counted(static_cast<std::int64_t>(findings.routes), "route") << ", "
            << text::counted(static_cast<std::int64_t>(findings.tools), "tool") << ", "
            << findings.payload_hash << '\n';
  return exit_done;
}

int run_registry_dump(const CommonOptions& options) {
  return with_program(options, [&](const registry::Program& program) {
    // With --json, prints the exact bytes that are hashed.
    std::cout << (options.json ? program.canonical_json() : registry::dump(program)) << '\n';
    return exit_done;
  });
}

int run_registry_hash(const CommonOptions& options) {
  return with_program(options, [&](const registry::Program& program) {
    if (options.json) {
      std::cout << json{{"payload_hash", program.payload_hash()}} << '\n';
    } else {
      std::cout << program.payload_hash() << '\n';
    }
    return exit_done;
  });
}

int print_reloaded(const CommonOptions& options, const std::string& answer) {
  const json result = text::parse_json(answer);
  if (options.json) {
    std::cout << answer << '\n';
  } else if (result.value("ok", false)) {
    for (const json& note : result.value("notes", json::array())) {
      std::cerr << "note: " << note.get<std::string>() << '\n';
    }
    std::cout << "serving generation " << result.value("generation", "") << " (sequence "
              << result.value("sequence", 0) << ")\n";
  } else {
    for (const json& problem : result["problems"]) {
      std::cerr << Problem{"",
                           problem.value("file", ""),
                           problem.value("line", 0),
                           problem.value("column", 0),
                           problem.value("path", ""),
                           problem.value("message", "")}
                       .text()
                << '\n';
    }
    std::cerr << "not reloaded: the program that was serving is kept\n";
  }
  return result.value("ok", false) ? exit_done : exit_failed;
}

int run_reload(const CommonOptions& options) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  try {
    return print_reloaded(options, ask_control(control_socket(*config), R"({"command":"reload"})"));
  } catch (const std::system_error& error) {
    return print_failure(options, error.what());
  }
}

int run_plugin_inspect(const CommonOptions& options, const std::string& file) {
  const auto info = plugin::inspect(file);
  if (!info.ok()) return print_failure(options, info.error().text());
  const auto mismatch = plugin::built_like_us(*info);
  if (options.json) {
    json slots = json::array();
    for (const Slot slot : info->slots) slots.push_back(plugin::name_of(slot));
    std::cout << json{{"file", info->file},
                      {"sha256", info->sha256},
                      {"slots", slots},
                      {"execution", plugin::name_of(info->execution)},
                      {"name", info->name},
                      {"version", info->version},
                      {"abi", info->abi},
                      {"fingerprint", info->fingerprint},
                      {"loadable", !mismatch},
                      {"problem", mismatch ? json(mismatch->problem) : json(nullptr)}}
              << '\n';
    return exit_done;
  }
  std::cout << "slots        " << plugin::names_of(info->slots) << "\nname         " << info->name
            << "\nversion      " << info->version << "\nexecution    "
            << plugin::name_of(info->execution) << "\nabi          " << info->abi
            << "\nfingerprint  " << info->fingerprint << "\nsha256       " << info->sha256
            << "\nloadable     " << (mismatch ? "no: " + mismatch->problem : "yes") << '\n';
  return exit_done;
}

int run_paths(const CommonOptions& options) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const json paths = {{"data_dir", config->data_dir},
                      {"registry", config->registry_path},
                      {"plugins", plugin_directories(*config)},
                      {"reference", reference_directory(*config)},
                      {"control_socket", control_socket(*config)}};
  if (options.json) {
    std::cout << json_text(paths) << '\n';
    return exit_done;
  }
  for (const auto& [name, value] : paths.items()) {
    for (const json& path : value.is_array() ? value : json::array({value})) {
      std::cout << name << ' ' << path.get<std::string>() << '\n';
    }
  }
  return exit_done;
}

std::string version_line() {
  return "turnpike " + std::string(program_version) + " (" + build_fingerprint + ")";
}

int run_version(const CommonOptions& options) {
  if (options.json) {
    std::cout << json{{"version", program_version}, {"fingerprint", build_fingerprint}} << '\n';
  } else {
    std::cout << version_line() << '\n';
  }
  return exit_done;
}

}  // namespace turnpike::app
