// Record: one look at one target, or a summary of real calls: one line of the evidence. It says
// what was observed but not where: no URL, header or body of an upstream.
//
// The text form is canonical JSON (RFC 8785) of:
//   {"seq", "kind", "target", "generation", "node", "due_at", "started_at", "latency_ms"?,
//    "result", "reason"?, "difference"?, "status"?, "traffic"?, "expect_hash"?, "body_sha256"?,
//    "sweep_id"?}
// Times are RFC 3339 with milliseconds; members without a value are omitted.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

namespace turnpike::status {

class Fields;  // text_form.h

enum class RecordKind : std::uint8_t { probe, contract, sentinel, traffic, pricing };
std::string_view name_of(RecordKind kind) noexcept;

enum class LookResult : std::uint8_t {
  pass,
  fail,
  unknown,  // made, but inconclusive, such as when the gateway stopped during it
  skipped,  // not made: the day's budget is spent
};
std::string_view name_of(LookResult result) noexcept;

// The reason why a look did not pass. The names are public and stable.
enum class Reason : std::uint8_t {
  none,
  timeout,
  unreachable,         // no connection, or it broke
  protocol,            // the answer is not a valid reply
  status,              // not a success status
  credential,          // 401 or 403: our credential is missing or refused
  rate_limited,        // 429
  content_type,
  response_too_large,
  contract,            // the body does not match `expect`
  freshness,           // the data in the reply is too old
  blocked,             // the plugin reports that it cannot serve now
  plugin_fault,
  price_missing,
  inventory,           // the pricing inventory cannot be computed
  ledger,              // the ledger does not answer
  offer,               // the lane cannot make its offer
  stopping,            // the gateway stops
  budget,              // the looks of the day are spent
};
inline constexpr std::size_t reason_count = 19;
std::string_view name_of(Reason reason) noexcept;

// Results of real calls in the last five minutes. Shares per 10,000, which add up to 10,000; with
// too few calls or accounts (`is_thin`) all are 0. Counts are included only if the operator
// publishes them.
struct Traffic {
  bool is_thin = true;
  std::uint32_t good = 0;
  std::uint32_t provider_fault = 0;
  std::uint32_t gateway_fault = 0;
  struct Counts {
    std::uint64_t good = 0;
    std::uint64_t provider_fault = 0;
    std::uint64_t gateway_fault = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  std::optional<Counts> counts;

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct Record {
  std::uint64_t sequence = 0;  // position in the stream, from 1, without gaps
  RecordKind kind = RecordKind::probe;
  std::string target;
  std::string generation;  // id
  std::string node;
  std::int64_t due_at_ms = 0;  // on the target's grid, except for extra looks and sweeps
  std::int64_t started_at_ms = 0;
  std::optional<std::uint32_t> latency_ms;
  LookResult result = LookResult::unknown;
  Reason reason = Reason::none;
  std::string difference;          // of a broken contract: "/data/0/id was string, is number"
  std::uint32_t status = 0;        // HTTP status; 0: none
  std::optional<Traffic> traffic;  // kind traffic only
  std::string expect_hash;         // of a contract look with `expect`: identifies it
  std::string body_sha256;         // of the judged body; hex
  std::string sweep_id;            // id of the release sweep; empty: none

  friend bool operator==(const Record&, const Record&) = default;
};

// Writes and reads the JSON object of `traffic`.
void append_traffic(std::string& out, const Traffic& traffic);
Traffic read_traffic(Fields& fields);

// The record's line, without its newline.
std::string line_of(const Record& record);
// Accepts exactly the bytes that line_of() writes: any other text of the same values is refused,
// since the line is hashed. The error is a sentence.
Result<Record, std::string> read_line(std::string_view line);

}  // namespace turnpike::status
