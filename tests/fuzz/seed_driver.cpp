#include "fuzz/seed_driver.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace turnpike::fuzz {
namespace {

std::map<std::string_view, Harness::Feed>& harnesses() {
  static std::map<std::string_view, Harness::Feed> all;
  return all;
}

void feed_file(Harness::Feed feed, const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  feed(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

// Returns the number of files.
int feed_files(Harness::Feed feed, const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    feed_file(feed, path);
    return 1;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    feed_file(feed, entry.path());
    ++files;
  }
  return files;
}

}  // namespace

Harness::Harness(std::string_view name, Feed feed) { harnesses().emplace(name, feed); }

}  // namespace turnpike::fuzz

int main(int argc, char** argv) {
  namespace fuzz = turnpike::fuzz;
  const auto found = fuzz::harnesses().find(argc < 2 ? "" : argv[1]);
  if (found == fuzz::harnesses().end()) {
    std::fputs("usage: fuzz_seeds NAME (FILE | FOLDER)...; names:", stderr);
    for (const auto& [name, feed] : fuzz::harnesses()) {
      std::fprintf(stderr, " %.*s", static_cast<int>(name.size()), name.data());
    }
    std::fputs("\n", stderr);
    return 2;
  }
  int inputs = 0;
  for (int at = 2; at < argc; ++at) inputs += fuzz::feed_files(found->second, argv[at]);
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
