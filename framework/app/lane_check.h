// What lane plugins say to their settings and to the operations of a program, by binding them as
// serving does, over a host whose store and network are away: a lane refuses its settings before it
// turns to either, so nothing is written, asked or signed.
//
// A plain function; loads the plugins.
#pragma once

#include <memory>
#include <vector>

#include "app/config.h"
#include "registry/compile.h"
#include "registry/program.h"

namespace turnpike::app {

std::vector<registry::Problem> check_lanes(const Config& config,
                                           std::shared_ptr<const registry::Program> program);

}  // namespace turnpike::app
