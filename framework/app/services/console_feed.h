// ConsoleFeed: the facts of this process and of its registry that the operator console shows
// (hosts/operator/console_source.h), collected from the other parts.
//
// Owned by the gateway; called from the blocking pool.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/config/warnings.h"
#include "app/generations.h"
#include "app/services/status_services.h"
#include "app/serving.h"
#include "hosts/operator/console_source.h"
#include "ledger/escrow/escrow_ledger.h"

namespace turnpike::app {

class ConsoleFeed final : public hosts::operators::ConsoleSource {
 public:
  struct Parts {
    const Serving& serving;
    const Generations& generations;
    const ledger::EscrowLedger& ledger;
    StatusServices& status;
    registry::ManifestStore& manifest;
    std::span<const exchange::LaneSlot> lanes;
    std::string registry_path;
    std::vector<Warning> warnings;  // of this start
    std::int64_t started_at_ms = 0;
  };
  explicit ConsoleFeed(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] std::int64_t started_at_ms() const override { return parts_.started_at_ms; }
  [[nodiscard]] std::vector<std::string> warnings() const override;
  [[nodiscard]] std::vector<ledger::OpenCall> unknown_calls(std::size_t most) const override {
    return parts_.ledger.unknown_calls(most);
  }
  [[nodiscard]] hosts::operators::RegistryNews news() const override;
  [[nodiscard]] std::string stream() const override { return parts_.status.stream(); }
  [[nodiscard]] std::vector<hosts::operators::UpstreamNow> upstreams() const override;
  [[nodiscard]] Result<hosts::operators::ProgramChanges, base::Error> changes(
      std::string_view before, std::string_view after) const override;

 private:
  [[nodiscard]] Result<std::shared_ptr<const registry::Program>, base::Error> program_of(
      std::string_view generation_id) const;

  const Parts parts_;
};

// Returns the routes on which two programs differ: in their own definition, price or free policy.
std::vector<hosts::operators::TouchedRoute> touched_routes(
    const registry::Program& before, const registry::Program& after,
    const std::vector<registry::EntryChange>& changes);

}  // namespace turnpike::app
