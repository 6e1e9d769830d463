#include "app/gateway_backend.h"

#include <algorithm>

#include "exchange/live_call.h"
#include "plugin/offers.h"

namespace turnpike::app {

namespace {

base::Error no_registry() {
  return {base::ErrorCode::registry_unavailable, "No registry is installed.", 1};
}

// Returns the offerings of the program; empty if null.
std::span<const exchange::Offering> offerings_of(
    const std::shared_ptr<const InService>& program) noexcept {
  if (program == nullptr) return {};
  return program->service->offerings();
}

// Removes "<segment>/" from the beginning of `path`; false: it is not there.
bool take_segment(std::string_view& path, std::string_view segment) noexcept {
  const bool is_there = path.starts_with(segment) && path.substr(segment.size()).starts_with('/');
  if (is_there) path.remove_prefix(segment.size() + 1);
  return is_there;
}

}  // namespace

GatewayBackend::GatewayBackend(const Parts& parts, const Caps& caps)
    : parts_(parts),
      transfers_(caps.heavy_transfers_max, caps.heavy_transfer_wait_ms),
      rules_(parts.runtime.pool()) {
  const auto loops = static_cast<std::uint32_t>(parts_.runtime.loops().size());
  exchange::LoopState::Caps share;
  share.calls_per_account = std::max(1u, (caps.calls_per_account_max + loops - 1) / loops);
  for (std::uint32_t loop = 0; loop < loops; ++loop) {
    slots_.push_back(std::make_unique<LoopSlot>(parts_.serving.published(), share));
  }
}

exchange::Served GatewayBackend::serve(const exchange::Invocation& invocation,
                                       exchange::ReplyWriter& writer) {
  LoopSlot& slot = *slots_[runtime::Loop::current()->index()];
  const auto program = pin_for(slot, invocation);
  exchange::Served served =
      exchange::serve({.service = program ? program->service.get() : nullptr,
                       .loop = slot.state,
                       .authenticator = parts_.authenticator,
                       .transfers = transfers_,
                       .rules = rules_,
                       .clock = parts_.clock},
                      invocation, writer);
  if (served.operation != exchange::Served::no_operation) count(*program, served);
  return served;
}

// Counts the call for or against its provider and the gateway (status/traffic.h).
void GatewayBackend::count(const InService& program, const exchange::Served& served) noexcept {
  using status::TrafficClass;
  TrafficClass what = TrafficClass::not_counted;
  if (served.ending == exchange::Ending::caller_gone) return;
  if (served.error) {
    const registry::Program& registry = program.service->program();
    const registry::Route& route = registry.routes()[registry.operations()[served.operation].route];
    what = status::class_of(*served.error, !route.readiness.ready);
  } else if (served.ending == exchange::Ending::replied &&
             served.upstream_part == exchange::UpstreamPart::worked) {
    what = TrafficClass::good;
  }
  const std::string_view account =
      served.principal == nullptr ? std::string_view() : served.principal->account_id;
  program.traffic->count(runtime::Loop::current()->index(), served.operation, what,
                         served.credits_charged, account);
}

// The program in which an operation was found also serves it, even if a newer program was published
// in between.
GatewayBackend::Pin GatewayBackend::pin_for(LoopSlot& slot,
                                            const exchange::Invocation& invocation) {
  if (invocation.found == nullptr) [[likely]] {
    return slot.view.pin();
  }
  return slot.view.pin_where([wanted = invocation.found->program](const InService& one) {
    return &one.service->program() == wanted;
  });
}

GatewayBackend::Pin GatewayBackend::pin() {
  return slots_[runtime::Loop::current()->index()]->view.pin();
}

std::shared_ptr<const InService> GatewayBackend::in_service() {
  return slots_[runtime::Loop::current()->index()]->view.share();
}

std::shared_ptr<const catalog::View> GatewayBackend::view() {
  const auto program = in_service();
  return program == nullptr ? nullptr : program->view;
}

Result<Document, base::Error> GatewayBackend::document(std::string_view path) {
  constexpr std::int64_t document_timeout_ms = 3'000;
  const auto program = in_service();
  for (const auto offerings : {parts_.processors, offerings_of(program)}) {
    for (const exchange::Offering& offering : offerings) {
      const auto& paths = offering.offers.documents;
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) continue;
      exchange::LiveCall call("", runtime::Deadline::after_ms(document_timeout_ms), nullptr);
      auto document = offering.object->document(path, call);
      if (document.ok() && *document) return **std::move(document);
      if (document.ok()) continue;  // another upstream of the provider may have it
      return base::Error{base::ErrorCode::gateway_internal, "The document cannot be made now.", 1};
    }
  }
  if (program == nullptr) return no_registry();
  return base::Error{base::ErrorCode::request_not_found, "There is no such document."};
}

Result<hosts::Intake, base::Error> GatewayBackend::find_intake(std::string_view path) {
  const auto program = in_service();
  for (const auto offerings : {parts_.processors, offerings_of(program)}) {
    for (const exchange::Offering& offering : offerings) {
      std::string_view rest = path;
      if (!take_segment(rest, offering.plugin)) continue;
      if (!offering.upstream_id.empty() && !take_segment(rest, offering.upstream_id)) continue;
      const IntakePath* row = plugin::find_intake(offering.offers.intake, rest);
      if (row == nullptr) continue;
      return hosts::Intake{offering.plugin, row, rest, offering.object, program};
    }
  }
  if (program == nullptr) return no_registry();
  return base::Error{base::ErrorCode::request_not_found, "No plugin takes requests at this path."};
}

hosts::Health GatewayBackend::health() {
  const auto program = in_service();
  const ledger::LedgerHealth ledger = parts_.ledger.health();
  hosts::Health health;
  // Differences between the files and the program in service are reported, but the program is still
  // ready.
  health.checks.push_back(
      {"registry", program != nullptr,
       program != nullptr ? parts_.serving.standing() : "no valid program is installed"});
  health.checks.push_back(
      {"database", ledger.available, ledger.available ? "" : "the database does not answer"});
  if (is_stopping_.load(std::memory_order_relaxed)) {
    health.checks.push_back({"running", false, "the gateway is stopping"});
  }
  // Paid calls do not need Redis, so this node is as ready as any other.
  if (parts_.redis != nullptr && !parts_.redis->is_reachable()) {
    health.relaxed.push_back(parts_.without_redis);
  }
  if (parts_.is_durability_relaxed) {
    health.relaxed.emplace_back(
        "Charges are answered before the disk has them: the last ones may be lost in a crash.");
  }
  if (parts_.takes_passwords) {
    health.relaxed.emplace_back(
        "A password alone signs people in and lets them spend (identity.password.enabled).");
  }
  if (ledger.is_alone) {
    health.relaxed.emplace_back(
        "PostgreSQL waits for no standby (synchronous_standby_names): after a failover the last"
        " charges may be missing.");
  }
  if (ledger.expiry_paused) {
    health.relaxed.emplace_back("The clock jumped: expiry of Credits is paused.");
  }
  return health;
}

void GatewayBackend::refresh_loops() {
  for (const auto& loop : parts_.runtime.loops()) {
    loop->post([slot = slots_[loop->index()].get()] { slot->view.refresh(); });
  }
}

}  // namespace turnpike::app
