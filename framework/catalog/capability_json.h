// The JSON of capabilities: the parts of a Program that the list and the detail page show. Internal
// to catalog/; pure functions, safe on any Thread. Objects keep the order of insertion, which is
// the order in the documentation.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "catalog/features.h"
#include "catalog/readiness.h"
#include "registry/generation.h"
#include "registry/program.h"

namespace turnpike::catalog {

using Json = nlohmann::ordered_json;

Json generation_json(const registry::Generation& generation);
Json manifest_json(const registry::Generation& generation);
Json readiness_json(const ShownReadiness& readiness);
Json free_rate_limit_json(const registry::FreePolicy& policy);
Json query_policy_json(const registry::QueryPolicy& policy);
Json body_policy_json(const registry::BodyPolicy& policy);

// Billing in full: mode, price policy and version, cost, terms of payment per call.
Json billing_json(const registry::Program& program, const registry::Operation& operation,
                  Features features);

// The documents of the lane that takes payments per call; null: no lane takes them.
const TermsDocuments* payment_documents(const registry::Program& program,
                                        Features features) noexcept;

// True if the operation is offered for payment per call.
bool is_paid_per_call(const registry::Program& program, const registry::Operation& operation,
                      Features features) noexcept;

// An entry of the list, without its readiness; with the terms of payment per call if
// `shows_payments`.
Json summary_json(const registry::Program& program, const registry::Route& route, Features features,
                  bool shows_payments);

// The `capability` object of a detail, including its readiness.
Json capability_json(const registry::Program& program, const registry::Route& route,
                     Features features, const ReadinessSource& readiness);

// Compact JSON text; a compiled program contains no invalid UTF-8.
std::string text_of(const Json& document);

}  // namespace turnpike::catalog
