// UsageFact: everything the books record about one paid call (docs/decisions.md, "Accounts and
// Credits"). OwnedFact: one with the bytes that it refers to, so that it may outlive the call and
// go to other Threads.
//
// Values; each used by one Thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace turnpike::ledger {

struct UsageFact {
  std::string_view message_id;  // UUIDv7, unique: the same message is never charged twice
  std::string_view request_id;
  std::string_view client_request_id;
  std::string_view account_id;
  std::string_view api_key_id;
  std::int64_t occurred_at_ms = 0;
  std::string_view route_id;
  std::uint32_t route_revision = 0;
  std::string_view method;
  std::string_view lane;
  std::uint32_t credit_cost = 0;
  std::uint32_t price_version = 0;
  std::string_view generation;
  bool charged = false;
  std::string_view outcome_reason;  // "success", "upstream_status", ...
  std::int32_t upstream_status = 0;
  std::uint32_t upstream_ms = 0;
};

// The reason of a call whose provider did its work, and which could not be charged: its reply was
// withheld.
inline constexpr std::string_view settlement_failed = "settlement_failed";
// The reason of a call that was answered with the stored reply of another (replay.h).
inline constexpr std::string_view replayed = "replayed";

// One allocation: the fact, then its bytes. A moved one may only be destroyed or assigned to.
class OwnedFact {
 public:
  OwnedFact(const UsageFact& fact);  // implicit: whoever keeps a fact says so by its parameter
  [[nodiscard]] const UsageFact& view() const noexcept { return *fact_; }

  // How the call ended. `reason` is a literal: its bytes are not copied.
  void end(bool charged, std::string_view reason, std::int32_t upstream_status,
           std::uint32_t upstream_ms) noexcept {
    fact_->charged = charged;
    fact_->outcome_reason = reason;
    fact_->upstream_status = upstream_status;
    fact_->upstream_ms = upstream_ms;
  }

 private:
  std::unique_ptr<std::byte[]> block_;
  UsageFact* fact_;  // in the block
};

}  // namespace turnpike::ledger
