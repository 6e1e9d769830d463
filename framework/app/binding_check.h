// Binds plugins as serving does, but over a host without a store and a network, so that nothing is
// written, requested or signed. Plugins check their settings and the operations of a program before
// they use either, so their problems show here. Also lists the commands that plugins bring.
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
