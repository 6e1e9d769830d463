#include "plugin/inspect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "plugin/elf.h"
#include "plugin/fixture_files.h"

namespace turnpike::plugin {
namespace {

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Inspect, TellsEverythingWithoutLoading) {
  const auto info = inspect(fixture("good/echo_blocking.so"));
  ASSERT_TRUE(info.ok()) << info.error().text();
  EXPECT_EQ(names_of(info->slots), "provider");
  EXPECT_EQ(name_of(info->execution), "blocking");
  EXPECT_EQ(info->name, "echo_blocking");
  EXPECT_EQ(info->version, "1.0.0");
  EXPECT_EQ(info->abi, abi_number);
  EXPECT_EQ(info->descriptor_size, sizeof(Descriptor));
  EXPECT_EQ(info->fingerprint, build_fingerprint);
  EXPECT_EQ(info->sha256.size(), 64u);
  EXPECT_EQ(
      std::count(info->needed_libraries.begin(), info->needed_libraries.end(), "libstdc++.so.6"),
      1);
  EXPECT_FALSE(built_like_us(*info).has_value());
  const auto lane = inspect(fixture("good/unpaid_lane.so"));
  ASSERT_TRUE(lane.ok());
  EXPECT_EQ(names_of(lane->slots), "lane");
  EXPECT_EQ(name_of(lane->execution), "cooperative");
  const auto both = inspect(fixture("good/mailbox.so"));
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(names_of(both->slots), "provider, lane");
}

TEST(Inspect, APluginOfAnotherAbiIsStillNamedByFileAndNumber) {
  const auto info = inspect(fixture("broken/wrong_abi.so"));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->abi, 99u);
  EXPECT_FALSE(info->is_readable);
  EXPECT_TRUE(info->name.empty());
}

TEST(Inspect, EveryTruncationIsRefusedOrReadRight) {
  const auto whole = bytes_of(fixture("treated/stripped.so"));
  ASSERT_GT(whole.size(), 4096u);
  std::size_t refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += length < 512 ? 1 : 61) {
    // A copy of exactly this length, so that a sanitizer finds a read past its end.
    const std::vector<std::uint8_t> part(whole.begin(), whole.begin() + length);
    const auto info = inspect("part.so", part);
    if (!info.ok()) {
      ++refused;
      EXPECT_FALSE(info.error().problem.empty());
    } else {
      EXPECT_EQ(info->name, "plain");  // lacks only section headers, which no loader needs
    }
  }
  EXPECT_GT(refused, 512u);
}

// Damaged files that are still ELF files. The damage hits the tables that are read: header, program
// headers, dynamic section, symbols, hashes and names.
TEST(Inspect, SurvivesDamagedFiles) {
  const auto whole = bytes_of(fixture("treated/stripped.so"));
  std::mt19937_64 chance(20261121);
  const std::uint64_t extremes[] = {0,
                                    1,
                                    0x7f,
                                    0xff,
                                    0xffff,
                                    0x7fffffff,
                                    0xffffffff,
                                    0x7fffffffffffffff,
                                    0xffffffffffffffff,
                                    whole.size()};
  std::size_t refused = 0;
  std::size_t accepted = 0;
  std::vector<std::uint8_t> damaged = whole;
  std::vector<std::size_t> places;
  for (int round = 0; round < 8'000; ++round) {
    const std::size_t reach = round % 4 == 0 ? 64 : round % 4 == 1 ? 1024 : 8192;
    for (std::uint64_t change = 0, changes = 1 + chance() % 4; change < changes; ++change) {
      const std::size_t at = 4 + chance() % (std::min(reach, whole.size()) - 12);
      const std::uint64_t value =
          chance() % 2 == 0 ? chance() : extremes[chance() % std::size(extremes)];
      const std::size_t width = std::size_t{1} << (chance() % 4);
      std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), width, damaged.begin() + at);
      places.push_back(at);
    }
    const auto info = inspect("damaged.so", damaged);
    ++(info.ok() ? accepted : refused);
    EXPECT_TRUE(info.ok() || !info.error().problem.empty());
    for (const std::size_t at : places) {
      std::copy_n(whole.begin() + at, sizeof(std::uint64_t), damaged.begin() + at);
    }
    places.clear();
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(accepted, 100u);  // otherwise the damage never reaches the later tables
}

TEST(Elf, RefusesTablesThatWouldCostMoreThanTheFile) {
  auto image = bytes_of(fixture("treated/stripped.so"));
  image[0x38] = 0xff;  // e_phnum
  image[0x39] = 0xff;
  EXPECT_FALSE(ElfImage::parse(image).ok());
}

}  // namespace
}  // namespace turnpike::plugin
