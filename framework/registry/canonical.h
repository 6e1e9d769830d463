// Canonical: the RFC 8785 text of every part of a Program, written straight from the structures (a
// tree of JSON values of 100,000 routes would take ten times the memory of the program).
// Definitions are the parts that an installed revision or version fixes permanently: they omit what
// operators may change freely, such as a route's readiness, summary and monitoring or a provider's
// listing.
//
// Pure functions; safe on any Thread.
#pragma once

#include <string>
#include <string_view>

#include "registry/program.h"

namespace turnpike::registry {

void append_canonical(std::string& out, const QueryPolicy& policy);
void append_canonical(std::string& out, const BodyPolicy& policy);
void append_canonical(std::string& out, const ResponsePolicy& policy);
void append_canonical(std::string& out, const FreePolicy& policy);
void append_canonical(std::string& out, const Expectation& expect);  // without its hash
void append_canonical(std::string& out, const Monitoring& monitoring);
void append_canonical(std::string& out, const Provider& provider);
void append_canonical(std::string& out, const Price& price);
void append_canonical(std::string& out, const Settings& settings);
void append_canonical(std::string& out, const Program& program, const Upstream& upstream);
void append_canonical(std::string& out, const Program& program, const Route& route);
void append_canonical(std::string& out, const Program& program, const Tool& tool);
// The whole program.
void append_canonical(std::string& out, const Program& program);

std::string definition_of(const Provider& provider);
std::string definition_of(const Price& price);
std::string definition_of(const Program& program, const Upstream& upstream);
std::string definition_of(const Program& program, const Route& route);

// "route-" and 32 hex digits of the SHA-256 of {path, provider_key}, with parameter names erased.
std::string route_id_of(std::string_view provider_key, const Matcher& matcher);

// Hex SHA-256 of the settings and the operations that bind() receives.
std::string settings_digest_of(const Program& program, const Upstream& upstream);

}  // namespace turnpike::registry
