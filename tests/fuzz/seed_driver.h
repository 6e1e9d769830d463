// The program that runs every fuzz harness on its seeds, so that harnesses and seeds stay valid
// between fuzz runs. One program of all harnesses compiles in a fraction of the time that one for
// each takes. To rerun a finding: `fuzz_seeds NAME FILE`. Used before main() only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace turnpike::fuzz {

// Makes a harness known by its name. Static, one in each generated source (turnpike_fuzz() in
// framework/cmake/TurnpikeLayers.cmake).
struct Harness {
  using Feed = int (*)(const std::uint8_t* data, std::size_t size);
  Harness(std::string_view name, Feed feed);
};

}  // namespace turnpike::fuzz
