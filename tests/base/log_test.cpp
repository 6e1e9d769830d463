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

}  // namespace
}  // namespace turnpike::base
