// Audit: sums the books from their rows and reports faults: the invariant of books.h for every
// account, postings against allocations and leases, leases against the spend windows of their keys,
// facts against their leases, their chain (chain.h), their batches, and an earlier checkpoint. It
// holds the rules only: storage/ reads the rows, in pieces of any size, as long as
//
//   - the batches of a stream come in the order of their numbers, its facts in the order of theirs,
//     and a batch before its facts;
//   - mutable rows (allocations, leases, windows) come last, as of one moment up to which every
//     posting and fact has come too. A row that comes again replaces its earlier version.
//
// Memory grows with accounts, allocations, leases and windows, not with facts and postings. Used by
// one Thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ledger/audit/chain.h"

namespace turnpike::ledger {

struct BatchRow {
  std::int64_t stream = 0;
  std::int64_t no = 0;
  std::int64_t first_seq = 0;
  std::int64_t facts = 0;
  std::string_view head;
};

struct PostingRow {
  std::int64_t id = 0;
  std::string_view account_id;
  std::string_view allocation_id;
  std::int64_t lease_id = 0;
  std::string_view from_book;
  std::string_view to_book;
  Credits units = 0;
};

struct AllocationRow {
  std::string_view id;
  std::string_view account_id;
  Credits units = 0;
  Credits remaining = 0;
  Credits expired = 0;
  Credits voided = 0;
  std::string_view state;  // open, voiding, voided
};

struct LeaseRow {
  std::int64_t id = 0;
  std::string_view allocation_id;
  std::string_view account_id;
  std::string_view key_id;  // capped key; else empty
  std::int64_t day = 0;     // in which the key's units count
  bool is_open = false;
  Credits granted = 0;
  Credits settled = 0;
};

struct WindowRow {
  std::string_view key_id;
  std::string_view span;  // "day" or "month"
  std::int64_t starts_at_ms = 0;
  Credits taken = 0;
};

class Audit {
 public:
  // `earlier`: a checkpoint that the books must still contain; null: none. Must outlive the audit.
  explicit Audit(const Checkpoint* earlier);

  void batch(const BatchRow& row);
  // `shares` are the rows of fact_share with the fact's number, ordered by lease.
  void fact(const FactRow& row, std::span<const FactShare> shares, std::string_view hash);
  // A row of fact_share without its fact.
  void stray_share(std::int64_t stream, std::int64_t seq, const FactShare& share);
  void posting(const PostingRow& row);
  void allocation(const AllocationRow& row);
  void lease(const LeaseRow& row);
  void window(const WindowRow& row);

  // The last fact of a stream that a batch covers.
  [[nodiscard]] std::int64_t written(std::int64_t stream) const;

  // Call once, after the last row.
  [[nodiscard]] Verification finish(std::int64_t ledger_now_ms);

 private:
  struct BatchEnd {
    std::int64_t no = 0;
    std::int64_t seq = 0;
    std::string head;
  };
  struct Stream {
    std::int64_t written = 0;   // the last fact that a batch covers
    std::int64_t next_seq = 1;  // expected number of the next fact
    // The hashes that the next fact may build on: one; after a changed fact its stored hash and the
    // correct one; none after a missing fact.
    std::vector<crypto::Sha256> before{crypto::Sha256{}};
    std::string head;           // stored hash of the last fact
    std::deque<BatchEnd> ends;  // batches whose last fact has not come yet
  };
  struct AllocationAudit {
    bool is_there = false;
    AllocationRow row;  // without its views
    std::string account_id;
    std::string state;
    std::string posted_on;  // account in its first posting
    bool has_open_lease = false;
    Credits issued = 0, available = 0, expired = 0, voided = 0;  // as posted
  };
  struct LeaseAudit {
    bool is_there = false;
    LeaseRow row;  // without its views
    std::string account_id;
    std::string allocation_id;
    std::string key_id;
    std::string posted_on;              // allocation in its first posting
    Credits granted = 0, returned = 0;  // as posted
    Credits charged = 0;                // by facts
  };
  struct WindowAudit {
    Credits taken = 0;
    Credits counted = 0;  // sum over leases
  };

  void skip_to(Stream& stream, const FactRow& row);
  bool follow(Stream& stream, const FactRow& row, std::span<const FactShare> shares,
              std::string_view hash);
  void end_batches(Stream& stream, const FactRow& row, std::string_view hash);
  void charge(const FactRow& row, std::span<const FactShare> shares);
  void finish_streams(Verification& verification);
  void finish_leases();
  void count_in_windows(const LeaseAudit& lease);
  void finish_allocations();
  void finish_windows();
  void finish_accounts(Verification& verification);
  void compare_totals(const AccountSums& totals);
  void problem(std::string sentence) { problems_.push_back(std::move(sentence)); }

  const Checkpoint* const earlier_;
  std::map<std::int64_t, StreamHead> listed_;  // streams of the earlier checkpoint
  std::map<std::int64_t, Stream> streams_;
  std::map<std::string, AllocationAudit, std::less<>> allocations_;
  std::map<std::int64_t, LeaseAudit> leases_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, WindowAudit> windows_;
  std::map<std::string, AccountSums, std::less<>> accounts_;
  std::vector<std::string> problems_;
  std::string buffer_;  // scratch buffer of fact_hash()
};

}  // namespace turnpike::ledger
