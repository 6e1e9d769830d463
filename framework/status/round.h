// Round: all records of one interval of status.round_ms, closed by the leader of the fleet. Its
// head chains it to the previous round; its signature identifies the signer.
//
//   head = SHA-256(prev || SHA-256(lines)), over 32 raw bytes each; `lines` are the record lines in
//   the order of their sequence, each with "\n" behind it; the first round's prev is 32 zero bytes.
//   signature = Ed25519 over the canonical JSON of the signed fields:
//     {"stream","round","prev","head","count","generation","expected_targets_hash","rules_hash",
//      "state_hash","started_at","ended_at","epoch","node","nodes","kid"}
//
// Heads and hashes are written "sha256:<hex>", times in RFC 3339 with milliseconds, key and
// signature in base64url without padding. `state_hash` is the hash of the Book after the round
// (book.h): everyone with the evidence computes the same hash, and with it every published figure.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "crypto/signature.h"

namespace turnpike::status {

struct RoundHead {
  std::string stream;       // "st_…", one per database
  std::uint64_t round = 0;  // from 1, without gaps
  std::string prev;         // "sha256:<64 hex>"
  std::string head;
  std::uint64_t count = 0;  // number of records
  std::string generation;   // id
  std::string expected_targets_hash;
  std::string rules_hash;
  std::string state_hash;
  std::int64_t started_at_ms = 0;  // the round covers [started_at, ended_at)
  std::int64_t ended_at_ms = 0;
  std::uint64_t epoch = 0;         // fencing token: epoch of the leader's lease
  std::string node;                // the leader
  std::vector<std::string> nodes;  // alive nodes, ordered; each looks at the sentinels
  std::string kid;                 // key id: first 16 hex digits of the key's SHA-256

  friend bool operator==(const RoundHead&, const RoundHead&) = default;
};

struct SignedRound {
  RoundHead head;
  std::string signature;  // base64url

  friend bool operator==(const SignedRound&, const SignedRound&) = default;
};

inline constexpr std::string_view first_prev =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

std::string key_id(const crypto::Ed25519PublicKey& key);

// `lines`: each ends with "\n".
std::string chained_head(std::string_view prev, std::string_view lines);

SignedRound sign(RoundHead head, const crypto::Ed25519Seed& seed);
bool is_signed_by(const SignedRound& round, const crypto::Ed25519PublicKey& key);

// Canonical JSON of the signed fields and "signature"; and its parser.
std::string text_of(const SignedRound& round);
Result<SignedRound, std::string> read_round(std::string_view json);

}  // namespace turnpike::status
