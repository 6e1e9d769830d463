#include "storage/books/settlement.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/crash_points.h"
#include "storage/books/replay_store.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::CrashPoint;

constexpr Query select_message{"SELECT credits_charged FROM fact WHERE message_id = $1", "i"};

// Explains why the batch could not be written: known messages, lost claims, and the given leases.
// Throws StoreError if no reason is left.
ledger::SettleAnswer diagnose(Connection& connection, std::span<const ledger::SettleEntry> entries,
                              std::vector<std::int64_t> lost_leases) {
  ledger::SettleAnswer answer;
  answer.lost_leases = std::move(lost_leases);
  std::unordered_set<std::string_view> seen;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    const std::string_view message = entries[at].fact->message_id;
    if (!seen.insert(message).second) answer.repeated.push_back({at, -1});
    const Rows known = connection.run(select_message, {message});
    if (!known.empty()) answer.repeated.push_back({at, known.number(0, 0)});
    const ledger::ReplyToKeep* const reply = entries[at].reply;
    if (reply != nullptr && !owns_claim(connection, *reply)) answer.lost_claims.push_back(at);
  }
  if (answer.committed()) {
    throw StoreError(StoreError::Kind::unavailable, "a batch was refused for a reason now gone");
  }
  return answer;
}

}  // namespace

bool BatchRows::next() {
  if (entries_.empty()) return false;
  const ledger::SettleEntry& entry = entries_.front();
  entries_ = entries_.subspan(1);
  const ledger::UsageFact& fact = *entry.fact;
  row_ = {.stream = chain_.stream,
          .seq = chain_.next_seq++,
          .message_id = fact.message_id,
          .request_id = fact.request_id,
          .client_request_id = fact.client_request_id,
          .account_id = fact.account_id,
          .api_key_id = fact.api_key_id,
          .occurred_at = fact.occurred_at_ms,
          .route_id = fact.route_id,
          .route_revision = fact.route_revision,
          .method = fact.method,
          .lane = fact.lane,
          .credit_cost = fact.credit_cost,
          .credits_charged = 0,
          .price_version = fact.price_version,
          .generation = fact.generation,
          .outcome_reason = fact.outcome_reason,
          .upstream_status = fact.upstream_status,
          .upstream_ms = fact.upstream_ms,
          .lease_id = entry.shares.empty() ? 0 : entry.shares.front().lease_id};
  shares_.clear();
  for (const ledger::LeaseShare& share : entry.shares) row_.credits_charged += share.units;
  if (entry.shares.size() > 1) {
    row_.lease_id = -1;
    for (const ledger::LeaseShare& share : entry.shares) {
      shares_.push_back({share.lease_id, share.units});
    }
    std::sort(shares_.begin(), shares_.end(),
              [](const auto& left, const auto& right) { return left.lease_id < right.lease_id; });
  }
  chain_.head = ledger::fact_hash(chain_.head, row_, shares_, buffer_);
  hash_ = text::hex(chain_.head);
  return true;
}

// Replaces a broken session.
Connection& BatchStream::session() {
  if (connection_->broken()) connection_ = context_.database.connect();
  return *connection_;
}

ledger::Stored<ledger::SettleAnswer> BatchStream::settle(
    std::int64_t number, std::span<const ledger::SettleEntry> entries) {
  return stored<ledger::SettleAnswer>([&] {
    Connection& connection = session();
    totals_ = lease_totals(entries);
    const bool is_charge = !totals_.empty();
    Batch batch{number, entries, 0, charges_text(totals_)};
    pass(is_charge ? CrashPoint::settle_before : CrashPoint::fact_before);
    for (;;) {
      auto lost = payable_.lost(connection, totals_);
      if (!lost.empty()) return diagnose(connection, entries, std::move(lost));
      batch.fence = payable_.fence();
      BatchRows rows(chain_, entries);
      Written written{};
      try {
        written = write(connection, batch, rows);
        unproven_ = rows.chain();
      } catch (...) {
        unproven_ = rows.chain();
        throw;
      }
      switch (written) {
        case Written::committed:
          accept();
          pass(is_charge ? CrashPoint::settle_after : CrashPoint::fact_after);
          return ledger::SettleAnswer{};
        case Written::refused:
          return diagnose(connection, entries, {});
        case Written::fenced:
          payable_.forget();
      }
    }
  });
}

// Called once per committed batch.
void BatchStream::accept() {
  chain_ = unproven_;
  payable_.charge(totals_);
  totals_.clear();
}

ledger::Stored<bool> BatchStream::committed(std::int64_t number) {
  return stored<bool>([&] {
    connection_ = context_.database.connect();
    if (!find(*connection_, chain_.stream, number)) return false;
    accept();
    return true;
  });
}

ledger::Stored<std::vector<ledger::LeaseAnswer>> BatchStream::acquire(
    std::span<const ledger::LeaseRequest> requests) {
  return stored<std::vector<ledger::LeaseAnswer>>([&] {
    Transaction transaction(session(), Transaction::Kind::write, context_.database.writer());
    hold_postings(transaction, owner_.incarnation);  // blocks postings of the escrow Thread
    auto answers = acquire_leases(context_, transaction, owner_, requests);
    transaction.commit();
    return answers;
  });
}

ledger::Stored<Unit> BatchStream::give_back(std::span<const ledger::LeaseShare> shares) {
  return stored<Unit>([&] {
    Transaction transaction(session(), Transaction::Kind::write, context_.database.writer());
    give_back_units(transaction, shares, ledger_now_ms(context_, transaction));
    transaction.commit();
    return Unit{};
  });
}

}  // namespace turnpike::storage
