// Service: a Program that is bound and ready to serve. Its provider plugins have bound every
// upstream, its lanes are bound to the operations, and the facts that serve() needs for each route
// are precomputed. Immutable; app/ publishes it as a whole (base/published.h), and a loop pins it
// for the length of a call.
//
// bind_service() runs at start and reload on the pool or a plain Thread and may wait; all const
// members are safe for concurrent use by all loop Threads. Providers, lanes, hosts and everything
// else in BindInput but `previous` must outlive every Service made from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>
#include <turnpike/lane.h>
#include <turnpike/provider.h>

#include "exchange/choose_lane.h"
#include "registry/compile.h"
#include "registry/generation.h"
#include "registry/program.h"
#include "registry/settings_tree.h"
#include "runtime/in_flight.h"

namespace turnpike::exchange {

class CallReports;
class RouteReport;

// A loaded provider plugin, with the host made for it.
struct ProviderSlot {
  std::string_view name;
  Provider* provider = nullptr;
  Host* host = nullptr;
};

// A bound object of a plugin, with what it offers beside its slot (turnpike/offers.h).
struct Offering {
  std::string plugin;
  std::string upstream_id;  // empty for a lane
  Offers offers;
  BoundObject* object = nullptr;
};

// A lane, built in or loaded. Its role follows from what it declares: `authorization` makes it the
// credits lane, or the free one when its name is "free"; terms in the registry the payment lane.
struct LaneSlot {
  Lane* lane = nullptr;
  Host* host = nullptr;
  const Settings* settings = nullptr;  // null: none
};

// The lane among `lanes` that has terms in the registry, or null.
[[nodiscard]] const Lane* lane_with_terms(std::span<const LaneSlot> lanes) noexcept;

// An operation that its plugin declares as a separate tool.
struct ToolInService {
  const OperationTool* tool = nullptr;  // owned by the plugin, valid forever
  std::uint32_t operation = 0;          // in Program::operations()
};

// An upstream in service. If its plugin, settings and secrets did not change, the next Service
// takes it over with its circuit breaker, its pools and its calls in flight.
struct BoundUpstream {
  explicit BoundUpstream(std::uint32_t calls_max) : in_flight(calls_max) {}

  std::string id;
  std::string plugin;
  std::string settings_digest;
  std::vector<std::string> secrets;
  std::unique_ptr<Upstream> upstream;
  runtime::InFlight in_flight;
};

// Facts about a route that serve() needs, precomputed from the program.
struct RouteTerms {
  std::string allow;                             // "GET, POST"
  std::vector<std::string> forwarded_headers;    // of the caller; never a credential, lower case
  std::vector<std::string> passed_back_headers;  // of the upstream; never one of ours, lower case
  std::vector<std::string_view> parameter_names;
  RouteReport* report = nullptr;  // null: calls are not reported
};

struct BindInput {
  registry::Installed installed;  // program is not null
  std::span<const ProviderSlot> providers;
  std::span<const LaneSlot> lanes;
  const registry::SecretResolver* secrets = nullptr;  // null: secrets are not available
  std::string_view public_origin;
  std::string_view data_dir;  // for files of plugins
  std::uint32_t calls_per_upstream_max = base::limits::calls_per_upstream_max;
  const class Service* previous = nullptr;
  CallReports* reports = nullptr;  // null: calls are not reported
  // Called once everything is bound: records the program in the manifest and returns its
  // generation, so that a program that cannot be bound leaves no trace there. The generation's id
  // is that of `installed`. Null: `installed` is complete already.
  std::function<Result<registry::Generation, base::Error>()> record = {};
};

class Service {
 public:
  [[nodiscard]] const registry::Program& program() const noexcept { return *installed_.program; }
  [[nodiscard]] const registry::Generation& generation() const noexcept {
    return installed_.generation;
  }
  // True if the operation can run now, by the program and by its provider. Must not wait, so
  // catalogs may call it for every operation. The reason is valid as long as the Service.
  [[nodiscard]] State state(const registry::Operation& operation) const noexcept;
  // True if it can also be paid for per call now; ready if the operation is not offered that way.
  [[nodiscard]] State payment_state(const registry::Operation& operation) const noexcept;

  // Missing secrets of upstreams, each with its place.
  [[nodiscard]] const std::vector<registry::Problem>& missing_secrets() const noexcept {
    return missing_secrets_;
  }

  // The notes of lanes for the operator, each with its place.
  [[nodiscard]] const std::vector<registry::Problem>& notes() const noexcept { return notes_; }

  [[nodiscard]] const LaneTable& lanes() const noexcept { return lane_table_; }

  // The tools that providers declare, without duplicate names, in the program's order.
  [[nodiscard]] std::span<const ToolInService> operation_tools() const noexcept { return tools_; }

  // The bound lanes and upstreams with offers.
  [[nodiscard]] std::span<const Offering> offerings() const noexcept { return offerings_; }

  // The upstream with this Program index.
  [[nodiscard]] BoundUpstream& upstream(std::uint32_t index) const noexcept {
    return *upstreams_[index];
  }
  [[nodiscard]] const RouteTerms& terms(const registry::Route& route) const noexcept {
    return terms_[static_cast<std::size_t>(&route - program().routes().data())];
  }
  struct LaneInService {
    LaneTraits traits;
    std::unique_ptr<BoundLane> bound;  // null: no lane serves this row of the table
  };
  // REQUIRES: `row` is one of lanes().rows.
  [[nodiscard]] const LaneInService& lane(const LaneRow& row) const noexcept {
    return lanes_[static_cast<std::size_t>(&row - lane_table_.rows.data())];
  }

  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

 private:
  friend class Binder;
  Service() = default;

  registry::Installed installed_;
  std::string generation_id_;                              // that lanes were bound with
  std::vector<std::shared_ptr<BoundUpstream>> upstreams_;  // by Program index
  std::vector<RouteTerms> terms_;                          // parallel to Program::routes()
  std::vector<PricedOperation> priced_;                    // parallel to Program::operations()
  LaneTable lane_table_;
  std::vector<LaneInService> lanes_;  // parallel to lane_table_.rows
  std::vector<Offering> offerings_;
  std::vector<ToolInService> tools_;
  std::vector<registry::Problem> missing_secrets_;
  std::vector<registry::Problem> notes_;
};

using Bound = Result<std::shared_ptr<const Service>, std::vector<registry::Problem>>;

// Settings and operations that providers and lanes refuse, each with its place. Databases and
// upstreams that cannot be reached now are not reported.
struct Checked {
  std::vector<registry::Problem> problems;
  std::vector<registry::Problem> missing_secrets;
  std::vector<registry::Problem> notes;
};
[[nodiscard]] Checked check_binding(const BindInput& input);

// The Service, or all problems that prevented the binding of an upstream or a lane, each with the
// place of its setting.
[[nodiscard]] Bound bind_service(const BindInput& input);

}  // namespace turnpike::exchange
