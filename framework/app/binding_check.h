// What plugins say to their settings and to the operations of a program, by binding them as serving
// does, over a host whose store and network are away: a plugin refuses its settings before it turns
// to either, so nothing is written, asked or signed.
//
// A plain function; loads the plugins.
#pragma once

#include <memory>

#include "app/config.h"
#include "exchange/service.h"

namespace turnpike::app {

exchange::Checked check_binding(const Config& config,
                                std::shared_ptr<const registry::Program> program);

}  // namespace turnpike::app
