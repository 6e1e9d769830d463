// What plugins say over a host whose store and network are away, so that nothing is written, asked
// or signed: to their settings and the operations of a program, which they refuse before they turn
// to either, when they are bound as serving does; and which commands they bring.
//
// Plain functions; they load the plugins.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/config.h"
#include "exchange/service.h"

namespace turnpike::app {

exchange::Checked check_binding(const Config& config,
                                std::shared_ptr<const registry::Program> program);

// Whether a lane plugin brings this command; the error is a sentence.
Result<bool, std::string> has_lane_command(const Config& config, std::string_view word);

}  // namespace turnpike::app
