// The checks of what nodes said: of a block, its code, its authorisation, its way there. Pure
// functions on a Report; any Thread.
#pragma once

#include <optional>
#include <vector>

#include "substrate/chain/gather.h"
#include "substrate/configuration.h"
#include "substrate/verify/report.h"

namespace turnpike::substrate {

// All that was gathered; the first endpoint is the one that the others are compared with.
struct OnlineFacts {
  std::vector<EndpointFacts> endpoints = {};  // those that were asked, the first has answered
  std::optional<ParachainFacts> parachain = std::nullopt;
  std::optional<TransitionFacts> transition = std::nullopt;
  // The code at the block as it was fetched; null: it was not.
  const CodeFacts* fetched = nullptr;
  std::string fetch_problem = {};  // why it could not be
};

void check_online(const Input& input, const ChainSettings& chain, const OnlineFacts& facts,
                  Report& report);

// Whether the code itself must be fetched to answer.
bool needs_code(const Input& input, const Report& report, const EndpointFacts& primary);

}  // namespace turnpike::substrate
