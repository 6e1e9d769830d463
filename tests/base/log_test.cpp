#include "base/log.h"

#include <gtest/gtest.h>

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

// A caller writes his path as he likes; what he did must be found in the log all the same.
TEST(LogLine, IsJsonAlsoWhenAFieldIsNotUtf8) {
  const std::string line =
      render_log_line("2026-01-01T00:00:00.000Z", Severity::info, "access",
                      {{"path", "/\xFF\xC3\xA9\x01"}, {"name", "caf\xC3\xA9"}});
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["path"], "/\u00FF\u00C3\u00A9\x01") << "one character for each byte";
  EXPECT_EQ(object["name"], "caf\u00E9");
}

}  // namespace
}  // namespace turnpike::base
