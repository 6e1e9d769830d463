// Generation: the name of an installed Program, and the port through which installations are
// recorded (storage/ implements it). The manifest orders generations within an epoch:
// `sequence` grows by one for each new hash, `manifest_sequence` by one at every installation.
#pragma once

#include <cstdint>
#include <memory>
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

// Called from the blocking pool or a plain Thread; blocks.
class ManifestStore {
 public:
  virtual ~ManifestStore() = default;
  [[nodiscard]] virtual Result<std::vector<InstalledFact>, base::Error> facts() = 0;
  // Records the program and its facts in one transaction; an already known hash keeps its id and
  // sequence. Concurrent installers are ordered by the database.
  [[nodiscard]] virtual Result<Generation, base::Error> install(const Program& program,
                                                                std::int64_t compiled_at_ms) = 0;
};

// A program in service, as loops and requests hold it.
struct Installed {
  std::shared_ptr<const Program> program;
  Generation generation;
};

}  // namespace turnpike::registry
