#include "hosts/dashboard/call_rows.h"

#include <utility>
#include <vector>

#include "hosts/dashboard/words.h"

namespace turnpike::hosts::dashboard {

void learn_clients(const WebRooms& rooms, AccountPage& page,
                   std::span<const ledger::UsageRow> calls) {
  std::vector<std::string> ids;
  for (const ledger::UsageRow& call : calls) ids.push_back(call.api_key_id);
  learn_clients(rooms, page, std::move(ids));
}

void fill_call_rows(site::Slots slots, const AccountPage& page, const catalog::View* view,
                    std::span<const ledger::UsageRow> calls) {
  const std::string path = path_of(page.account_id(), "/calls");
  slots.show_if(calls.empty(), "HAS_NONE");
  slots.show_if(!calls.empty(), "HAS_SOME");
  for (const ledger::UsageRow& call : calls) {
    const std::string_view outcome = ledger::outcome_of(call.outcome_reason);
    site::Slots row = slots.add("CALL");
    row.set("PATH", path + "/" + call.message_id);
    row.set("WHEN", when(call.occurred_at_ms));
    row.set("ID", call.request_id);
    row.set_if("OWN_ID", call.client_request_id);
    row.set_long_name("OPERATION", operation_name(view, call.route_id, call.method));
    row.set("OPERATION_PATH", Href(path).add("route_id", call.route_id).text());
    row.set_if("KEY", page.key_name(call.api_key_id));
    row.set("KEY_ID", call.api_key_id);
    row.set("KEY_PATH", Href(path).add("api_key_id", call.api_key_id).text());
    row.set("OUTCOME", outcome);
    row.set("STATE", state_of(outcome));
    row.set("REASON", call.outcome_reason);
    row.set("STATUS", call.upstream_status == 0 ? "-" : std::to_string(call.upstream_status));
    row.set("MS", figure(call.upstream_ms));
    row.set("CHARGED", figure(call.credits_charged));
    if (call.restored) row.set_if("RESTORED", figure(call.restored->units));
  }
}

}  // namespace turnpike::hosts::dashboard
