// The checks that need no network: of code, and of the call of a proposal. They change nothing but
// the Report. Any Thread may call them, but long code must not be checked on an event loop.
#pragma once

#include <optional>

#include "substrate/verify/report.h"

namespace turnpike::substrate {

struct OfflineTerms {
  Pallets pallets = {};
  std::uint64_t code_size_max = 5'242'880;
};

// Adds the checks of `input.code`, if there is any.
void check_code(const Input& input, const OfflineTerms& terms, Report& report);
// Adds the checks of the proposal's call, which comes from the caller or from the chain. `call` is
// empty if only its hash is known.
void check_proposal(const Input& input, std::optional<ByteView> call, const OfflineTerms& terms,
                    Report& report);
// Compares `version`, which comes from `source`, with what is expected. `version` is empty if it is
// not known.
void check_version(const Expected& expected, const std::optional<RuntimeVersion>& version,
                   Source source, Report& report);
// Adds an unknown check for each expectation that no other check has compared.
void check_left_over(const Input& input, const OfflineTerms& terms, Report& report);

// The code hash that the chain should have: the expected one, otherwise that of the given code.
std::optional<Hash> wanted_code_hash(const Input& input, const Report& report);

}  // namespace turnpike::substrate
