// The file form of a checkpoint: where the books stand, signed by the service, so that who can
// write the database but has not the key cannot cut or rewrite the past unseen.
//
//   {"checkpoint":{...},"publicKey":"...","signature":"..."}
//
// The file is canonical JSON (RFC 8785) and a newline. `signature` is Ed25519 over the canonical
// JSON of `checkpoint`, as it stands in the file; key and signature are base64url without padding.
// Whole numbers are strings of digits. Nothing but the public key is needed to check it:
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

// The error is a sentence: the text is no checkpoint, or that key has not signed it.
Result<Checkpoint, std::string> read_checkpoint(std::string_view text,
                                                const crypto::Ed25519PublicKey& key);

}  // namespace turnpike::ledger
