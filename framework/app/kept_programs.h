// Compiles programs that were installed before again, from the files that the database keeps with
// them. They are served while the registry's files are refused, rolled back to, and compared.
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
  std::vector<registry::Source> files;  // without their directory
};
// The plugins that programs are compiled with.
struct LoadedPlugins {
  std::span<const std::string> providers;  // names; empty: any
  const Lane* lane = nullptr;              // the one with terms in the registry
};
using Kept = Result<KeptProgram, std::vector<registry::Problem>>;

// One problem without a place in a file; `subject` says what it is about.
std::vector<registry::Problem> problem_of(const std::string& subject, const std::string& message);

// The program of that installation, with the hash it had. Relative paths of secrets start from
// `directory`, where the registry's files are.
Kept compile_kept(registry::ManifestStore& manifest, const registry::InstalledBefore& installed,
                  const std::string& directory, const LoadedPlugins& plugins);

// The same for the newest installation.
Kept compile_last_installed(registry::ManifestStore& manifest, const std::string& directory,
                            const LoadedPlugins& plugins);

// Prepares to go back to a generation: its program, and in `installed.rolled_back_from` the hash
// that the new installation is to record.
Kept prepare_rollback(registry::ManifestStore& manifest, const std::string& generation_id,
                      const std::string& directory, const LoadedPlugins& plugins);

// How the registry's files and a rollback relate, for the operator.
std::string rollback_note(const std::string& directory, const registry::InstalledBefore& installed);

// The function that tells compile() of definitions that are installed. `manifest` must outlive it.
registry::InstalledDefinition installed_definition(registry::ManifestStore& manifest);

// Sentences on what differs from installed definitions and is allowed all the same.
std::vector<std::string> notes_of(const std::vector<registry::Redefinition>& redefinitions);

}  // namespace turnpike::app
