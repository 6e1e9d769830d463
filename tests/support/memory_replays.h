// MemoryReplays: Idempotency-Keys in memory, with the rules of ledger/replay.h, for tests of the
// users of that port. A fake ledger reports charges to it. Used by one Thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ledger/replay.h"

namespace turnpike::support {

class MemoryReplays final : public ledger::Replays {
 public:
  struct Row {
    ledger::Claim claim;
    std::optional<ledger::ClaimAnswer> charged;  // the answer to a repeat; empty while claimed
    ledger::KeptReply kept_before;
  };

  Result<ledger::ClaimAnswer, base::Error> claim(const ledger::Claim& claim) override {
    using Kind = ledger::ClaimAnswer::Kind;
    ++claims;
    if (failure) return *failure;
    const auto [row, is_new] = rows.try_emplace(claim.key_digest, Row{claim, {}, {}});
    if (is_new) return ledger::ClaimAnswer{};
    if (row->second.claim.request_digest != claim.request_digest) return error_of(Kind::conflict);
    if (!row->second.charged) return error_of(Kind::in_progress);
    if (row->second.charged->kind != Kind::replay) return error_of(row->second.charged->kind);
    return *row->second.charged;
  }

  Result<Unit, base::Error> keep(const ledger::ReplyToKeep& reply) override {
    if (failure) return *failure;
    rows.at(reply.key_digest).kept_before = reply.reply;
    return Unit{};
  }

  void free(const ledger::Claim& claim) noexcept override { rows.erase(claim.key_digest); }

  // The ledger calls this when it has charged the call that holds the claim.
  void charge(const ledger::ReplyToKeep& reply) {
    using How = ledger::ReplyToKeep::How;
    using Kind = ledger::ClaimAnswer::Kind;
    Row& row = rows.at(reply.key_digest);
    if (reply.how == How::too_large) {
      row.charged = ledger::ClaimAnswer{Kind::not_stored, {}};
    } else {
      const bool is_kept = reply.how == How::kept_before;
      row.charged = ledger::ClaimAnswer{Kind::replay, is_kept ? row.kept_before : reply.reply};
    }
  }

  std::map<std::string, Row> rows;
  std::optional<base::Error> failure;
  int claims = 0;
};

}  // namespace turnpike::support
