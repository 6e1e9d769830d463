// The public reads: health, readiness, version, catalog, inventory, OpenAPI and the reference page.
// Stateless over its parts; may suspend the fiber of the request while a large OpenAPI document is
// rendered on the pool.
#pragma once

#include <string>
#include <string_view>

#include "catalog/view.h"
#include "hosts/api/reference_page.h"
#include "hosts/backend.h"
#include "hosts/discovery.h"
#include "hosts/plugin_paths.h"
#include "hosts/query.h"
#include "hosts/service_documents.h"
#include "hosts/turn.h"
#include "runtime/pool.h"

namespace turnpike::hosts::api {

class PublicRoutes {
 public:
  PublicRoutes(Backend& backend, PluginPaths& plugin_paths, const Discovery& discovery,
               runtime::BlockingPool& pool, const Clock& clock, BuildInfo build,
               ReferencePage reference);

  void health(Turn& turn) const;
  void readiness(Turn& turn) const;
  void version(Turn& turn) const;
  void openapi(Turn& turn) const;
  // `file`: empty for the page itself.
  void reference(Turn& turn, std::string_view file) const;
  void capabilities(Turn& turn, const NamedValues& query) const;
  void capability(Turn& turn, std::string_view id) const;
  void inventory(Turn& turn) const;
  // Sends a document below /.well-known/: one of the service itself, else one of a plugin.
  void well_known(Turn& turn) const;

 private:
  using View = std::shared_ptr<const catalog::View>;
  // Null: there is no valid program, and the request was refused.
  [[nodiscard]] View view_for(Turn& turn) const;

  Backend& backend_;
  PluginPaths& plugin_paths_;
  const Discovery& discovery_;
  runtime::BlockingPool& pool_;
  runtime::PoolUser pool_user_;
  const Clock& clock_;
  BuildInfo build_;
  ReferencePage reference_;
};

}  // namespace turnpike::hosts::api
