// Programs for the catalog's tests, compiled from YAML, and a readiness that tests set per
// operation. Used by the test's Thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "catalog/view.h"
#include "registry/compile.h"

namespace turnpike::catalog::tests {

// Two providers, with every kind of policy, price and readiness once.
extern const std::string varied_yaml;

std::shared_ptr<const registry::Program> compiled(const std::string& yaml);
// `count` routes of one provider: /v1/gateway/bulk/item-0000 and so on, every third also POST.
std::string bulk_yaml(int count);

registry::Installed installed(std::shared_ptr<const registry::Program> program,
                              std::string generation_id = "gen_test");

class SettableReadiness final : public ReadinessSource {
 public:
  State state(std::uint32_t operation) const noexcept override {
    ++asked;
    const auto found = states.find(operation);
    return found == states.end() ? State{} : found->second;
  }
  std::map<std::uint32_t, State> states;
  mutable int asked = 0;
};

int status_for_tests(base::ErrorCode code) noexcept;
// The host's part of an OpenAPI document: one route.
extern const std::string frame_for_tests;

const registry::Route& route_with(const registry::Program& program, const std::string& pattern);

}  // namespace turnpike::catalog::tests
