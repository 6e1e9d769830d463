#include "base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

namespace turnpike::base {
namespace {

TEST(LogLine, IsOneJsonObjectWhateverTheFieldsHold) {
  const std::string line =
      render_log_line("2026-01-01T00:00:00.000Z", Severity::warning, "registry_refused",
                      {{"file", "a\"b\\c\nd"}, {"line", 7}, {"kept", true}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["severity"], "warning");
  EXPECT_EQ(object["event"], "registry_refused");
  EXPECT_EQ(object["file"], "a\"b\\c\nd");
  EXPECT_EQ(object["line"], 7);
  EXPECT_EQ(object["kept"], true);
}

TEST(LogLine, LeavesOutFieldsWithAnEmptyText) {
  EXPECT_EQ(render_log_line("2026-01-01T00:00:00.000Z", Severity::info, "access",
                            {{"error", ""}, {"status", 200}, {"reason", ""}, {"bytes", 0}}),
            R"({"time":"2026-01-01T00:00:00.000Z","severity":"info","event":"access",)"
            R"("status":200,"bytes":0})");
}

// A path may contain any bytes; the log line must still be valid and show what was requested.
TEST(LogLine, IsJsonAlsoWhenAFieldIsNotUtf8) {
  const std::string line =
      render_log_line("2026-01-01T00:00:00.000Z", Severity::info, "access",
                      {{"path", "/\xFF\xC3\xA9\x01"}, {"name", "caf\xC3\xA9"}});
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["path"], "/\u00FF\u00C3\u00A9\x01") << "one character for each byte";
  EXPECT_EQ(object["name"], "caf\u00E9");
}

// Texts of every length with every byte at every place, since plain bytes are copied several at a
// time.
TEST(LogLine, IsTheSameTextWhereverItsSpecialCharactersAre) {
  for (std::size_t size = 1; size <= 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 0x80; ++byte) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(byte);
        const std::string line = render_log_line("now", Severity::info, "e", {{"text", text}});
        const auto object = nlohmann::json::parse(line, nullptr, false);
        ASSERT_TRUE(object.is_object()) << line;
        ASSERT_EQ(object["text"], text) << line;
      }
    }
  }
}

TEST(LogLine, TakesNumbersOfEverySize) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto object = nlohmann::json::parse(render_log_line(
      "now", Severity::error, "numbers", {{"least", least}, {"most", most}, {"none", 0}}));
  EXPECT_EQ(object["least"], least);
  EXPECT_EQ(object["most"], most);
  EXPECT_EQ(object["none"], 0);
}

}  // namespace
}  // namespace turnpike::base
