// Invalid registries with the problems that the compiler must report. The first lines of a fixture
// are
//   # expect: LINE:COLUMN: PATH: MESSAGE        one for each problem, in the order of reporting
// followed, if needed, by
//   # installed: KEY DIGEST                     a fact of an earlier program
//   # plugins: NAME NAME                        the plugins that are loaded
//   # no lane                                   no lane claims x402
// `#--- NAME` starts another file of the same program; its problems are expected as NAME:LINE:...
// Used by one Thread.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "registry/compile.h"
#include "support/paths.h"
#include "support/x402_lane.h"

namespace turnpike::registry {

struct Fixture {
  std::vector<std::string> expected;
  std::vector<InstalledFact> installed;
  std::vector<std::string> plugins;
  const Lane* lane = &support::x402_lane();
  std::vector<Source> sources;
};

inline Fixture read_fixture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Fixture fixture;
  fixture.sources.push_back({"", ""});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto after = [&](std::string_view prefix) { return line.substr(prefix.size()); };
    if (line.starts_with("#--- ")) {
      fixture.sources.push_back({after("#--- "), ""});
      continue;
    }
    if (line.starts_with("# expect: ")) fixture.expected.push_back(after("# expect: "));
    if (line.starts_with("# installed: ")) {
      std::istringstream words(after("# installed: "));
      InstalledFact fact;
      words >> fact.key >> fact.digest;
      fixture.installed.push_back(fact);
    }
    if (line.starts_with("# plugins: ")) {
      std::istringstream words(after("# plugins: "));
      fixture.plugins.assign(std::istream_iterator<std::string>(words), {});
    }
    if (line == "# no lane") fixture.lane = nullptr;
    fixture.sources.back().text += line + "\n";
  }
  return fixture;
}

inline std::vector<std::filesystem::path> fixture_paths(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(support::source_path("tests/fixtures/" + folder))) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The first file of a fixture has no name, so its problems read "LINE:COLUMN: ...".
inline std::string shown(const Problem& problem) {
  const std::string text = problem.text();
  return text.starts_with(":") ? text.substr(1 + (text[1] == ' ' ? 1 : 0)) : text;
}

inline Compiled compiled(const Fixture& fixture) {
  return compile({.sources = fixture.sources,
                  .installed = fixture.installed,
                  .plugins = fixture.plugins,
                  .lane = fixture.lane});
}

// The reported problems, one text for each.
inline std::vector<std::string> said_of(const Fixture& fixture) {
  std::vector<std::string> found;
  const Compiled result = compiled(fixture);
  if (result.ok()) return {"it compiled"};
  for (const Problem& problem : result.error()) found.push_back(shown(problem));
  return found;
}

}  // namespace turnpike::registry
