#include "ledger/caps.h"

#include <chrono>

namespace turnpike::ledger {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::months;
using std::chrono::sys_days;

sys_days day_of(std::int64_t at_ms) noexcept {
  return std::chrono::floor<days>(std::chrono::sys_time<milliseconds>(milliseconds(at_ms)));
}

}  // namespace

SpendWindow utc_day(std::int64_t at_ms) noexcept {
  const sys_days day = day_of(at_ms);
  return {ms_of(day), ms_of(day + days(1))};
}

SpendWindow utc_month(std::int64_t at_ms) noexcept {
  const std::chrono::year_month_day day(day_of(at_ms));
  const auto first = day.year() / day.month() / 1;
  return {ms_of(first), ms_of(first + months(1))};
}

}  // namespace turnpike::ledger
