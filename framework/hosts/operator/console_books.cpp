// Revenue and ledger: totals of the books. The sums of usage come from the index, so the last
// seconds may be missing.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "hosts/operator/console.h"
#include "hosts/operator/console_text.h"
#include "site/terms_text.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using ledger::BookCheck;
using ledger::BookCheckKind;

constexpr std::int64_t days_shown = 30;
constexpr std::int64_t day_ms = 86'400'000;
constexpr std::uint32_t corrections_shown = 25;
constexpr std::uint32_t heads_shown = 10;
constexpr std::uint32_t checks_shown = 5;

struct RevenueDay {
  ledger::UsageSums usage;
  ledger::Credits sold = 0;     // purchases and top-ups
  ledger::Credits granted = 0;  // starter and operators' grants
  ledger::Credits restored = 0;
};

void add(RevenueDay& day, const ledger::IssuedUnits& issued) {
  switch (issued.origin) {
    case ledger::Origin::purchase:
    case ledger::Origin::auto_top_up:
      day.sold += issued.units;
      break;
    case ledger::Origin::correction:
      day.restored += issued.units;
      break;
    case ledger::Origin::starter_grant:
    case ledger::Origin::operator_grant:
      day.granted += issued.units;
      break;
  }
}

void set_day(site::Slots row, const RevenueDay& day) {
  row.set("CALLS", count_text(day.usage.requests));
  row.set("CHARGED", count_text(day.usage.charged));
  row.set("NOT_CHARGED", count_text(day.usage.released));
  site::set_credits(row, "SPENT", day.usage.credits);
  site::set_credits(row, "SOLD", day.sold);
  site::set_credits(row, "GRANTED", day.granted);
  site::set_credits(row, "RESTORED", day.restored);
}

void show_days(const ConsoleLook& look, const std::map<std::int64_t, RevenueDay>& days,
               site::Slots slots) {
  const std::int64_t first = look.today() - days_shown + 1;
  RevenueDay all;
  std::vector<std::pair<std::string, std::int64_t>> spent;
  for (std::int64_t day = first; day <= look.today(); ++day) {
    const auto found = days.find(day);
    spent.emplace_back(day_text(day), found == days.end() ? 0 : found->second.usage.credits);
  }
  for (auto at = days.rbegin(); at != days.rend(); ++at) {
    const RevenueDay& day = at->second;
    site::Slots row = slots.add("DAY");
    row.set("DAY", day_text(at->first));
    set_day(row, day);
    all.usage += day.usage;
    all.sold += day.sold;
    all.granted += day.granted;
    all.restored += day.restored;
  }
  set_day(slots.add("TOTAL"), all);
  slots.set("BARS_SVG", bars(spent, "Credits spent on each of the last 30 days"));
  slots.show_if(days.empty(), "HAS_NO_DAY");
  slots.show_if(!days.empty(), "HAS_DAY");
}

std::string label_of_lane(const base::Reading& reading, const char* name) {
  const auto found = reading.labels.find(name);
  return found == reading.labels.end() ? std::string() : found->second;
}

void show_lanes(const ConsoleLook& look, site::Slots slots) {
  std::map<std::string, std::pair<double, double>> lanes;  // answered, refused
  for (const base::Reading& reading : look.metrics.read("turnpike_lane_calls_total")) {
    auto& lane = lanes[label_of_lane(reading, "lane")];
    (label_of_lane(reading, "outcome") == "answered" ? lane.first : lane.second) += reading.value;
  }
  for (const auto& [name, counts] : lanes) {
    site::Slots row = slots.add("LANE");
    row.set("NAME", name);
    row.set("ANSWERED", count_text(static_cast<std::int64_t>(counts.first)));
    row.set("REFUSED", count_text(static_cast<std::int64_t>(counts.second)));
  }
  slots.show_if(lanes.empty(), "HAS_NO_LANE");
  slots.show_if(!lanes.empty(), "HAS_LANE");
}

// Payments to lanes with a currency of their own, as their plugins count them
// (framework/sdk/README.md): by currency, the calls and the smallest units.
struct Paid {
  std::int64_t calls = 0;
  std::int64_t units = 0;
};

std::map<std::string, Paid> paid_in(std::string_view metrics) {
  constexpr std::string_view calls = "turnpike_plugin_paid_calls_";
  constexpr std::string_view units = "turnpike_plugin_paid_units_";
  std::map<std::string, Paid> paid;
  for (std::size_t at = 0; at < metrics.size();) {
    const std::size_t end = std::min(metrics.find('\n', at), metrics.size());
    const std::string_view line = metrics.substr(at, end - at);
    at = end + 1;
    const bool is_calls = line.starts_with(calls);
    if (!is_calls && !line.starts_with(units)) continue;
    const std::size_t name_end = line.find("_total{");
    const std::size_t value = line.rfind(' ');
    if (name_end == line.npos || value == line.npos) continue;
    Paid& one = paid[std::string(line.substr(calls.size(), name_end - calls.size()))];
    const auto number = static_cast<std::int64_t>(
        std::strtod(std::string(line.substr(value + 1)).c_str(), nullptr));
    (is_calls ? one.calls : one.units) += number;
  }
  return paid;
}

void show_paid(const ConsoleLook& look, site::Slots slots) {
  const auto paid = paid_in(look.metrics.text());
  for (const auto& [currency, sums] : paid) {
    site::Slots row = slots.add("PAID");
    row.set("CURRENCY", currency);
    row.set("CALLS", count_text(sums.calls));
    row.set("UNITS", count_text(sums.units));
  }
  slots.show_if(paid.empty(), "HAS_NO_PAID");
  slots.show_if(!paid.empty(), "HAS_PAID");
}

void show_expiring(const std::vector<ledger::ExpiringUnits>& days, site::Slots slots) {
  for (const ledger::ExpiringUnits& day : days) {
    site::Slots row = slots.add("EXPIRING");
    row.set("DAY", day_text(day.day));
    row.set("CREDITS", count_text(day.units));
    row.set("ALLOCATIONS", count_text(day.allocations));
  }
  slots.show_if(days.empty(), "HAS_NO_EXPIRING");
  slots.show_if(!days.empty(), "HAS_EXPIRING");
}

void show_check(const ConsoleLook& look, const BookCheck& check, site::Slots slots) {
  slots.set("AT", time_text(check.at_ms));
  slots.set("AGE", age_text(look.now_ms() - check.at_ms));
  slots.set("FACTS", count_text(check.facts));
  slots.set("ACCOUNTS", count_text(check.accounts));
  slots.set("CLASS", check.problems == 0 ? "ok" : "bad");
  slots.set("STATE", check.problems == 0 ? "the books are right"
                                         : text::counted(check.problems, "problem"));
  slots.set_if("PROBLEM", check.first_problem);
}

std::optional<Error> show_checks(const ConsoleLook& look, site::Slots slots) {
  const auto verified = look.parts.reports.checks(BookCheckKind::verified, checks_shown);
  if (!verified.ok()) return verified.error();
  const auto signed_last = look.parts.reports.checks(BookCheckKind::checkpoint, 1);
  if (!signed_last.ok()) return signed_last.error();
  for (const BookCheck& check : *verified) show_check(look, check, slots.add("CHECK"));
  slots.show_if(verified->empty(), "WAS_NEVER_VERIFIED");
  slots.show_if(!verified->empty(), "WAS_VERIFIED");
  slots.set("VERIFIED_AGE",
            verified->empty() ? "never" : age_text(look.now_ms() - verified->front().at_ms));
  slots.set("VERIFIED_STATE", verified->empty() ? "the books were not added up yet"
                              : verified->front().problems == 0
                                  ? "since the books were added up: they were right"
                                  : "since the books were added up: problems were found");
  slots.set("SIGNED_AGE", signed_last->empty()
                              ? "never"
                              : age_text(look.now_ms() - signed_last->front().at_ms));
  slots.set("SIGNED_STATE", signed_last->empty()
                                ? std::string("no checkpoint was signed yet")
                                : "since the last checkpoint, of " +
                                      text::counted(signed_last->front().facts, "fact"));
  return std::nullopt;
}

ledger::CorrectionQuery correction_query(const ConsoleLook& look) {
  ledger::CorrectionQuery query;
  query.limit = corrections_shown + 1;
  const auto at_ms = text::parse_rfc3339(look.asked.query.find("before").value_or(""));
  if (at_ms) {
    query.before_recorded_at_ms = *at_ms;
    query.before_id = look.asked.query.find("before_id").value_or("");
  }
  return query;
}

std::optional<Error> show_corrections(const ConsoleLook& look, site::Slots slots) {
  auto list = look.corrections.list(correction_query(look));
  if (!list.ok()) return list.error();
  const bool has_more = list->size() > corrections_shown;
  if (has_more) list->pop_back();
  for (const ledger::MadeCorrection& one : *list) {
    site::Slots row = slots.add("CORRECTION");
    row.set("AT", time_text(one.made.recorded_at_ms));
    row.set("ACCOUNT", one.account_id);
    row.set("MESSAGE", one.made.message_id);
    row.set("KIND", ledger::name_of(one.made.kind));
    row.set("CREDITS", count_text(one.made.units));
    row.set("REASON", one.made.reason);
    row.set_if("REFERENCE", one.made.reference);
    row.set("WHO", one.operator_name.empty() ? one.made.operator_id : one.operator_name);
  }
  slots.show_if(list->empty(), "HAS_NO_CORRECTION");
  slots.show_if(!list->empty(), "HAS_CORRECTION");
  if (has_more) {
    site::Slots older = slots.add("OLDER");
    older.set("BEFORE", text::rfc3339(list->back().made.recorded_at_ms));
    older.set("BEFORE_ID", list->back().made.id);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> fill_revenue(const ConsoleLook& look, site::Slots slots) {
  const std::int64_t first = look.today() - days_shown + 1;
  const auto usage = look.parts.usage.days(first);
  if (!usage.ok()) return usage.error();
  const auto issued = look.parts.reports.issued(first);
  if (!issued.ok()) return issued.error();
  const auto expiring =
      look.parts.reports.expiring(look.now_ms(), look.now_ms() + days_shown * day_ms);
  if (!expiring.ok()) return expiring.error();
  std::map<std::int64_t, RevenueDay> days;
  for (const ledger::DaySums& day : *usage) days[day.day].usage = day.sums;
  for (const ledger::IssuedUnits& units : *issued) add(days[units.day], units);
  show_days(look, days, slots);
  show_lanes(look, slots);
  show_paid(look, slots);
  show_expiring(*expiring, slots);
  slots.set("STARTED", time_text(look.parts.source.started_at_ms()));
  return std::nullopt;
}

std::optional<Error> fill_ledger(const ConsoleLook& look, site::Slots slots) {
  const auto leased = look.parts.reports.leased();
  if (!leased.ok()) return leased.error();
  site::set_credits(slots, "LEASED", leased->units);
  slots.set("LEASES", count_text(leased->leases));
  if (auto problem = show_checks(look, slots)) return problem;
  const auto heads = look.parts.reports.heads(heads_shown);
  if (!heads.ok()) return heads.error();
  for (const ledger::StreamHead& head : *heads) {
    site::Slots row = slots.add("HEAD");
    row.set("STREAM", head.stream);
    row.set("SEQ", count_text(head.seq));
    row.set("HASH", head.head);
  }
  slots.show_if(!heads->empty(), "HAS_HEAD");
  slots.show_if(heads->empty(), "HAS_NO_HEAD");
  slots.set("FORM_KEY", look.form_key);
  slots.set("CORRECT_ACCOUNT", look.asked.query.find("account").value_or(""));
  slots.set("CORRECT_MESSAGE", look.asked.query.find("message").value_or(""));
  return show_corrections(look, slots);
}

}  // namespace turnpike::hosts::operators
