// Input that is designed to be expensive: each is refused within its bound. Bounds are tested at
// the limit and one past it.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "registry/programs.h"
#include "support/temporary.h"

namespace turnpike::registry {
namespace {

namespace limits = base::limits;

std::vector<std::string_view> rules_of(const Compiled& result) {
  std::vector<std::string_view> rules;
  if (result) return rules;
  for (const Problem& problem : result.error()) rules.push_back(problem.rule);
  return rules;
}

using Rules = std::vector<std::string_view>;

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t at = 0; at < count; ++at) out += text;
  return out;
}

TEST(Hostile, FilesUpToTheLimitAreRead) {
  std::string text = "prices: {}\n";
  text.resize(limits::registry_file_bytes_max, '\n');
  EXPECT_EQ(rules_of(compiled(text)), Rules{"run_too_long"});  // it is read; another rule fails
  text += "\n";
  EXPECT_EQ(rules_of(compiled(text)), Rules{"file_too_large"});
}

TEST(Hostile, FilesAreCounted) {
  std::vector<Source> sources(limits::registry_files_max, Source{"a.yaml", ""});
  EXPECT_TRUE(compile({sources, {}, {}}).ok());
  sources.push_back({"a.yaml", ""});
  EXPECT_EQ(rules_of(compile({sources, {}, {}})), Rules{"too_many_files"});
}

TEST(Hostile, DepthIsBounded) {
  const auto nested = [](std::size_t depth) {
    return "provider: {key: t, name: T}\nupstreams: {u: {plugin: p, settings: {a: " +
           repeated("[", depth) + repeated("]", depth) + "}}}\n";
  };
  constexpr std::size_t around = 4;  // the enclosing maps
  EXPECT_TRUE(compiled(nested(limits::registry_depth_max - around)).ok());
  EXPECT_EQ(rules_of(compiled(nested(limits::registry_depth_max - around + 1))), Rules{"too_deep"});
  EXPECT_EQ(rules_of(compiled(repeated("- ", 1'000'000))), Rules{"too_deep"});
  EXPECT_EQ(rules_of(compiled(repeated("? ", 1'000'000))).size(), 1u);
}

// The scanner of yaml-cpp would keep all of these in memory before it reports the first.
TEST(Hostile, UnfinishedCollectionsAndTextsAreBounded) {
  for (const char* piece : {"[", "{", "[\n", "{a: [", "[a, "}) {
    EXPECT_EQ(rules_of(compiled(repeated(piece, 1'000'000))), Rules{"run_too_long"}) << piece;
  }
  EXPECT_EQ(rules_of(compiled("prices: \"" + std::string(4'000'000, 'x') + "\"\n")),
            Rules{"run_too_long"});
  EXPECT_EQ(rules_of(compiled("prices: |\n" + repeated("  x\n", 1'000'000))),
            Rules{"run_too_long"});
  EXPECT_EQ(rules_of(compiled(repeated("#", 4'000'000))), Rules{"run_too_long"});
}

TEST(Hostile, EqualKeysInLargeMapsAreFoundInTime) {
  std::string text = "prices:\n";
  for (int at = 0; at < 200'000; ++at) text += "  a" + std::to_string(at % 100'000) + ": 1\n";
  const Compiled result = compiled(text);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().size(), limits::registry_problems_max + 1);
  EXPECT_EQ(result.error().back().rule, "more_problems");
}

TEST(Hostile, ManyUnknownNamesAreReportedInTime) {
  std::string text = preamble + "routes:\n";
  for (int at = 0; at < 100'000; ++at) text += "  - {path: /a" + std::to_string(at) + ", x: 1}\n";
  const Compiled result = compiled(text);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().back().rule, "more_problems");
  EXPECT_NE(result.error().back().message.find("99000"), std::string::npos);
}

TEST(Hostile, ListsAreBounded) {
  const auto policy = [](std::size_t values) {
    std::string text = preamble +
                       "routes:\n  - path: /a\n    query:\n      parameters:\n"
                       "        p:\n          type: integer\n          values:\n";
    for (std::size_t at = 0; at < values; ++at) {
      text += "            - " + std::to_string(at) + "\n";
    }
    return text;
  };
  EXPECT_TRUE(compiled(policy(limits::declared_values_max)).ok());
  EXPECT_EQ(rules_of(compiled(policy(limits::declared_values_max + 1))), Rules{"too_many_items"});
}

TEST(Hostile, ShapesAreBounded) {
  const auto shapes = [](int count) {
    std::vector<std::string> paths;
    for (int shape = 0; shape < count; ++shape) {
      std::string path = "/s" + std::to_string(shape);
      for (int bit = 0; bit < 6; ++bit) {
        path += (shape >> bit & 1) != 0 ? "/{p" + std::to_string(bit) + "}" : "/x";
      }
      paths.push_back(path);
    }
    return routes_text(paths);
  };
  EXPECT_TRUE(compiled(shapes(limits::route_shapes_per_length_max)).ok());
  EXPECT_EQ(rules_of(compiled(shapes(limits::route_shapes_per_length_max + 1))),
            Rules{"too_many_shapes"});
}

TEST(Hostile, SegmentsAndParametersAreBounded) {
  constexpr std::size_t before = 3;  // v1, gateway, t
  const auto path = [](std::size_t segments, std::size_t parameters) {
    std::string out;
    for (std::size_t at = 0; at < segments; ++at) {
      out += at < parameters ? "/{p" + std::to_string(at) + "}" : "/x";
    }
    return routes_text({out});
  };
  EXPECT_TRUE(compiled(path(limits::route_segments_max - before, 1)).ok());
  EXPECT_EQ(rules_of(compiled(path(limits::route_segments_max - before + 1, 1))),
            Rules{"path_too_long"});
  EXPECT_TRUE(compiled(path(20, limits::route_parameters_max)).ok());
  EXPECT_EQ(rules_of(compiled(path(20, limits::route_parameters_max + 1))), Rules{"path_too_long"});
}

TEST(Hostile, ToolsOfUnknownOperationsAreReportedInTime) {
  std::string text = preamble + "routes:\n";
  for (int at = 0; at < 5'000; ++at) {
    text += "  - path: /" + std::string(100, 'p') + std::to_string(at) + "\n";
  }
  text += "tools:\n";
  for (int at = 0; at < 5'000; ++at) {
    text += "  t" + std::to_string(at) + ":\n    description: d\n    route: GET /v1/gateway/t/" +
            std::string(100, 'q') + std::to_string(at) + "\n";
  }
  const Compiled result = compiled(text);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().size(), limits::registry_problems_max + 1);
}

// Model APIs accept tool names of up to 64 characters, and models read descriptions whole.
TEST(Hostile, TextsOfToolsAreBounded) {
  const auto tool = [](std::size_t name, std::size_t description, std::size_t title,
                       std::size_t argument) {
    return preamble + "routes: [{path: \"/a/{x}\"}]\ntools:\n  " + repeated("n", name) +
           ":\n    route: GET /v1/gateway/t/a/{x}\n    description: " + repeated("d", description) +
           "\n    title: " + repeated("t", title) +
           "\n    arguments: {x: " + repeated("a", argument) + "}\n";
  };
  EXPECT_TRUE(compiled(tool(64, 1024, 128, 1024)).ok());
  EXPECT_EQ(rules_of(compiled(tool(65, 1024, 128, 1024))), Rules{"bad_name"});
  EXPECT_EQ(rules_of(compiled(tool(64, 1025, 128, 1024))), Rules{"text_length"});
  EXPECT_EQ(rules_of(compiled(tool(64, 1024, 129, 1024))), Rules{"text_length"});
  EXPECT_EQ(rules_of(compiled(tool(64, 1024, 128, 1025))), Rules{"text_length"});
}

class ReadSources : public ::testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((directory / name).parent_path());
    std::ofstream(directory / name) << text;
  }
  const support::TemporaryDirectory kept;
  const std::filesystem::path directory = kept.path();
};

TEST_F(ReadSources, TakesYamlFilesBelowTheDirectoryByName) {
  write("b.yaml", "b");
  write("deep/er/a.yaml", "a");
  write("README.md", "no");
  write(".hidden.yaml", "no");
  write("..2026_11_22/b.yaml", "no");
  const auto sources = read_sources(directory.string());
  ASSERT_TRUE(sources.ok());
  ASSERT_EQ(sources->size(), 2u);
  EXPECT_EQ((*sources)[0].text, "b");
  EXPECT_EQ((*sources)[1].text, "a");
}

TEST_F(ReadSources, SaysWhatItCannotRead) {
  const auto absent = read_sources((directory / "absent").string());
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error()[0].rule, "file_unreadable");
  write("large.yaml", std::string(limits::registry_file_bytes_max + 1, '\n'));
  const auto large = read_sources(directory.string());
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error()[0].rule, "file_too_large");
}

// Otherwise an unmounted or misnamed folder would be a program without routes.
TEST_F(ReadSources, RefusesFoldersWithoutAYamlFile) {
  const auto empty = read_sources(directory.string());
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error()[0].text(),
            directory.string() +
                ": no *.yaml file is below this folder; is `registry.path` the right one?");
  write("acme.yml", "prices: {}");
  const auto misnamed = read_sources(directory.string());
  ASSERT_FALSE(misnamed.ok());
  EXPECT_EQ(misnamed.error()[0].text(),
            (directory / "acme.yml").string() + ": only *.yaml files are read: rename it");
}

TEST_F(ReadSources, BoundsTheBytesOfAllFiles) {
  constexpr std::size_t whole = limits::registry_bytes_max / limits::registry_file_bytes_max;
  for (std::size_t at = 0; at < whole; ++at) {
    write("f" + std::to_string(at) + ".yaml", "");
    std::filesystem::resize_file(directory / ("f" + std::to_string(at) + ".yaml"),
                                 limits::registry_file_bytes_max);
  }
  EXPECT_TRUE(read_sources(directory.string()).ok());
  write("one_more.yaml", "x");
  const auto sources = read_sources(directory.string());
  ASSERT_FALSE(sources.ok());
  EXPECT_EQ(sources.error()[0].rule, "program_too_large");
}

TEST_F(ReadSources, BoundsTheNumberOfFiles) {
  for (std::size_t at = 0; at <= limits::registry_files_max; ++at) {
    write("f" + std::to_string(at) + ".yaml", "");
  }
  const auto sources = read_sources(directory.string());
  ASSERT_FALSE(sources.ok());
  EXPECT_EQ(sources.error()[0].rule, "too_many_files");
}

}  // namespace
}  // namespace turnpike::registry
