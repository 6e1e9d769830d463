#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/words.h"

namespace turnpike::hosts::dashboard {

namespace {

void fill_gates(site::Slots slots, const ledger::UsageRow& call) {
  for (const Gate& gate : gates_of(call)) {
    site::Slots row = slots.add("GATE");
    row.set("NAME", gate.name);
    row.set("STATE", gate.state);
    row.set("WORD", gate.word);
  }
}

void fill_correction(site::Slots slots, const ledger::UsageRow& call) {
  if (!call.restored) return;
  site::Slots row = slots.add("CORRECTION");
  row.set("ID", call.restored->correction_id);
  row.set("KIND", ledger::name_of(call.restored->kind));
  row.set("UNITS", text::credits_text(call.restored->units));
  row.set("WHEN", when(call.restored->recorded_at_ms));
}

void fill_call(site::Slots slots, const WebRooms& rooms, const AccountPage& page,
               const ledger::CallRecord& record) {
  const ledger::UsageRow& call = record.usage;
  const std::string calls = path_of(page.account_id(), "/calls");
  const std::string_view outcome = ledger::outcome_of(call.outcome_reason);
  slots.set("OPERATION", operation_name(view_of(rooms).get(), call.route_id, call.method));
  slots.set("OPERATION_PATH", Href(calls).add("route_id", call.route_id).text());
  slots.set("ROUTE_ID", call.route_id);
  slots.set("REVISION", call.route_revision);
  slots.set("WHEN", when(call.occurred_at_ms));
  slots.set_if("OWN_ID", call.client_request_id);
  slots.set_if("KEY", page.key_name(call.api_key_id));
  slots.set("KEY_ID", call.api_key_id);
  slots.set("KEY_PATH", Href(calls).add("api_key_id", call.api_key_id).text());
  slots.set("LANE", call.lane);
  slots.set("OUTCOME", outcome);
  slots.set("STATE", state_of(outcome));
  slots.set("REASON", call.outcome_reason);
  slots.set("WHY", why_charged(call));
  slots.set("STATUS", call.upstream_status == 0 ? "none" : std::to_string(call.upstream_status));
  slots.set("MS", figure(call.upstream_ms));
  slots.set("COST", text::credits_text(call.credit_cost));
  slots.set("CHARGED", text::credits_text(call.credits_charged));
  slots.set("PRICE_VERSION", call.price_version);
  slots.set("GENERATION", call.generation);
  slots.set("STREAM", record.stream);
  slots.set("SEQ", record.seq);
  slots.set_if("HASH", record.hash);
  fill_correction(slots, call);
  fill_gates(slots, call);
}

}  // namespace

void show_call(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const std::string& id = asked.parameters[1];
  const auto state = rooms.account.call_state(page->account_id(), id, turn.request_id());
  if (!state.ok()) return refuse_on(rooms, turn, *page, state.error(), "/calls");
  if (state->record) learn_clients(rooms, *page, {state->record->usage.api_key_id});
  const site::Frame frame = frame_of_account(rooms, *page, "Call " + id, "/calls");
  send_account_page(rooms, turn, frame, "dashboard/call.html", [&](site::Slots slots) {
    slots.set("CALLS", path_of(page->account_id(), "/calls"));
    slots.set("ID", state->is_pending ? id : state->record->usage.request_id);
    if (state->is_pending) return slots.show("IS_SETTLING");
    fill_call(slots.add("RECORD"), rooms, *page, *state->record);
  });
}

}  // namespace turnpike::hosts::dashboard
