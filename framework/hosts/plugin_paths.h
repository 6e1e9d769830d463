// PluginPaths: the paths of the API host that plugins declare (turnpike/offers.h). The composition
// root implements it: it knows which bound objects of plugins are in service.
//
// Owned by app/, outlives the hosts; called from all loop Threads, on the fiber of a request.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <turnpike/offers.h>
#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::hosts {

// A path of a plugin's intake that is in service.
struct Intake {
  std::string plugin;
  const IntakePath* row = nullptr;
  std::string_view path;  // the part of the path that the plugin sees
  BoundObject* object = nullptr;
  std::shared_ptr<const void> in_service;  // keeps `object`
};

class PluginPaths {
 public:
  virtual ~PluginPaths() = default;
  // Returns the document at `path`, below /.well-known/; may suspend. Errors: request.not_found,
  // registry.unavailable, and gateway.internal when its plugin cannot make it now.
  [[nodiscard]] virtual Result<Document, base::Error> document(std::string_view path) = 0;
  // Returns the intake for `path`, the part behind "/v1/plugins/", without waiting. Errors:
  // request.not_found, registry.unavailable.
  [[nodiscard]] virtual Result<Intake, base::Error> find_intake(std::string_view path) = 0;
};

}  // namespace turnpike::hosts
