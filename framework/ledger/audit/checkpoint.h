// The file form of a checkpoint: the state of the books, signed by the service, so that an attacker
// who can write the database but lacks the key cannot truncate or rewrite the past undetected.
//
//   {"checkpoint":{...},"publicKey":"...","signature":"..."}
//
// The file is canonical JSON (RFC 8785) and a newline. `signature` is Ed25519 over the canonical
// JSON of `checkpoint`, exactly as in the file; key and signature are base64url without padding.
// Integers are strings of digits. Verification needs only the public key:
//
//   jq -cSj .checkpoint FILE > signed; jq -r .signature FILE | tr -- -_ +/ | sed 's/$/==/' |
//   base64 -d > signature
//   openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in signed -sigfile signature
//
// Pure functions; safe on any Thread.
#pragma once

#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "crypto/signature.h"
#include "ledger/books.h"

namespace turnpike::ledger {

std::string write_checkpoint(const Checkpoint& checkpoint, const crypto::Ed25519Seed& seed);

// The error is a sentence: the text is not a checkpoint, or not signed by that key.
Result<Checkpoint, std::string> read_checkpoint(std::string_view text,
                                                const crypto::Ed25519PublicKey& key);

}  // namespace turnpike::ledger
