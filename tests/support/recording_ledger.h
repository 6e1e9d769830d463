// RecordingLedger: a ledger without books. It keeps what it is asked and answers as the test says.
// Used by one Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "support/memory_replays.h"

namespace turnpike::support {

class RecordingLedger final : public ledger::Ledger {
 public:
  // A copy of a ledger::UsageFact, which ends with its call.
  struct Fact {
    std::string message_id, request_id, client_request_id, account_id, api_key_id, route_id, method,
        lane, generation, outcome_reason;
    std::int64_t occurred_at_ms = 0;
    std::uint32_t credit_cost = 0;
    std::uint32_t price_version = 0;
    bool charged = false;
    std::int32_t upstream_status = 0;
    std::uint32_t upstream_ms = 0;
  };

  RecordingLedger() = default;
  // Adds "hold:<account>:<units>", "settle:<reason>" and "release:<reason>" to `journal`, which
  // outlives the ledger.
  explicit RecordingLedger(std::vector<std::string>& journal) : journal_(&journal) {}

  Result<ledger::Hold, base::Error> hold(const ledger::Payer& payer, ledger::Credits units,
                                         runtime::Deadline until) override {
    held = {std::string(payer.account_id), units};
    capped_key = payer.capped_key_id;
    held_until = until;
    if (hold_error.has_value()) return *hold_error;
    note("hold:" + held.first + ":" + std::to_string(units));
    return ledger::Hold(nullptr, units);
  }
  ledger::Settlement settle(ledger::Hold hold, ledger::OwnedFact fact,
                            std::unique_ptr<const ledger::ReplyToKeep> reply) override {
    settled.push_back(copy(fact.view()));
    settled_units = hold.units();
    note("settle:" + settled.back().outcome_reason);
    if (while_settling) while_settling();
    if (reply != nullptr && std::holds_alternative<ledger::Settled>(settlement)) {
      replays.charge(*reply);
    }
    kept = std::move(reply);
    return settlement;
  }
  void release(ledger::Hold hold, ledger::OwnedFact fact) noexcept override {
    released.push_back(copy(fact.view()));
    released_units = hold.units();
    note("release:" + released.back().outcome_reason);
  }
  Result<ledger::Balance, base::Error> balance(std::string_view, runtime::Deadline) override {
    return ledger::Balance{};
  }

  // What it answers.
  std::optional<base::Error> hold_error;
  ledger::Settlement settlement = ledger::Settled{1, 41};
  MemoryReplays replays;
  std::function<void()> while_settling;

  // What it was asked.
  std::pair<std::string, ledger::Credits> held;
  std::string capped_key;
  runtime::Deadline held_until;
  std::unique_ptr<const ledger::ReplyToKeep> kept;
  std::vector<Fact> settled;
  std::vector<Fact> released;
  ledger::Credits settled_units = 0;
  ledger::Credits released_units = 0;

 private:
  static Fact copy(const ledger::UsageFact& from) {
    return {std::string(from.message_id),
            std::string(from.request_id),
            std::string(from.client_request_id),
            std::string(from.account_id),
            std::string(from.api_key_id),
            std::string(from.route_id),
            std::string(from.method),
            std::string(from.lane),
            std::string(from.generation),
            std::string(from.outcome_reason),
            from.occurred_at_ms,
            from.credit_cost,
            from.price_version,
            from.charged,
            from.upstream_status,
            from.upstream_ms};
  }
  void note(std::string event) {
    if (journal_ != nullptr) journal_->push_back(std::move(event));
  }

  std::vector<std::string>* const journal_ = nullptr;
};

}  // namespace turnpike::support
