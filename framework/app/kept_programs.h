// Recompiles programs that were installed before, from the files that the database keeps with them.
// They are served while the registry's files are refused, or after a rollback, or are compared.
//
// Plain functions; they block on the store and compile. Any plain Thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "registry/generation.h"

namespace turnpike::app {

struct KeptProgram {
  registry::InstalledBefore installed;
  std::shared_ptr<const registry::Program> program;
  std::vector<registry::Source> files;  // names relative to the directory
};
// The plugins that programs are compiled with.
struct LoadedPlugins {
  std::span<const std::string> providers;  // names; empty: any
  const Lane* lane = nullptr;              // the lane with terms in the registry
};
using Kept = Result<KeptProgram, std::vector<registry::Problem>>;

// Returns one problem without a place in a file; `subject`: what it is about.
std::vector<registry::Problem> problem_of(const std::string& subject, const std::string& message);

// Compiles the program of that installation; it must get the hash it had. Relative paths of secrets
// start from `directory`, where the registry's files are.
Kept compile_kept(registry::ManifestStore& manifest, const registry::InstalledBefore& installed,
                  const std::string& directory, const LoadedPlugins& plugins);

// The same for the newest installation.
Kept compile_last_installed(registry::ManifestStore& manifest, const std::string& directory,
                            const LoadedPlugins& plugins);

// Prepares a rollback to a generation: compiles its program, and sets `installed.rolled_back_from`
// to the hash that the new installation must record.
Kept prepare_rollback(registry::ManifestStore& manifest, const std::string& generation_id,
                      const std::string& directory, const LoadedPlugins& plugins);

// Explains to the operator how the registry's files and a rollback relate.
std::string rollback_note(const std::string& directory, const registry::InstalledBefore& installed);

// Returns the function by which compile() looks up installed definitions. `manifest` must outlive
// it.
registry::InstalledDefinition installed_definition(registry::ManifestStore& manifest);

// Returns sentences on permitted differences from installed definitions.
std::vector<std::string> notes_of(const std::vector<registry::Redefinition>& redefinitions);

}  // namespace turnpike::app
