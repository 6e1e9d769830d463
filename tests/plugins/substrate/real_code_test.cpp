// Code of real chains, with the hashes that release notes and chain specifications publish. The
// bytes are programs under licences of others and not part of the project: TURNPIKE_SUBSTRATE_CODE
// names a folder that has them (plugins/substrate/README.md lists them).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "substrate/codec/calls.h"
#include "substrate/codec/code_blob.h"
#include "substrate/verify/json.h"

namespace turnpike::substrate {
namespace {

struct Published {
  std::string_view file;
  std::uint64_t size;
  std::string_view code_hash;
  std::string_view uncompressed_hash;  // empty: not published
  std::string_view spec_name;
  std::uint32_t spec_version;
};

constexpr Published published[] = {
    {"polkadot_collectives.json", 666'482,
     "0x6c68260eddf3a551fa5869ed17183cb6639adc400e63d4f60d92ca8e1a5c805a",
     "0xd0a045bb3eaf4b5aff95846f711ce95452518800c2f6d63cacf9e0e0c1501069", "collectives", 9290},
    {"polkadot_coretime.json", 1'054'742,
     "0xa4fb99720cf46ab485918e3034948a63993ef66e44473ae79ca48b043ada9c6e", "", "coretime-polkadot",
     1'003'000},
    {"westend-runtime-v9300.wasm", 1'258'989,
     "0x53254267cd0f1c130e589831280844318e3e0cef26db07f35eef15c8f240cbc7",
     "0xea5a009d02b153b824de41931ebbaa2b8ce573d628629047d3d07eb03795167a", "westend", 9300},
};

Bytes read_code(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (path.extension() == ".wasm") return {text.begin(), text.end()};
  const Json spec = Json::parse(text);
  return bytes_of_hex(spec["genesis"]["raw"]["top"]["0x3a636f6465"].get<std::string>()).value();
}

TEST(RealCodeTest, HashesAndVersionsAreThePublishedOnes) {
  const char* const folder = std::getenv("TURNPIKE_SUBSTRATE_CODE");
  if (folder == nullptr) GTEST_SKIP() << "TURNPIKE_SUBSTRATE_CODE names no folder of real code";
  int looked_at = 0;
  for (const Published& release : published) {
    const std::filesystem::path path = std::filesystem::path(folder) / release.file;
    if (!std::filesystem::exists(path)) continue;
    ++looked_at;
    const CodeFacts code = examine_code(read_code(path));
    EXPECT_EQ(code.size, release.size) << release.file;
    EXPECT_EQ(hex_of(code.code_hash), release.code_hash) << release.file;
    ASSERT_TRUE(code.uncompressed_hash) << release.file;
    if (!release.uncompressed_hash.empty()) {
      EXPECT_EQ(hex_of(*code.uncompressed_hash), release.uncompressed_hash) << release.file;
    }
    ASSERT_TRUE(code.version) << release.file;
    EXPECT_EQ(code.version->spec_name, release.spec_name);
    EXPECT_EQ(code.version->spec_version, release.spec_version);
  }
  if (looked_at == 0) GTEST_SKIP() << folder << " has none of the files";
}

}  // namespace
}  // namespace turnpike::substrate
