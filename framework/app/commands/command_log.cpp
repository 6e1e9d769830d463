// log level: how much the running gateway writes to its log, until it ends.
#include <iostream>
#include <system_error>

#include "app/commands/command_line.h"
#include "app/config/paths.h"
#include "app/control.h"
#include "text/json_text.h"

namespace turnpike::app {

int run_log_level(const CommonOptions& options, const std::string& level) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  const nlohmann::json ask = {{"command", "log_level"}, {"level", level}};
  std::string answer;
  try {
    answer = ask_control(control_socket(*config), json_text(ask));
  } catch (const std::system_error& error) {
    return print_failure(options, error.what());
  }
  const auto result = text::parse_json(answer);
  if (!result.value("ok", false)) {
    return print_failure(options, "the running gateway does not take it: " + answer);
  }
  std::cout << (options.json ? answer : result.value("level", "")) << '\n';
  return exit_done;
}

}  // namespace turnpike::app
