// Gateway: the composition root: the one place that names the concrete classes of all layers, makes
// them in order and takes them down in the reverse one (framework/README.md, Start and stop).
// Made, started and stopped by main()'s Thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <turnpike/result.h>

#include "app/config.h"
#include "app/generations.h"

namespace turnpike::app {

class Gateway {
 public:
  explicit Gateway(Config config);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Up to the listeners, each of which prints its line on standard output. The error is for the
  // operator: what is wrong and what to do.
  Result<Unit, std::string> start();
  Reloaded reload();
  // Drains, then ends everything; returns whether no call was cut.
  bool stop();
  // A sentence once the process cannot go on (the store can no longer be trusted).
  [[nodiscard]] std::optional<std::string> fatal() const;

 private:
  struct Parts;
  Result<Unit, std::string> open_stores();
  Result<Unit, std::string> start_runtime();
  Result<Unit, std::string> load_plugins();
  Result<Unit, std::string> make_generations();
  Result<Unit, std::string> make_hosts();
  Result<Unit, std::string> listen();

  const Config config_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace turnpike::app
