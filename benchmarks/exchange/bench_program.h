// The program for measuring a call: 64 routes of one provider. Only benchmarks use it.
#pragma once

#include <memory>
#include <string_view>

#include "registry/program.h"

namespace turnpike::exchange {

inline constexpr std::string_view bench_path =
    "/v1/gateway/bench/global/v1/daos/sample-dao-31/brief31";

std::shared_ptr<const registry::Program> bench_program();

}  // namespace turnpike::exchange
