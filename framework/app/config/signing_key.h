// The service's signing key: 32 random bytes in data_dir/signing_key, readable by the owner alone,
// made once. It is not in the database on purpose: a person who can change the books there must not
// be able to sign them. Nodes of one database sign under one name when they are given the same
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

// Made where absent; of two that make it at once, one wins. The error is a sentence.
Result<crypto::Ed25519Seed, std::string> signing_key(const std::string& data_dir, Random& random);

// Nothing where it was never made.
Result<std::optional<crypto::Ed25519Seed>, std::string> read_signing_key(
    const std::string& data_dir);

// base64url of 32 bytes, as `turnpike ledger key` prints it.
std::optional<crypto::Ed25519PublicKey> parse_public_key(const std::string& text);

}  // namespace turnpike::app
