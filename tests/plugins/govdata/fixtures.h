// Shared by the govdata tests: a store in a temporary folder, a clock that a test moves, imports
// from text, the real data where it is present, and hand-made logs. One Thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "govdata/import/import.h"
#include "govdata/serve/service.h"
#include "govdata/store/schema.h"
#include "govdata/store/timestamp.h"
#include "support/paths.h"
#include "support/sdk_fakes.h"
#include "support/temporary.h"

namespace turnpike::govdata {

inline std::int64_t at(const char* iso) { return parse_iso_time(iso).value(); }

inline const std::int64_t begin_ms = at("2026-03-01T12:00:00Z");

struct Rejected {
  std::string position, reason;
};

class StoreTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("store.db"); }
  Database& store() {
    if (!store_) store_ = open_for_import(path());
    return *store_;
  }
  static ImportOptions options(Format format, const std::string& dao) {
    ImportOptions options;
    options.format = format;
    options.dao.dao_id = dao;
    options.now_ms = begin_ms;
    if (format == Format::discourse) options.base_url = "https://forum.example.org";
    return options;
  }
  ImportSummary import(const ImportOptions& with, Input& input) {
    rejected.clear();
    return run_import(store(), input, with,
                      [&](const std::string& position, const std::string& reason) {
                        rejected.push_back({position, reason});
                      });
  }
  ImportSummary import(const ImportOptions& with, std::string_view text) {
    Input input(open_memory(text));
    return import(with, input);
  }
  ImportSummary import_shared(const ImportOptions& with, const std::string& file) {
    Input input(open_file(shared(file)));
    return import(with, input);
  }
  static std::string shared(const std::string& file) {
    return support::source_path("../shared/data/govdata/" + file);
  }
  std::int64_t number(const std::string& sql) { return store().number(sql); }
  std::string text(const std::string& sql) {
    auto row = store().prepare(sql);
    return row.step() ? row.text(0) : "(no row)";
  }

  std::vector<Rejected> rejected;
  support::ManualClock clock{begin_ms};

 private:
  support::TemporaryDirectory folder_;
  std::unique_ptr<Database> store_;
};

// Skips the test with a message if the real data is absent.
#define REQUIRE_SHARED_DATA()                                                               \
  if (!std::filesystem::exists(support::source_path("../shared/data/govdata/README.md"))) { \
    GTEST_SKIP() << "the real governance data (../shared/data/govdata) is not here";        \
  }

inline void expect_counts(const ImportSummary& summary, std::int64_t in, std::int64_t fresh,
                          std::int64_t changed, std::int64_t same, std::int64_t bad = 0) {
  EXPECT_EQ(summary.error, "");
  EXPECT_EQ(summary.rows_in, in);
  EXPECT_EQ(summary.rows_new, fresh);
  EXPECT_EQ(summary.rows_changed, changed);
  EXPECT_EQ(summary.rows_same, same);
  EXPECT_EQ(summary.rows_rejected, bad);
}

// Solidity's ABI encoding, written by hand.
inline std::string word(std::uint64_t value) {
  std::string hex(64, '0');
  for (std::size_t place = 63; value > 0; --place, value /= 16) {
    hex[place] = "0123456789abcdef"[value % 16];
  }
  return hex;
}
inline std::string padded(std::string bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  hex.append((64 - hex.size() % 64) % 64, '0');
  return word(bytes.size()) + hex;
}

}  // namespace turnpike::govdata
