// Arbitrary bytes as a registry: compile() answers with problems, or with a program whose canonical
// form is canonical and whose routes can be found by their own paths.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/check.h"
#include "registry/compile.h"
#include "registry/policy.h"
#include "support/x402_lane.h"
#include "text/canonical_json.h"

using turnpike::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace turnpike::registry;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Source source{"fuzz.yaml", text};
  const Compiled compiled = compile({.sources = {&source, 1},
                                     .installed = {},
                                     .plugins = {},
                                     .lane = &turnpike::support::x402_lane()});
  if (!compiled) {
    check(!compiled.error().empty());
    for (const Problem& problem : compiled.error()) {
      check(turnpike::text::is_utf8(problem.text()));
    }
    return 0;
  }
  const Program& program = **compiled;
  const auto json = nlohmann::json::parse(program.canonical_json());
  check(turnpike::text::canonical_json(json) == program.canonical_json());
  for (const Route& route : program.routes()) {
    std::string path;
    for (const Segment& segment : route.matcher.segments) {
      path += segment.is_parameter ? "/~" : "/";
      if (segment.is_parameter) continue;
      for (const char c : segment.text) {
        constexpr char digits[] = "0123456789ABCDEF";
        const auto byte = static_cast<unsigned char>(c);
        path += {'%', digits[byte >> 4], digits[byte & 15]};
      }
    }
    const Match match = program.match(path);
    // If "~" is a literal somewhere, a narrower route may have the path.
    check(path.size() > turnpike::base::limits::request_path_bytes_max ||
          match.status == MatchStatus::found);
    check(match.route == nullptr || program.find_route(match.route->id) == match.route);
    check_query(*program.operations()[route.operations.front()].query, text.substr(0, 64));
  }
  return 0;
}
