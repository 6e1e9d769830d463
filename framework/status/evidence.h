// Evidence as a stream of lines (application/x-ndjson): served by GET /v1/status/evidence and read
// by a verifier (verify.h). docs/status.md, "Evidence".
//
//   {"after_round":N,"book":{...},"type":"book"}   where the book after round N was kept
//   {"hash":"sha256:…","set":{...},"type":"targets"}   before the first round that uses the set
//   {..the signed fields.., "signature":"…", .., "type":"round"}
//   the record lines of the round, as many as its `count`, exactly as they are hashed;
//   or, when they are no longer kept: {"round":N,"type":"pruned"}
//
// Members of these lines are in the order of canonical JSON. Lines are only ever appended.
//
// Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "status/store.h"

namespace turnpike::status {

inline constexpr std::string_view evidence_media_type = "application/x-ndjson";

// Appends the round and its record lines.
void append_round(std::string& out, const StoredRound& round);
// `canonical_set`: the stored form of a set, TargetSet::canonical().
void append_targets(std::string& out, std::string_view canonical_set);
// `canonical_book`: the stored form of a book, Book::canonical().
void append_book(std::string& out, std::uint64_t after_round, std::string_view canonical_book);

}  // namespace turnpike::status
