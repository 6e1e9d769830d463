// The status of the operations that an account uses: the account's own results beside the published
// status, and the incidents that affect it. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ledger/statements/usage_summary.h"
#include "site/facts.h"

namespace turnpike::hosts::dashboard {

// The published status of one operation at one moment.
struct PublishedStatus {
  std::string level;  // "operational"
  // Over all callers' calls; nothing: there are too few, or the figure is not known.
  std::optional<double> good_percentage = {};
  std::int64_t window_s = 0;              // the window of those calls
};
std::optional<PublishedStatus> published_status(const site::Facts& facts, std::string_view route_id,
                                                std::string_view method);

struct OpenIncident {
  std::string id;
  std::string scope;
  std::string severity;
  std::string started_at;  // RFC 3339
};
// The incidents of the most called operations, each incident once.
std::vector<OpenIncident> open_incidents(
    const site::Facts& facts, std::span<const ledger::UsageSummary::Operation> operations);

}  // namespace turnpike::hosts::dashboard
