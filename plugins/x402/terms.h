// Terms: what an operation may be paid in, as a challenge offers it. Operations with the same price
// share them. What is offered changes while the gateway runs: an entry that no facilitator supports
// any more is left out, and on Solana the fee payer is the facilitator's.
//
// Made by bind() and shared by all threads, or made for one purchase. refresh() replaces what is
// offered; the rest is read only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/helpers/mistakes.h>
#include <turnpike/lane.h>

#include "x402/protocol/requirements.h"
#include "x402/remote/facilitator.h"

namespace turnpike::x402 {

// A snapshot of what is offered now.
struct Offered {
  std::vector<PaymentRequirements> accepts;
  std::vector<std::string> canonical;  // of each entry, for MACs
  std::vector<std::string> offer_ids;
  std::uint64_t digest = 0;  // over all entries
};

class Terms {
 public:
  struct Entry {
    PaymentRequirements requirements;
    std::string offer_id;
    std::string asset_key;  // in the registry, like the next
    std::string network_key;
    std::uint32_t decimals = 0;  // of the asset; 0: not known

    // The place of the address in the registry (LaneBinding).
    [[nodiscard]] std::string pay_to_at() const {
      return "registry.networks." + network_key + ".pay_to";
    }
  };

  explicit Terms(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // Takes in what the facilitators support now.
  void refresh(const Facilitators& facilitators);

  // Never null; empty before the first refresh().
  [[nodiscard]] std::shared_ptr<const Offered> offered() const;
  [[nodiscard]] bool is_payable() const noexcept {
    return is_payable_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  const std::vector<Entry> entries_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Offered> offered_ = std::make_shared<const Offered>();
  std::atomic<bool> is_payable_{false};
};

// Reads the entries of `operation`, whose terms the registry has checked. It refuses, at its place
// in the registry, what nobody could pay or whose money would be lost: a token that we know under
// another EIP-712 domain, an address with a wrong checksum, a `pay_to` that is nobody's account.
std::vector<Terms::Entry> read_terms(const PricedOperation& operation,
                                     std::uint32_t max_timeout_seconds, Mistakes& mistakes);

// Returns the id of an offer of these terms, as the registry names it.
std::string offer_id_of(const PaymentRequirements& requirements);

}  // namespace turnpike::x402
