#include "ledger/caps.h"

#include <gtest/gtest.h>

#include "text/time_text.h"

namespace turnpike::ledger {
namespace {

std::int64_t at(const char* time) { return *text::parse_rfc3339(time); }

TEST(Caps, DaysBeginAtMidnightUtc) {
  const SpendWindow day = utc_day(at("2026-03-29T02:30:00.000Z"));
  EXPECT_EQ(text::rfc3339(day.starts_at_ms), "2026-03-29T00:00:00.000Z");
  EXPECT_EQ(text::rfc3339(day.ends_at_ms), "2026-03-30T00:00:00.000Z");
  EXPECT_EQ(utc_day(day.ends_at_ms).starts_at_ms, day.ends_at_ms);
  EXPECT_EQ(utc_day(day.ends_at_ms - 1).starts_at_ms, day.starts_at_ms);
}

TEST(Caps, MonthsAreAsLongAsTheCalendarSays) {
  const auto month = [](const char* time) { return utc_month(at(time)); };
  EXPECT_EQ(text::rfc3339(month("2028-02-29T23:59:59.999Z").starts_at_ms),
            "2028-02-01T00:00:00.000Z");
  EXPECT_EQ(text::rfc3339(month("2028-02-29T23:59:59.999Z").ends_at_ms),
            "2028-03-01T00:00:00.000Z");
  EXPECT_EQ(text::rfc3339(month("2026-12-31T12:00:00.000Z").ends_at_ms),
            "2027-01-01T00:00:00.000Z");
}

}  // namespace
}  // namespace turnpike::ledger
