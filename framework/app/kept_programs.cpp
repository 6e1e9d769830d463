#include "app/kept_programs.h"

#include <utility>

namespace turnpike::app {

using registry::InstalledBefore;
using registry::Problem;
using registry::Source;

std::vector<Problem> problem_of(const std::string& subject, const std::string& message) {
  Problem problem;
  problem.rule = "not_reloaded";
  problem.file = subject;
  problem.message = message;
  return {problem};
}

Kept compile_kept(registry::ManifestStore& manifest, const InstalledBefore& installed,
                  const std::string& directory, const LoadedPlugins& plugins) {
  const std::string& id = installed.generation.id;
  auto files = manifest.files(installed.generation);
  if (!files.ok()) return problem_of("database", files.error().message);
  if (files->empty()) return problem_of(id, "the database does not keep the files of it any more");
  const std::vector<Source> sources = registry::within_directory(*files, directory);
  auto compiled = registry::compile(
      {.sources = sources, .installed = {}, .plugins = plugins.providers, .lane = plugins.lane});
  if (!compiled.ok()) return std::move(compiled).error();
  if ((*compiled)->payload_hash() != installed.generation.payload_hash) {
    return problem_of(id, "this build makes another program of the files that are kept with it (" +
                              (*compiled)->payload_hash() + ")");
  }
  return KeptProgram{installed, *std::move(compiled), *std::move(files)};
}

Kept compile_last_installed(registry::ManifestStore& manifest, const std::string& directory,
                            const LoadedPlugins& plugins) {
  const auto history = manifest.history(1);
  if (!history.ok()) return problem_of("database", history.error().message);
  if (history->empty()) return problem_of("database", "no program was installed before");
  return compile_kept(manifest, history->front(), directory, plugins);
}

Kept prepare_rollback(registry::ManifestStore& manifest, const std::string& generation_id,
                      const std::string& directory, const LoadedPlugins& plugins) {
  auto wanted = manifest.find(generation_id);
  const auto history = manifest.history(1);
  if (!wanted.ok() || !history.ok()) {
    return problem_of("database", (wanted.ok() ? history.error() : wanted.error()).message);
  }
  if (!*wanted) {
    return problem_of(generation_id,
                      "no generation of this id was installed; `turnpike registry history` lists "
                      "those that were");
  }
  const InstalledBefore& last = history->front();
  const std::string& target = (*wanted)->generation.payload_hash;
  if (last.generation.payload_hash == target) {
    return problem_of(generation_id, "it is the generation that was installed last");
  }
  // The program that the files hold, as far as the manifest knows; returning to that one is not a
  // rollback.
  std::string replaced =
      last.rolled_back_from.empty() ? last.generation.payload_hash : last.rolled_back_from;
  if (replaced == target) replaced.clear();
  (*wanted)->rolled_back_from = std::move(replaced);
  return compile_kept(manifest, **wanted, directory, plugins);
}

std::string rollback_note(const std::string& directory, const InstalledBefore& installed) {
  if (installed.rolled_back_from.empty()) {
    return "this is the program that was rolled back before; the rollback is over";
  }
  return "rolled back from " + registry::generation_id(installed.rolled_back_from) +
         ": a restart keeps this generation while the files in " + directory +
         " still hold that one; the next reload, or a start after they were changed, takes the "
         "files again";
}

registry::InstalledDefinition installed_definition(registry::ManifestStore& manifest) {
  return [&manifest](const std::string& key) {
    auto definition = manifest.definition(key);
    return definition.ok() ? *std::move(definition) : std::string();
  };
}

std::vector<std::string> notes_of(const std::vector<registry::Redefinition>& redefinitions) {
  constexpr std::size_t notes_max = 20;
  std::vector<std::string> notes;
  for (const registry::Redefinition& each : redefinitions) {
    if (notes.size() == notes_max) {
      notes.push_back("and " + std::to_string(redefinitions.size() - notes_max) + " more of these");
      break;
    }
    notes.push_back("`environment: development` lets this pass: " + each.problem.text());
  }
  return notes;
}

}  // namespace turnpike::app
