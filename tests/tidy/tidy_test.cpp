// The tree's rules (framework/STYLE.md names the test of each): layers, quarantined libraries,
// plugin exports, lengths, introductions, citations, banned calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "support/paths.h"
#include "tidy/citations.h"
#include "tidy/source_tree.h"

namespace turnpike::tidy {
namespace {

namespace fs = std::filesystem;

constexpr int columns_max = 100;
constexpr int function_lines_max = 70;
const std::vector<std::string> tree = {"framework", "plugins", "tests", "benchmarks"};

const std::vector<SourceFile>& framework() {
  static const auto files = read_tree({"framework"});
  return files;
}

const std::vector<SourceFile>& everything() {
  static const auto files = read_tree(tree);
  return files;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string place(const SourceFile& file, int line) {
  return file.path + ":" + std::to_string(line);
}

// The layer folder of a path below framework/: "hosts/api", "wire", or the SDK's "sdk".
std::string folder_of(std::string_view path) {
  for (std::string_view host :
       {"hosts/account", "hosts/api", "hosts/dashboard", "hosts/mcp", "hosts/oauth",
        "hosts/operator", "hosts/site", "hosts/web"}) {
    if (starts_with(path, std::string(host) + "/")) return std::string(host);
  }
  return std::string(path.substr(0, path.find('/')));
}

// The folders that each folder may include besides itself, the standard library and the ground
// (framework/README.md, "Layers").
const std::set<std::string> ground = {"sdk", "text", "base"};  // of all folders but these
const std::map<std::string, std::set<std::string>>& arrows() {
  static const std::map<std::string, std::set<std::string>> allowed = {
      {"sdk", {}},
      {"text", {}},
      {"base", {"sdk", "text"}},
      {"crypto", {}},
      {"runtime", {}},
      {"wire", {"crypto", "runtime"}},
      {"registry", {"crypto", "runtime"}},
      {"ledger", {"crypto", "runtime"}},
      {"identity", {"crypto", "runtime"}},
      {"oauth", {"crypto", "identity"}},
      {"quota", {"crypto", "runtime"}},
      {"records", {"crypto", "runtime"}},
      {"status", {"crypto", "runtime", "identity", "registry"}},
      {"commerce", {"crypto", "runtime", "ledger", "identity"}},
      {"notices", {"crypto", "runtime", "identity"}},
      {"mail", {"crypto", "identity"}},
      {"storage",
       {"crypto", "runtime", "registry", "ledger", "identity", "oauth", "quota",
        "records", "status", "commerce", "notices"}},
      {"plugin", {"crypto", "runtime", "wire", "registry", "records"}},
      {"lanes", {"crypto", "runtime", "ledger", "identity", "registry", "quota"}},
      {"exchange",
       {"crypto", "runtime", "registry", "ledger", "identity", "plugin"}},
      {"catalog", {"crypto", "runtime", "registry", "quota"}},
      {"site", {"crypto", "registry", "status", "catalog"}},
      {"hosts/operator",
       {"crypto", "runtime", "wire", "registry", "identity", "ledger", "catalog",
        "status", "site", "hosts"}},
      {"hosts",
       {"crypto", "runtime", "wire", "registry", "ledger", "identity", "quota",
        "status", "commerce", "notices", "exchange", "catalog", "site"}},
      {"hosts/account",
       {"runtime", "wire", "identity", "oauth", "commerce", "notices", "hosts"}},
      {"hosts/oauth",
       {"crypto", "runtime", "wire", "identity", "oauth", "hosts",
        "hosts/account"}},
      {"hosts/web",
       {"crypto", "runtime", "wire", "identity", "oauth", "site", "hosts",
        "hosts/account"}},
      {"hosts/site",
       {"runtime", "wire", "registry", "status", "catalog", "site", "hosts"}},
      {"hosts/dashboard",
       {"runtime", "wire", "registry", "identity", "ledger", "commerce", "notices",
        "status", "catalog", "site", "hosts", "hosts/account", "hosts/web"}},
      {"hosts/api",
       {"crypto", "runtime", "wire", "registry", "ledger", "identity", "quota",
        "exchange", "catalog", "status", "hosts", "hosts/account"}},
      {"hosts/mcp",
       {"crypto", "runtime", "wire", "registry", "identity", "oauth", "exchange",
        "catalog", "hosts", "hosts/account", "hosts/oauth"}},
  };
  return allowed;
}

TEST(Layers, EveryIncludeGoesToALowerLayer) {
  for (const SourceFile& file : framework()) {
    const std::string folder = folder_of(file.path.substr(10));
    if (folder == "app") continue;  // the composition root may include everything
    const auto allowed = arrows().find(folder);
    ASSERT_NE(allowed, arrows().end())
        << file.path << ": the folder has no layer; give it one in tests/tidy/tidy_test.cpp";
    for (const Include& include : includes_of(file)) {
      std::string target;
      if (starts_with(include.target, "turnpike/")) {
        target = "sdk";
      } else if (include.quoted) {
        target = folder_of(include.target);
      } else {
        continue;
      }
      const bool is_ground = ground.contains(target) && !ground.contains(folder);
      EXPECT_TRUE(target == folder || is_ground || allowed->second.contains(target))
          << place(file, include.line) << ": " << folder << " must not include \"" << include.target
          << "\": arrows go to lower layers only";
    }
  }
}

TEST(Layers, PluginsIncludeTheSdkAndTheirOwnFilesOnly) {
  for (const SourceFile& file : read_tree({"plugins"})) {
    const std::string own = file.path.substr(0, file.path.find('/', 8) + 1);
    for (const Include& include : includes_of(file)) {
      if (!include.quoted) continue;
      EXPECT_TRUE(fs::exists(support::source_path("plugins/" + include.target)) &&
                  starts_with("plugins/" + include.target, own))
          << place(file, include.line) << ": a plugin includes <turnpike/...> and its own files";
    }
  }
}

// Third-party headers and the folders that may include them.
TEST(Quarantine, ThirdPartyLibrariesStayInTheirFolders) {
  const std::map<std::string, std::set<std::string>> homes = {
      // wire serves HTTP on the loops' sockets; mail waits for one server on its own thread.
      {"Poco/Net/", {"framework/wire", "framework/mail"}},
      {"Poco/Data/", {"framework/storage"}},
      {"Poco/Redis/", {"framework/storage"}},
      {"Poco/Util/", {"framework/app"}},
      {"yaml-cpp/", {"framework/registry", "framework/app", "framework/site"}},
      {"boost/dll", {"framework/plugin"}},
      {"boost/beast", {"framework/wire"}},
      {"boost/context", {"framework/runtime"}},
      {"boost/unordered", {"framework/base"}},
      {"openssl/", {"framework/crypto", "framework/wire"}},
      {"argon2.h", {"framework/crypto"}},
      {"sodium", {"plugins/substrate"}},
      {"zstd.h", {"plugins/substrate"}},
      {"xxhash.h", {"plugins/substrate"}},
      {"zxcvbn.h", {"framework/identity"}},
      {"cjose/", {"framework/crypto"}},
      {"botan/", {"plugins/x402", "plugins/stripe", "plugins/govdata/store"}},
      {"secp256k1", {"plugins/x402"}},
      {"prometheus/", {"framework/base"}},
      {"CLI/", {"framework/app", "plugins/govdata"}},
      {"sqlite3.h", {"framework/storage", "plugins/govdata"}},
      {"zlib.h", {"framework/storage", "plugins/govdata"}},
      {"libpq-fe.h", {"framework/storage"}},
      {"gelf.h", {"framework/plugin"}},
      {"ctemplate/", {"framework/site"}},
      {"cmark-gfm", {"framework/site"}},
      {"brotli/", {"framework/text"}},
  };
  for (const SourceFile& file : read_tree({"framework", "plugins"})) {
    for (const Include& include : includes_of(file)) {
      for (const auto& [prefix, folders] : homes) {
        if (!starts_with(include.target, prefix)) continue;
        EXPECT_TRUE(std::any_of(folders.begin(), folders.end(),
                                [&](const auto& folder) { return starts_with(file.path, folder); }))
            << place(file, include.line) << ": <" << include.target
            << "> belongs to another folder";
      }
    }
  }
}

TEST(Quarantine, TheSdkKnowsTheStandardLibraryOnly) {
  for (const SourceFile& file : read_tree({"framework/sdk"})) {
    for (const Include& include : includes_of(file)) {
      EXPECT_FALSE(include.quoted) << place(file, include.line);
      EXPECT_TRUE(starts_with(include.target, "turnpike/") ||
                  include.target.find_first_of("/.") == std::string::npos)
          << place(file, include.line) << ": <" << include.target << "> is no standard header";
    }
  }
}

// Lines that cannot be broken: raw strings, tables and links of pages, data of tests.
bool may_be_long(const SourceFile& file, const std::string& line) {
  if (line.find("R\"") != std::string::npos) return true;
  if (file.path.ends_with(".md")) return line.starts_with("|") || line.starts_with("<http");
  return file.path.ends_with(".yaml") &&
         (starts_with(file.path, "tests/fixtures/") || starts_with(file.path, "tests/fuzz/"));
}

TEST(Lengths, NoLineIsLongerThanTheLimit) {
  for (const SourceFile& file :
       read_tree({""}, {".cmake", ".cpp", ".h", ".md", ".mjs", ".py", ".sh", ".txt", ".yaml"})) {
    for (std::size_t at = 0; at < file.lines.size(); ++at) {
      // Columns, not bytes: continuation bytes of UTF-8 do not count.
      const auto columns = std::count_if(file.lines[at].begin(), file.lines[at].end(),
                                         [](char c) { return (c & 0xC0) != 0x80; });
      EXPECT_TRUE(columns <= columns_max || may_be_long(file, file.lines[at]))
          << place(file, static_cast<int>(at) + 1) << ": " << columns << " columns";
    }
  }
}

TEST(Lengths, NoFunctionIsLongerThanTheLimit) {
  for (const SourceFile& file : everything()) {
    for (const Function& function : functions_of(file)) {
      const int lines = function.last_line - function.first_line + 1;
      EXPECT_LE(lines, function_lines_max) << place(file, function.first_line);
    }
  }
}

// Readers use the first paragraph of a header instead of the implementation.
TEST(Introductions, EveryHeaderOpensWithWhatItIs) {
  for (const SourceFile& file : read_tree({"framework", "plugins"})) {
    if (!file.path.ends_with(".h")) continue;
    int words = 0;
    for (const std::string& line : file.lines) {
      if (!starts_with(line, "//")) break;
      words += static_cast<int>(std::count(line.begin(), line.end(), ' '));
    }
    EXPECT_GE(words, 8) << file.path << ": say what it is, who owns it, which thread may call it";
  }
}

TEST(Introductions, HeadersOfSharedThingsNameTheThreads) {
  for (const SourceFile& file : framework()) {
    if (!file.path.ends_with(".h")) continue;
    const bool is_shared = file.code.find("std::mutex") != std::string::npos ||
                           file.code.find("std::atomic") != std::string::npos;
    if (!is_shared) continue;
    const bool says = std::any_of(file.lines.begin(), file.lines.end(), [](const auto& line) {
      return line.find("hread") != std::string::npos && line.find("//") != std::string::npos;
    });
    EXPECT_TRUE(says) << file.path << ": shared state, but no word on threads";
  }
}

// The project is self-contained: everything that a comment or a page cites exists.
TEST(Citations, LeadToFilesAndHeadingsThatExist) {
  const Shelf shelf(paths_of_tree());
  for (const SourceFile& file :
       read_tree({""}, {".cmake", ".cpp", ".h", ".lua", ".md", ".mjs", ".py", ".sh", ".sol", ".sql",
                        ".txt", ".yaml", ""})) {
    if (file.path == "tests/tidy/citations_test.cpp") continue;  // cites missing files on purpose
    for (const Citation& citation : citations_of(file)) {
      const std::string fault = shelf.fault_of(citation, file.path);
      EXPECT_TRUE(fault.empty()) << place(file, citation.line) << ": " << fault;
    }
  }
}

// Readers do not have the lists to which such numbers refer.
TEST(Citations, NameNoFindingsByNumber) {
  for (const SourceFile& file : read_tree({""}, {".cpp", ".h", ".md", ".mjs", ".py", ".yaml"})) {
    if (starts_with(file.path, "tests/tidy/")) continue;
    for (std::size_t at = 0; at < file.lines.size(); ++at) {
      const std::string& line = file.lines[at];
      for (const std::string_view word : {"inding ", "indings "}) {
        const std::size_t behind = line.find(word);
        const bool is_numbered =
            behind != line.npos && behind + word.size() < line.size() &&
            std::isdigit(static_cast<unsigned char>(line[behind + word.size()])) != 0;
        EXPECT_FALSE(is_numbered) << place(file, static_cast<int>(at) + 1)
                                  << ": say what was found instead of a number";
      }
    }
  }
}

// Words that code must not contain; framework/STYLE.md gives the reasons.
TEST(Banned, CallsAndWords) {
  const std::vector<std::pair<std::string, std::string>> banned = {
      {"std::regex", "recurses without bound on a fiber's stack"},
      {"sleep_for", "waits take a deadline from the runtime"},
      {"usleep(", "waits take a deadline from the runtime"},
      {"instance()", "no singletons: pass it"},
      {"using namespace std", "names say where they are from"},
      {"std::endl", "flushes; use '\\n'"},
      {"rtld_deepbind", "breaks allocators and sanitizers"},
  };
  for (const SourceFile& file : everything()) {
    if (starts_with(file.path, "tests/tidy/")) continue;
    for (const auto& [word, why] : banned) {
      EXPECT_EQ(file.code.find(word), std::string::npos)
          << file.path << ": " << word << ": " << why;
    }
  }
}

// The JSON library treats a NUL byte as the end of its input, so text/json_text.h reads JSON for
// all, and each plugin reads external JSON in one place.
TEST(Banned, ReadingJsonPastItsOneReader) {
  const std::set<std::string> readers = {"framework/text/json_text.cpp",
                                         "plugins/govdata/import/json_records.cpp",
                                         "plugins/govdata/import/sample.cpp",
                                         "plugins/stripe/json.cpp"};
  // Texts that a plugin wrote itself to its own database, and terms of lanes, which
  // plugin/lane_guard.cpp and plugin/catalog.cpp have already validated as JSON.
  const std::set<std::string> own = {
      "framework/catalog/capability_json.cpp",   "framework/catalog/openapi.cpp",
      "plugins/govdata/store/linking.cpp",       "plugins/govdata/store/writer.cpp",
      "plugins/govdata/store/writer_topics.cpp", "plugins/govdata/serve/read.cpp",
      "plugins/govdata/serve/route_feeds.cpp",   "plugins/govdata/serve/route_evidence.cpp",
      "plugins/govdata/store/rewind.cpp",        "plugins/govdata/live/cursor.cpp",
      "plugins/govdata/store/proposal_events.cpp"};
  for (const SourceFile& file :
       read_tree({"framework", "plugins/govdata", "plugins/http", "plugins/stripe"})) {
    if (readers.count(file.path) + own.count(file.path) > 0) continue;
    for (const std::string_view word : {"json::parse(", "Json::parse(", "json::sax_parse(",
                                        "Json::sax_parse(", "json::accept("}) {
      EXPECT_EQ(file.code.find(word), std::string::npos)
          << file.path << ": " << word << ": read outside bytes by text/json_text.h";
    }
  }
}

TEST(Banned, NamesOfVagueThings) {
  for (const SourceFile& file : framework()) {
    for (std::string_view word : {"Manager", "Helper", "Util "}) {
      for (std::string_view kind : {"class ", "struct "}) {
        std::size_t at = 0;
        while ((at = file.code.find(kind, at)) != std::string::npos) {
          at += kind.size();
          const std::string name = file.code.substr(at, file.code.find_first_of(" :;{", at) - at);
          EXPECT_EQ((name + " ").find(word), std::string::npos) << file.path << ": " << name;
        }
      }
    }
  }
}

std::vector<std::string> lines_printed_by(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::vector<std::string> lines;
  std::array<char, 4096> line{};
  while (pipe != nullptr && fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    lines.emplace_back(line.data());
  }
  return lines;
}

std::vector<fs::path> built_plugins() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(support::build_path("plugins"))) {
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  }
  EXPECT_GE(files.size(), 2u);
  return files;
}

TEST(Plugins, ExportExactlyOneSymbol) {
  for (const fs::path& file : built_plugins()) {
    const auto symbols = lines_printed_by("nm -D --defined-only '" + file.string() + "'");
    ASSERT_EQ(symbols.size(), 1u) << file;
    EXPECT_NE(symbols[0].find(" turnpike_plugin_v1"), std::string::npos) << symbols[0];
  }
}

// The number of functions that run when the file is mapped, without the compiler's frame_dummy,
// which every shared object has.
int static_constructors_of(const fs::path& file) {
  int entries = 0;
  const std::string size = "INIT_ARRAYSZ)";  // also matches DT_PREINIT_ARRAYSZ
  for (const std::string& line : lines_printed_by("readelf -dW '" + file.string() + "'")) {
    const std::size_t at = line.find(size);
    if (at == line.npos) continue;
    entries += std::stoi(line.substr(at + size.size())) / static_cast<int>(sizeof(void*));
  }
  return entries - 1;
}

// A plugin is mapped before its descriptor is compared, so none of its code may run then.
TEST(Plugins, RunNothingWhileTheyAreMapped) {
  for (const fs::path& file : built_plugins()) {
    EXPECT_EQ(static_constructors_of(file), 0)
        << file << ": an object at namespace scope has a constructor; make it constinit, or a part "
        << "of what the factory makes";
  }
  const fs::path untidy = support::build_path("tests/fixtures/plugins/untidy/static_object.so");
  EXPECT_EQ(static_constructors_of(untidy), 1);
}

}  // namespace
}  // namespace turnpike::tidy
