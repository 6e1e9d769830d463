// The service's signing key: 32 random bytes in data_dir/signing_key, readable by the owner alone,
// created once. It is deliberately not in the database: a person who can change the books there
// must not be able to sign them. Nodes of one database share one identity if they get the same
// file.
//
// Free functions; called by main()'s Thread.
#pragma once

#include <optional>
#include <string>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "crypto/signature.h"

namespace turnpike::app {

// Creates the key if it is missing; of two concurrent creators one wins. The error is a sentence.
Result<crypto::Ed25519Seed, std::string> signing_key(const std::string& data_dir, Random& random);

// Nothing: the key was never created.
Result<std::optional<crypto::Ed25519Seed>, std::string> read_signing_key(
    const std::string& data_dir);

// base64url of 32 bytes, as `turnpike ledger key` prints it.
std::optional<crypto::Ed25519PublicKey> parse_public_key(const std::string& text);

}  // namespace turnpike::app
