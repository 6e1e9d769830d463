// Crash points: the places of a paid call at which the test build of the gateway can be made to
// stop dead: before and after each durable write and each step over the network. tests/e2e iterates
// over this list, kills a real gateway at every point, and writes the remaining state to
// framework/ledger/CRASHES.md, and for payments per call to plugins/x402/CRASHES.md. Calls do not
// pass the points of a status round, "round_...": tests/conformance kills a process there.
// tests/e2e tests the points of buying Credits, "purchase_..." and "refund_...", separately.
//
// In every other build pass() does nothing. The test build (tests/crash) compiles files that have
// points a second time, with TURNPIKE_CRASH_POINTS. Any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::base {

// Name, and what has been done when a call passes the point.
#define TURNPIKE_CRASH_POINT_LIST(X)                                       \
  X(request_read, "the request is read and found good")                    \
  X(claim_before, "the Idempotency-Key is about to be claimed")            \
  X(claim_after, "the claim is durable")                                   \
  X(lease_before, "units are about to be leased")                          \
  X(lease_after, "the lease is durable")                                   \
  X(upstream_before, "the request is about to be sent to the upstream")    \
  X(upstream_sent, "the request has been sent to the upstream")            \
  X(upstream_begun, "the head of the upstream's reply has come")           \
  X(upstream_whole, "the upstream's reply has come whole")                 \
  X(keep_before, "a reply over 64 KiB is about to be written for repeats") \
  X(keep_after, "that reply is durable, and does not count yet")           \
  X(settle_before, "the settlement is about to be written")                \
  X(settle_after, "the settlement is durable; nobody knows")               \
  X(free_before, "the key of an uncharged call is about to be freed")      \
  X(free_after, "the key is free, durably")                                \
  X(reply_before, "the first byte of the reply is about to be sent")       \
  X(reply_begun, "the first bytes of the reply are sent")                  \
  X(reply_ends, "the last byte of the reply is about to be sent")          \
  X(reply_ended, "the last byte of the reply is sent")                     \
  X(fact_before, "the record of an uncharged call is about to be written") \
  X(fact_after, "that record is durable")                                  \
  X(post_before, "what was charged is about to be posted to its lease")    \
  X(post_after, "that posting is durable")                                 \
  X(record_before, "records of a plugin are about to be written")          \
  X(record_after, "those records are durable")                             \
  X(round_before, "a round of the status is about to be written")          \
  X(round_row, "its row and lines are written, not committed")             \
  X(round_book, "so are the book, the set of targets and the key")         \
  X(round_changes, "so are segments and incidents")                        \
  X(round_after, "the round is durable; nobody knows")                     \
  X(purchase_opened, "a purchase is durable; its processor knows nothing") \
  X(purchase_begun, "its processor has begun it; we do not know where")    \
  X(purchase_hinted, "a notice is durable, and not answered")              \
  X(purchase_looked, "its processor was asked what became of it")          \
  X(purchase_before, "a step of a purchase is about to be written")        \
  X(purchase_after, "the step is durable; nobody knows")                   \
  X(purchase_charged, "its saved method was charged; we do not know how") \
  X(refund_before, "a refund is durable; its processor knows nothing")     \
  X(refund_sent, "its processor has it; we do not know whether")

enum class CrashPoint : std::uint8_t {
#define X(id, meaning) id,
  TURNPIKE_CRASH_POINT_LIST(X)
#undef X
};

constexpr std::string_view name_of(CrashPoint point) noexcept {
  constexpr std::string_view names[] = {
#define X(id, meaning) #id,
      TURNPIKE_CRASH_POINT_LIST(X)
#undef X
  };
  return names[static_cast<std::size_t>(point)];
}

#ifdef TURNPIKE_CRASH_POINTS
inline namespace armed {
void pass(CrashPoint point) noexcept;  // tests/crash/stop_dead.cpp
}  // namespace armed
#else
inline namespace unarmed {
constexpr void pass(CrashPoint) noexcept {}
}  // namespace unarmed
#endif

}  // namespace turnpike::base
