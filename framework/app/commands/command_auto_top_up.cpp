// auto-top-up: the operator's commands on accounts that buy Credits automatically.
#include <iostream>

#include "app/commands/command_database.h"
#include "commerce/auto_top_up_store.h"
#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::app {
namespace {

using commerce::amount_text;
using commerce::AutoTopUp;
using commerce::TopUpStanding;
using nlohmann::json;

json standing_json(const TopUpStanding& standing) {
  const std::int64_t next_ms = standing.next_attempt_ms;
  return {{"state", commerce::name_of(standing.state)},
          {"reason", standing.reason.empty() ? json() : json(standing.reason)},
          {"failures", standing.failures},
          {"nextAttemptAt", next_ms > 0 ? json(text::rfc3339(next_ms)) : json()},
          {"changedAt", text::rfc3339(standing.changed_at_ms)}};
}

std::string standing_text(const TopUpStanding& standing) {
  std::string text(commerce::name_of(standing.state));
  if (!standing.reason.empty()) text += " (" + standing.reason + ")";
  if (standing.failures > 0) text += ", declines in a row: " + std::to_string(standing.failures);
  return text;
}

json top_up_json(const AutoTopUp& seen) {
  json body = standing_json(seen.standing);
  body["billingAccountId"] = seen.policy.account_id;
  body["revision"] = seen.policy.revision;
  body["thresholdCredits"] = std::to_string(seen.policy.threshold);
  body["amount"] = {{"currency", seen.policy.currency},
                    {"amount", amount_text(seen.policy.minor)}};
  body["monthlyLimit"] = {{"currency", seen.policy.currency},
                          {"amount", amount_text(seen.policy.monthly_limit_minor)}};
  body["creditBalance"] = std::to_string(seen.balance);
  body["lastRun"] = seen.last_run ? json(seen.last_run->id) : json();
  return body;
}

std::string top_up_text(const AutoTopUp& seen) {
  return seen.policy.account_id + "  revision " + std::to_string(seen.policy.revision) + "  " +
         standing_text(seen.standing) + "  below " + std::to_string(seen.policy.threshold) +
         " Credits buys for " + amount_text(seen.policy.minor) + " " + seen.policy.currency +
         ", balance " + std::to_string(seen.balance) +
         (seen.last_run ? "  last run " + seen.last_run->id : "");
}

int print_standing(const CommonOptions& options,
                   const Result<std::optional<TopUpStanding>, base::Error>& standing) {
  if (!standing.ok()) return print_failure(options, standing.error().message);
  if (!*standing) return print_failure(options, "the account has no policy that is on");
  std::cout << (options.json ? standing_json(**standing).dump() : standing_text(**standing))
            << '\n';
  return exit_done;
}

}  // namespace

int run_auto_top_up_list(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    const auto list = tools.node.auto_top_ups().list(
        {.after = words.account, .limit = words.limit, .paused_only = words.paused});
    if (!list.ok()) return print_failure(options, list.error().message);
    if (options.json) {
      json all = json::array();
      for (const AutoTopUp& each : *list) all.push_back(top_up_json(each));
      std::cout << all.dump() << '\n';
      return static_cast<int>(exit_done);
    }
    if (list->empty()) std::cout << (words.paused ? "none is paused\n" : "there is none\n");
    for (const AutoTopUp& each : *list) std::cout << top_up_text(each) << '\n';
    return static_cast<int>(exit_done);
  });
}

int run_auto_top_up_resume(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print_standing(options, tools.node.auto_top_ups().resume(words.account,
                                                                    identity::operator_actor()));
  });
}

int run_auto_top_up_pause(const CommonOptions& options, const CommerceWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print_standing(options, tools.node.auto_top_ups().pause(words.account,
                                                                   identity::operator_actor()));
  });
}

}  // namespace turnpike::app
