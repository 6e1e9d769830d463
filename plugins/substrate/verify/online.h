// The checks of the facts from nodes: of a block, its code, its authorisation, and the change of
// the code. They change nothing but the Report; any Thread may call them.
#pragma once

#include <optional>
#include <vector>

#include "substrate/chain/gather.h"
#include "substrate/configuration.h"
#include "substrate/verify/report.h"

namespace turnpike::substrate {

// All facts from nodes. The first endpoint is the primary, with which the others are compared.
struct OnlineFacts {
  std::vector<EndpointFacts> endpoints = {};  // all that were asked; the first has answered
  std::optional<ParachainFacts> parachain = std::nullopt;
  std::optional<TransitionFacts> transition = std::nullopt;
  // The code that was fetched at the block; null if it was not.
  const CodeFacts* fetched = nullptr;
  std::string fetch_problem = {};  // why it could not be fetched
};

void check_online(const Input& input, const ChainSettings& chain, const OnlineFacts& facts,
                  Report& report);

// Whether the checks need the code itself.
bool needs_code(const Input& input, const Report& report, const EndpointFacts& primary);

}  // namespace turnpike::substrate
