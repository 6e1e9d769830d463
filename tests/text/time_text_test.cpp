#include "text/time_text.h"

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

TEST(Rfc3339, WritesAndReadsMilliseconds) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'700'000'000'007), "2023-11-14T22:13:20.007Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999Z");
  for (std::int64_t time : {std::int64_t{0}, std::int64_t{1'700'000'000'007}, std::int64_t{-1}}) {
    EXPECT_EQ(parse_rfc3339(rfc3339(time)), time);
  }
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z"), 1'709'164'800'000);
}

TEST(Rfc3339, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-01-01 00:00:00Z", "2024-01-01T00:00:00+01:00", "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00.1Z"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace turnpike::text
