// The checks that need no network: of code, and of the call of a proposal. Pure functions on a
// Report; any Thread, but not a loop's when there is code.
#pragma once

#include <optional>

#include "substrate/verify/report.h"

namespace turnpike::substrate {

struct OfflineTerms {
  Pallets pallets = {};
  std::uint64_t code_size_max = 5'242'880;
};

// Adds the checks of `input.code`, and of what is expected of code.
void check_code(const Input& input, const OfflineTerms& terms, Report& report);
// Those of a call. `call` is of the caller or of the chain; nothing: its hash alone is known.
void check_proposal(const Input& input, std::optional<ByteView> call, const OfflineTerms& terms,
                    Report& report);
// What the version should be, where it is of `source`; nothing: it is not known.
void check_version(const Expected& expected, const std::optional<RuntimeVersion>& version,
                   Source source, Report& report);
// What was expected and nothing looked at.
void check_left_over(const Input& input, const OfflineTerms& terms, Report& report);

// The hash that is to be the chain's: expected, or of the code that was given.
std::optional<Hash> wanted_code_hash(const Input& input, const Report& report);

}  // namespace turnpike::substrate
