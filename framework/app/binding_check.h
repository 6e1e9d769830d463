// What plugins say over a host whose store and network are away, so that nothing is written, asked
// or signed: to their settings and the operations of a program, which they refuse before they turn
// to either, when they are bound as serving does; and which commands they bring.
//
// Plain functions; they load the plugins.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"
#include "exchange/service.h"

namespace turnpike::app {

struct BindingFindings : exchange::Checked {
  std::vector<std::string> warnings;  // "plugin http: ...", as plugins would log them
};
BindingFindings check_binding(const Config& config,
                              std::shared_ptr<const registry::Program> program);

// Whether a lane plugin brings this command, whose usage is printed to `help`, where that is given.
// The error is a sentence.
Result<bool, std::string> find_lane_command(const Config& config, std::string_view word,
                                            Console* help);

}  // namespace turnpike::app
