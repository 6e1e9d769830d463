#include "ledger/audit/audit.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ledger/caps.h"

namespace turnpike::ledger {
namespace {

// Damaged rows may hold any number: sums then wrap, differ from the expected ones and are reported.
void add(Credits& sum, Credits units) noexcept {
  sum = static_cast<Credits>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(units));
}
void subtract(Credits& sum, Credits units) noexcept {
  sum = static_cast<Credits>(static_cast<std::uint64_t>(sum) - static_cast<std::uint64_t>(units));
}

std::string in_stream(std::int64_t seq, std::int64_t stream) {
  return "fact " + std::to_string(seq) + " of stream " + std::to_string(stream);
}
std::string name_of(const FactRow& row) {
  return in_stream(row.seq, row.stream) + " (message " + std::string(row.message_id) + ")";
}
std::string name_of(std::int64_t batch, std::int64_t stream) {
  return "batch " + std::to_string(batch) + " of stream " + std::to_string(stream);
}
std::string missing(std::int64_t first, std::int64_t last, std::int64_t stream) {
  if (first == last) return in_stream(first, stream) + " is missing";
  return "facts " + std::to_string(first) + " to " + std::to_string(last) + " of stream " +
         std::to_string(stream) + " are missing";
}

std::optional<crypto::Sha256> from_hex(std::string_view text) {
  crypto::Sha256 bytes;
  if (text.size() != 2 * bytes.size()) return std::nullopt;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const int high = digit(text[2 * at]);
    const int low = digit(text[2 * at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[at] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return bytes;
}

template <class Map>
auto& entry(Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found != map.end() ? found->second : map[std::string(key)];
}

// A valid movement goes from one book to another, and names a lease exactly if escrow is involved.
bool is_movement(const PostingRow& row) {
  constexpr std::array from{"issued", "available", "escrow"};
  constexpr std::array to{"available", "escrow", "expired", "voided"};
  const bool known = std::find(from.begin(), from.end(), row.from_book) != from.end() &&
                     std::find(to.begin(), to.end(), row.to_book) != to.end();
  const bool has_escrow = row.from_book == "escrow" || row.to_book == "escrow";
  return known && row.from_book != row.to_book && row.units > 0 && has_escrow == (row.lease_id > 0);
}

}  // namespace

Audit::Audit(const Checkpoint* earlier) : earlier_(earlier) {
  if (earlier == nullptr) return;
  for (const StreamHead& head : earlier->streams) listed_[head.stream] = head;
}

// ---- streams ------------------------------------------------------------------------------------

void Audit::batch(const BatchRow& row) {
  if (row.facts == 0) return;  // refused, or the tombstone of a batch that was never written
  Stream& stream = streams_[row.stream];
  if (row.facts < 0 || row.first_seq != stream.written + 1) {
    problem(name_of(row.no, row.stream) + " does not follow on the one before: it begins at fact " +
            std::to_string(row.first_seq) + ", not at " + std::to_string(stream.written + 1));
  }
  std::int64_t last = row.first_seq;
  add(last, row.facts - 1);
  stream.written = std::max(stream.written, last);
  stream.ends.push_back({row.no, last, std::string(row.head)});
}

std::int64_t Audit::written(std::int64_t stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.written;
}

void Audit::fact(const FactRow& row, std::span<const FactShare> shares, std::string_view hash) {
  charge(row, shares);
  Stream& stream = streams_[row.stream];
  if (row.seq < 1 || row.seq > stream.written) {
    problem(name_of(row) + " is in no batch: it was inserted, or its batch taken away");
    return;
  }
  if (row.seq > stream.next_seq) skip_to(stream, row);
  stream.next_seq = row.seq + 1;
  if (follow(stream, row, shares, hash)) end_batches(stream, row, hash);
  stream.head = hash;
  const auto listed = listed_.find(row.stream);
  if (listed != listed_.end() && listed->second.seq == row.seq && listed->second.head != hash) {
    problem(name_of(row) + " is not the one that the checkpoint lists");
  }
}

// Facts before this one are missing. If the last missing fact ended a batch, its hash is known from
// that.
void Audit::skip_to(Stream& stream, const FactRow& row) {
  problem(missing(stream.next_seq, row.seq - 1, row.stream));
  stream.before.clear();
  while (!stream.ends.empty() && stream.ends.front().seq < row.seq) {
    const auto head = from_hex(stream.ends.front().head);
    if (stream.ends.front().seq == row.seq - 1 && head) stream.before = {*head};
    stream.ends.pop_front();
  }
}

// Adds the fact to the chain; false: the fact was changed.
bool Audit::follow(Stream& stream, const FactRow& row, std::span<const FactShare> shares,
                   std::string_view hash) {
  const auto carried = from_hex(hash);
  std::vector<crypto::Sha256> after;
  if (carried) after.push_back(*carried);
  bool is_right = carried && stream.before.empty();  // no predecessor to compare with
  for (const crypto::Sha256& before : stream.before) {
    const crypto::Sha256 should = fact_hash(before, row, shares, buffer_);
    is_right = is_right || (carried && *carried == should);
    if (&before == stream.before.data()) after.push_back(should);
  }
  if (is_right) after.resize(1);
  stream.before = std::move(after);
  if (!is_right) {
    problem(name_of(row) + " was changed: its hash is not that of its columns and the fact before");
  }
  return is_right;
}

// REQUIRES: the fact is right by the chain, so a batch that ends with it must have the same hash.
void Audit::end_batches(Stream& stream, const FactRow& row, std::string_view hash) {
  while (!stream.ends.empty() && stream.ends.front().seq <= row.seq) {
    const BatchEnd& end = stream.ends.front();
    if (end.seq == row.seq && end.head != hash) {
      problem(name_of(end.no, row.stream) + " does not end with the hash of " + name_of(row));
    }
    stream.ends.pop_front();
  }
}

void Audit::charge(const FactRow& row, std::span<const FactShare> shares) {
  add(entry(accounts_, row.account_id).charged, row.credits_charged);
  Credits shared = 0;
  for (const FactShare& share : shares) {
    add(shared, share.units);
    add(leases_[share.lease_id].charged, share.units);
  }
  if (row.lease_id > 0) add(leases_[row.lease_id].charged, row.credits_charged);
  const Credits paid = row.lease_id > 0 ? row.credits_charged : shared;
  if (paid != row.credits_charged || (row.lease_id != -1 && !shares.empty())) {
    problem("the charge of " + name_of(row) + " is not what its leases paid");
  }
}

void Audit::stray_share(std::int64_t stream, std::int64_t seq, const FactShare& share) {
  add(leases_[share.lease_id].charged, share.units);
  problem("lease " + std::to_string(share.lease_id) + " paid for " + in_stream(seq, stream) +
          ", which is not there");
}

// ---- postings, allocations, leases --------------------------------------------------------------

void Audit::posting(const PostingRow& row) {
  const std::string name = "posting " + std::to_string(row.id);
  if (!is_movement(row)) problem(name + " is no movement that the books know");
  AllocationAudit& allocation = entry(allocations_, row.allocation_id);
  if (allocation.posted_on.empty()) allocation.posted_on = row.account_id;
  if (allocation.posted_on != row.account_id) {
    problem(name + " is of another account than the first of allocation " +
            std::string(row.allocation_id));
  }
  if (row.from_book == "issued") add(allocation.issued, row.units);
  if (row.from_book == "available") subtract(allocation.available, row.units);
  if (row.to_book == "available") add(allocation.available, row.units);
  if (row.to_book == "expired") add(allocation.expired, row.units);
  if (row.to_book == "voided") add(allocation.voided, row.units);
  if (row.lease_id == 0) return;
  LeaseAudit& lease = leases_[row.lease_id];
  if (lease.posted_on.empty()) lease.posted_on = row.allocation_id;
  if (lease.posted_on != row.allocation_id) {
    problem(name + " is of another allocation than the first of lease " +
            std::to_string(row.lease_id));
  }
  if (row.to_book == "escrow") add(lease.granted, row.units);
  if (row.from_book == "escrow") add(lease.returned, row.units);
}

void Audit::allocation(const AllocationRow& row) {
  AllocationAudit& allocation = entry(allocations_, row.id);
  allocation.is_there = true;
  allocation.account_id = row.account_id;
  allocation.state = row.state;
  allocation.row = row;
  allocation.row.id = allocation.row.account_id = allocation.row.state = {};
}

void Audit::lease(const LeaseRow& row) {
  LeaseAudit& lease = leases_[row.id];
  lease.is_there = true;
  lease.account_id = row.account_id;
  lease.allocation_id = row.allocation_id;
  lease.key_id = row.key_id;
  lease.row = row;
  lease.row.allocation_id = lease.row.account_id = lease.row.key_id = {};
}

void Audit::window(const WindowRow& row) {
  windows_[{std::string(row.key_id), std::string(row.span), row.starts_at_ms}].taken = row.taken;
}

// ---- the end ------------------------------------------------------------------------------------

Verification Audit::finish(std::int64_t ledger_now_ms) {
  Verification verification;
  verification.books.at_ms = ledger_now_ms;
  finish_streams(verification);
  finish_leases();
  finish_allocations();
  finish_windows();
  finish_accounts(verification);
  if (earlier_ != nullptr) compare_totals(verification.books.totals);
  verification.problems = std::move(problems_);
  return verification;
}

void Audit::finish_streams(Verification& verification) {
  for (const auto& [number, stream] : streams_) {
    if (stream.next_seq <= stream.written) {
      problem(missing(stream.next_seq, stream.written, number));
    }
    if (stream.next_seq > 1) {
      verification.books.streams.push_back({number, stream.next_seq - 1, stream.head});
    }
  }
  for (const auto& [number, head] : listed_) {
    const auto found = streams_.find(number);
    const std::int64_t last = found == streams_.end() ? 0 : found->second.next_seq - 1;
    if (last >= head.seq) continue;
    problem("stream " + std::to_string(number) + " ends with fact " + std::to_string(last) +
            ", the checkpoint lists fact " + std::to_string(head.seq));
  }
}

void Audit::finish_leases() {
  for (const auto& [id, lease] : leases_) {
    const std::string name = "lease " + std::to_string(id);
    if (!lease.is_there) {
      problem(name + " is missing: postings or facts name it");
      continue;
    }
    Credits left = lease.row.granted;
    subtract(left, lease.row.settled);
    Credits posted = lease.granted;
    subtract(posted, lease.returned);
    if (posted != lease.row.granted || lease.charged != lease.row.settled ||
        (!lease.row.is_open && left != 0)) {
      problem(name + " does not carry what its postings and facts add up to");
    }
    if (!lease.posted_on.empty() && lease.posted_on != lease.allocation_id) {
      problem(name + " is on another allocation than its postings");
    }
    const auto allocation = allocations_.find(lease.allocation_id);
    if (allocation != allocations_.end() && allocation->second.is_there) {
      if (allocation->second.account_id != lease.account_id) {
        problem(name + " is of another account than its allocation");
      }
      if (lease.row.is_open) allocation->second.has_open_lease = true;
    }
    if (lease.row.is_open) add(entry(accounts_, lease.account_id).leased, left);
    if (!lease.key_id.empty()) count_in_windows(lease);
  }
}

void Audit::count_in_windows(const LeaseAudit& lease) {
  const std::int64_t day = lease.row.day;
  add(windows_[{lease.key_id, "day", day}].counted, lease.row.granted);
  add(windows_[{lease.key_id, "month", utc_month(day).starts_at_ms}].counted, lease.row.granted);
}

void Audit::finish_allocations() {
  for (const auto& [id, allocation] : allocations_) {
    const AllocationRow& row = allocation.row;
    if (!allocation.is_there) {
      problem("allocation " + id + " is missing: postings name it");
      continue;
    }
    if (allocation.issued != row.units || allocation.available != row.remaining ||
        allocation.expired != row.expired || allocation.voided != row.voided) {
      problem("allocation " + id + " does not carry what its postings add up to");
    }
    if (!allocation.posted_on.empty() && allocation.posted_on != allocation.account_id) {
      problem("allocation " + id + " is of another account than its postings");
    }
    // A withdrawn allocation has no free units; it becomes voided when its last lease is closed.
    if (allocation.state != "open" &&
        (row.remaining != 0 || (allocation.state == "voided") == allocation.has_open_lease)) {
      problem("allocation " + id + " is " + allocation.state + ", which does not fit its leases");
    }
    AccountSums& sums = entry(accounts_, allocation.account_id);
    add(sums.granted, row.units);
    add(sums.remaining, row.remaining);
    add(sums.expired, row.expired);
    add(sums.voided, row.voided);
  }
}

void Audit::finish_windows() {
  for (const auto& [window, sums] : windows_) {
    if (sums.taken == sums.counted) continue;
    const auto& [key_id, span, starts_at_ms] = window;
    problem("the " + span + " of key " + key_id + " from " + std::to_string(starts_at_ms) +
            " does not count what its leases carry");
  }
}

void Audit::finish_accounts(Verification& verification) {
  AccountSums& totals = verification.books.totals;
  for (auto& [id, sums] : accounts_) {
    sums.account_id = id;
    if (!sums.balanced()) {
      problem("account " + id + ": granted " + std::to_string(sums.granted) +
              " is not the sum of where the units are");
    }
    add(totals.granted, sums.granted);
    add(totals.remaining, sums.remaining);
    add(totals.leased, sums.leased);
    add(totals.charged, sums.charged);
    add(totals.expired, sums.expired);
    add(totals.voided, sums.voided);
    verification.accounts.push_back(sums);
  }
}

// Totals of units that entered or left the books never decrease.
void Audit::compare_totals(const AccountSums& totals) {
  const AccountSums& then = earlier_->totals;
  const auto compare = [&](std::string_view name, Credits now, Credits before) {
    if (now >= before) return;
    problem(std::string(name) + " in total is " + std::to_string(now) + ", the checkpoint says " +
            std::to_string(before));
  };
  compare("granted", totals.granted, then.granted);
  compare("charged", totals.charged, then.charged);
  compare("expired", totals.expired, then.expired);
  compare("voided", totals.voided, then.voided);
}

}  // namespace turnpike::ledger
