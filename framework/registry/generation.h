// Generation: the name of an installed Program, and the port through which installations are
// recorded (storage/ implements it). The manifest orders generations within an epoch:
// `sequence` grows by one for each new hash, `manifest_sequence` by one at every installation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "registry/compile.h"
#include "registry/program.h"

namespace turnpike::registry {

struct Generation {
  std::string epoch_id;
  std::string id;  // "gen_" + first hex digits of the hash
  std::uint64_t sequence = 0;
  std::uint64_t manifest_sequence = 0;
  std::string payload_hash;
  std::int64_t installed_at_ms = 0;
  std::int64_t compiled_at_ms = 0;
};

// The id follows from the hash alone: "gen_" and its first 16 hex digits.
std::string generation_id(std::string_view payload_hash);

// The number of newest generations that keep their files.
inline constexpr std::uint32_t generations_with_files_max = 64;

// The program and facts to record as installed.
struct Installation {
  const Program& program;
  // The program's sources. The canonical form is not enough to compile the program again: it lacks
  // the places that messages name and the folders that relative paths of secrets start from.
  std::span<const Source> files;
  std::int64_t compiled_at_ms = 0;
  // After a rollback: the hash of the program in the registry's files.
  std::string_view rolled_back_from = {};
  bool may_redefine = false;  // allows another meaning for an installed revision or version
};

// One line of the manifest.
struct InstalledBefore {
  Generation generation;
  std::string rolled_back_from;  // as in Installation
  bool has_files = false;        // the newest generations keep their files
};

// Called from the blocking pool or a plain Thread; blocks.
class ManifestStore {
 public:
  virtual ~ManifestStore() = default;
  // The facts, with keys and digests only.
  [[nodiscard]] virtual Result<std::vector<InstalledFact>, base::Error> facts() = 0;
  // The canonical definition behind a fact; empty: unknown.
  [[nodiscard]] virtual Result<std::string, base::Error> definition(std::string_view key) = 0;
  // Records the program, its files and its facts in one transaction; an already known hash keeps
  // its id and sequence. Concurrent installers are ordered by the database.
  [[nodiscard]] virtual Result<Generation, base::Error> install(const Installation& what) = 0;
  // At most `most` installations, newest first.
  [[nodiscard]] virtual Result<std::vector<InstalledBefore>, base::Error> history(
      std::uint32_t most) = 0;
  // The newest installation of the generation with this id.
  [[nodiscard]] virtual Result<std::optional<InstalledBefore>, base::Error> find(
      std::string_view generation_id) = 0;
  // The files of a generation; empty: none are kept.
  [[nodiscard]] virtual Result<std::vector<Source>, base::Error> files(
      const Generation& generation) = 0;
};

// An installed program, as loops and requests hold it.
struct Installed {
  std::shared_ptr<const Program> program;
  Generation generation;
};

}  // namespace turnpike::registry
