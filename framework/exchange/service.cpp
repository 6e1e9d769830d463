#include "exchange/service.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>

#include <turnpike/helpers/mistakes.h>

#include "exchange/ascii.h"
#include "exchange/call_reports.h"
#include "text/json_pointer.h"

namespace turnpike::exchange {
namespace {

using registry::Problem;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Fields that every hop writes itself.
bool is_hop_by_hop(std::string_view name) noexcept {
  return is_framing_field(name) || is_one_of(name, {"host", "expect", "date", "server"}) ||
         name.starts_with("proxy-");
}

// The registry's compiler refuses most of these with a better message; this is the final check.
bool may_be_forwarded(std::string_view name, const LaneTable& lanes) noexcept {
  if (is_hop_by_hop(name) || name.starts_with("if-")) return false;
  if (is_one_of(name, {"authorization", "x-service-api-key", "cookie", "range", "accept-encoding",
                       "content-type", "idempotency-key"})) {
    return false;
  }
  return std::none_of(lanes.rows.begin(), lanes.rows.end(), [name](const LaneRow& row) {
    return std::find(row.headers.begin(), row.headers.end(), name) != row.headers.end();
  });
}

bool may_be_passed_back(std::string_view name) noexcept {
  return !is_hop_by_hop(name) && !name.starts_with("turnpike-") &&
         !is_one_of(name, {"content-type", "content-encoding", "x-request-id", "server-timing",
                           "www-authenticate", "set-cookie"});
}

Problem problem_of(const Settings& settings, const std::string& subject,
                   const registry::Program& program, const Mistake& mistake) {
  constexpr std::string_view of_terms = "registry.";
  const registry::LaneTerms* const terms = program.lane_terms();
  const bool is_of_terms = terms != nullptr && mistake.where.starts_with(of_terms);
  const std::string where = mistake.where.substr(is_of_terms ? of_terms.size() : 0);
  const Settings& node = registry::nearest_node(is_of_terms ? terms->section : settings, where);
  Problem problem;
  problem.rule = "binding_refused";
  problem.message = mistake.message;
  problem.file = node.file;
  problem.line = node.line;
  problem.column = node.column;
  problem.path = is_of_terms ? std::string(terms->traits.name) : subject;
  if (!where.empty()) problem.path += "." + where;
  return problem;
}

// Whether `text` is a JSON Schema with "type": "object", which MCP requires of the arguments and
// results of tools.
bool is_object_schema(std::string_view text) {
  static const text::JsonPointer type = text::JsonPointer::parse("/type").value();
  return text::text_at(text, type) == R"("object")";
}

// The reason why an operation cannot be the tool that its plugin declares; empty: it can.
std::string problem_of_tool(const OperationTool& tool, const std::string& plugin,
                            const registry::Route& route, const registry::Operation& operation) {
  constexpr std::size_t name_bytes_max = 64;
  const std::string what = "the plugin's tool \"" + std::string(tool.name) + "\" ";
  if (tool.name.size() > name_bytes_max || !tool.name.starts_with("service." + plugin + ".") ||
      tool.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") != tool.name.npos) {
    return what + "needs a name that begins with service." + plugin + ". and has up to 64 of a-z, "
           "0-9, _ and .";
  }
  if (!is_object_schema(tool.input_schema) ||
      (!tool.output_schema.empty() && !is_object_schema(tool.output_schema))) {
    return what + "needs schemas that are JSON objects with \"type\": \"object\"";
  }
  const auto& types = route.body->media_types;
  const bool takes_json =
      operation.method == Method::post && !route.body->forbidden &&
      std::find(types.begin(), types.end(), "application/json") != types.end();
  if (!takes_json || !route.matcher.is_exact) {
    return what + "needs a POST without path parameters whose body may be application/json";
  }
  return {};
}

// Removes a leading "operations[N]" and its separator from `where`; returns N.
std::optional<std::size_t> take_operation(std::string& where) {
  constexpr std::string_view start = "operations[";
  const std::size_t close = where.find(']');
  if (!where.starts_with(start) || close == where.npos) return std::nullopt;
  std::size_t number = 0;
  const char* const end = where.data() + close;
  const auto [rest, problem] = std::from_chars(where.data() + start.size(), end, number);
  if (problem != std::errc{} || rest != end) return std::nullopt;
  where.erase(0, where.compare(close + 1, 1, ".") == 0 ? close + 2 : close + 1);
  return number;
}

}  // namespace

// Makes one Service; lives for the length of bind_service() or check_binding().
class Binder {
 public:
  explicit Binder(const BindInput& input) : input_(input), service_(new Service) {}

  Bound bind() {
    bind_all();
    if (problems_.empty() && input_.record) record();
    if (!problems_.empty()) return std::move(problems_);
    return std::shared_ptr<const Service>(std::move(service_));
  }

  Checked check() {
    has_surroundings_ = false;
    bind_all();
    return {std::move(problems_), std::move(service_->missing_secrets_),
            std::move(service_->notes_)};
  }

 private:
  [[nodiscard]] const registry::Program& program() const { return *input_.installed.program; }

  void bind_all() {
    service_->installed_ = input_.installed;
    service_->generation_id_ = input_.installed.generation.id;
    list_lanes();
    list_route_terms();
    list_priced_operations();
    bind_upstreams();
    list_blocked_operations();
    bind_lanes();
    list_offerings();
    list_operation_tools();
  }

  void record() {
    auto generation = input_.record();
    if (!generation.ok()) return refuse("database", generation.error().message);
    service_->installed_.generation = *std::move(generation);
  }

  void refuse(std::string path, std::string message) {
    Problem problem;
    problem.rule = "binding_refused";
    problem.path = std::move(path);
    problem.message = std::move(message);
    problems_.push_back(std::move(problem));
  }

  // Lists the rows without binding them: the headers that are credentials must be known first.
  void list_lanes() {
    for (const LaneSlot& slot : input_.lanes) {
      const LaneTraits traits = slot.lane->traits();
      const LaneRole role = traits.has_terms ? LaneRole::payment : LaneRole::other;
      LaneRow row{role, true, traits.needs_account, std::string(traits.name), {}};
      for (std::string_view header : traits.credential_headers) {
        if (header == "authorization") {
          row.role = traits.name == "free" ? LaneRole::free : LaneRole::credits;
        } else {
          row.headers.emplace_back(header);
        }
      }
      check_lane(row, traits);
      service_->lane_table_.rows.push_back(std::move(row));
      service_->lanes_.push_back({traits, nullptr});
    }
    if (service_->lane_table_.rows.size() > lanes_max) {
      refuse("lanes", "at most " + std::to_string(lanes_max) + " lanes can be in service");
    }
  }

  void check_lane(const LaneRow& row, const LaneTraits& traits) {
    const std::string path = "lanes." + row.name;
    if (traits.credential_headers.empty()) refuse(path, "the lane declares no credential header");
    if (traits.has_terms && traits.needs_account) {
      refuse(path,
             "the lane has terms in the registry and needs an account; it can do one of both");
    }
    for (const LaneRow& other : service_->lane_table_.rows) {
      const bool is_same_role = row.role != LaneRole::other && row.role == other.role;
      if (other.name == row.name || is_same_role) {
        refuse(path, "the lane \"" + other.name + "\" has this name or these credentials already");
      }
      for (const std::string& header : row.headers) {
        if (std::find(other.headers.begin(), other.headers.end(), header) != other.headers.end()) {
          refuse(path, "the header \"" + header + "\" selects the lane \"" + other.name + "\"");
        }
      }
    }
  }

  void list_priced_operations() {
    const registry::LaneTerms* const terms = program().lane_terms();
    for (const registry::Operation& operation : program().operations()) {
      const registry::Route& route = program().routes()[operation.route];
      PricedOperation priced;
      priced.route_id = route.id;
      priced.route_revision = route.revision;
      priced.method = operation.method;
      priced.path = route.matcher.pattern;
      priced.summary = operation.summary;
      if (!operation.response->allowed_content_types.empty()) {
        priced.media_type = operation.response->allowed_content_types.front();
      }
      priced.deadline_ms = operation.deadline_ms;
      if (terms != nullptr) priced.policy = terms->policies[route.policy].binding;
      if (operation.price.has_value()) {
        const registry::Price& price = program().prices()[*operation.price];
        priced.price_policy_key = price.policy_key;
        priced.price_version = price.version;
        priced.credit_cost = price.credit_cost;
        priced.is_offered = program().is_sold_per_call(operation);
        if (price.terms != nullptr) priced.terms = price.terms->binding;
      }
      if (route.free_policy) {
        priced.free_limits = program().free_policies()[*route.free_policy];
        priced.free_bucket = program().free_buckets()[route.free_bucket].key;
      }
      service_->priced_.push_back(priced);
    }
  }

  void list_route_terms() {
    for (const registry::Route& route : program().routes()) {
      RouteTerms terms;
      for (Method method : route.methods) {
        if (!terms.allow.empty()) terms.allow += ", ";
        terms.allow += name_of(method);
      }
      for (const std::string& name : route.forwarded_headers) {
        if (may_be_forwarded(name, service_->lane_table_)) terms.forwarded_headers.push_back(name);
      }
      for (const std::string& name : route.allowed_response_headers) {
        if (may_be_passed_back(name)) terms.passed_back_headers.push_back(name);
      }
      for (const registry::Segment& segment : route.matcher.segments) {
        if (segment.is_parameter) terms.parameter_names.push_back(segment.text);
      }
      if (input_.reports != nullptr) {
        terms.report =
            &input_.reports->of(program().providers()[route.provider].key,
                                program().upstreams()[route.upstream].id, route.matcher.pattern);
      }
      service_->terms_.push_back(std::move(terms));
    }
  }

  // Settings that were passed to a plugin, and their name.
  struct Given {
    const Settings& settings;
    std::string subject;
    std::span<const Settings> of_operations = {};  // parallel to `operations`
    std::span<const BoundOperation> operations = {};
  };

  // Without its surroundings a plugin may fail for that reason alone; only faults of its settings
  // are then reported.
  void report_failure(const Given& given, const Failure& failure) {
    if (failure.kind != FailureKind::invalid_settings) {
      if (!has_surroundings_) return;
      return report(
          problem_of(given.settings, given.subject, program(), {failure.where, failure.message}));
    }
    for (Mistake& mistake : split_mistakes(failure)) report_mistake(given, std::move(mistake));
  }

  void report_mistake(const Given& given, Mistake mistake) {
    const auto operation = take_operation(mistake.where);
    if (!operation || *operation >= given.operations.size()) {
      return report(problem_of(given.settings, given.subject, program(), mistake));
    }
    const Settings& own = given.of_operations[*operation];
    const std::string route(given.operations[*operation].path);
    report(problem_of(own.kind == Settings::Kind::null ? given.settings : own,
                      "routes[" + route + "].upstream_settings", program(), mistake));
  }

  // Reports a problem once, since the methods of a route share their settings.
  void report(Problem problem) {
    const auto is_same = [&problem](const Problem& known) {
      return known.line == problem.line && known.column == problem.column &&
             known.file == problem.file && known.path == problem.path &&
             known.message == problem.message;
    };
    if (problems_.size() > base::limits::registry_problems_max) return;
    if (std::any_of(problems_.begin(), problems_.end(), is_same)) return;
    problems_.push_back(std::move(problem));
  }

  // `settings` with secrets inserted; the secrets are also appended to `values`.
  Settings resolve(const Settings& settings, const std::string& subject,
                   std::vector<std::string>& values) {
    const auto resolver = [&](const registry::SecretReference& reference) {
      auto value = input_.secrets == nullptr ? std::nullopt : (*input_.secrets)(reference);
      if (!value) {
        service_->missing_secrets_.push_back({"secret_missing", reference.file, reference.line,
                                              reference.column, subject,
                                              registry::why_missing(reference)});
      }
      values.push_back(value.value_or(std::string()));
      return value;
    };
    return registry::resolve_secrets(settings, resolver);
  }

  [[nodiscard]] std::shared_ptr<BoundUpstream> carried_over(
      const registry::Upstream& upstream, const std::vector<std::string>& secrets) const {
    if (input_.previous == nullptr) return nullptr;
    for (const auto& bound : input_.previous->upstreams_) {
      if (bound->id == upstream.id && bound->plugin == upstream.plugin &&
          bound->settings_digest == upstream.settings_digest && bound->secrets == secrets) {
        return bound;
      }
    }
    return nullptr;
  }

  void bind_upstreams() {
    for (const registry::Upstream& upstream : program().upstreams()) {
      service_->upstreams_.push_back(bind_upstream(upstream));
    }
  }

  std::shared_ptr<BoundUpstream> bind_upstream(const registry::Upstream& upstream) {
    const std::string subject = "upstreams." + upstream.id;
    std::vector<std::string> secrets;
    const Settings settings = resolve(upstream.settings, subject, secrets);
    std::vector<Settings> route_settings(upstream.operations.size());
    std::vector<BoundOperation> operations;
    for (std::size_t at = 0; at < upstream.operations.size(); ++at) {
      const registry::Operation& operation = program().operations()[upstream.operations[at]];
      const registry::Route& route = program().routes()[operation.route];
      if (route.upstream_settings != nullptr) {
        route_settings[at] = resolve(*route.upstream_settings, subject, secrets);
      }
      operations.push_back(bound_operation(operation, route, route_settings[at]));
    }
    if (auto carried = carried_over(upstream, secrets)) return carried;

    const ProviderSlot* const slot = find_provider(upstream.plugin);
    if (slot == nullptr) {
      refuse(subject, "no provider plugin named \"" + upstream.plugin + "\" is loaded");
      return nullptr;
    }
    auto bound =
        slot->provider->bind({upstream.id, settings, operations, input_.data_dir,
                              upstream.probe.uses_credential},
                             *slot->host);
    if (!bound.ok()) {
      report_failure({settings, subject + ".settings", route_settings, operations}, bound.error());
      return nullptr;
    }
    auto result = std::make_shared<BoundUpstream>(input_.calls_per_upstream_max);
    result->id = upstream.id;
    result->plugin = upstream.plugin;
    result->settings_digest = upstream.settings_digest;
    result->secrets = std::move(secrets);
    result->upstream = *std::move(bound);
    return result;
  }

  BoundOperation bound_operation(const registry::Operation& operation, const registry::Route& route,
                                 const Settings& settings) const {
    const PricedOperation& priced = service_->priced_[operation.index];
    BoundOperation bound;
    bound.route_id = route.id;
    bound.method = operation.method;
    bound.path = route.matcher.pattern;
    bound.parameter_names = service_->terms_[operation.route].parameter_names;
    bound.settings = route.upstream_settings == nullptr ? nullptr : &settings;
    bound.credit_cost = priced.credit_cost;
    if (priced.is_offered) {
      bound.per_call_amount = program().prices()[*operation.price].terms->amount;
    }
    return bound;
  }

  // Operations blocked until the next reload; temporary states are not included.
  void list_blocked_operations() {
    for (const registry::Operation& operation : program().operations()) {
      const registry::Route& route = program().routes()[operation.route];
      const auto& upstream = service_->upstreams_[route.upstream];
      const bool lacks_secret = upstream != nullptr &&
                                upstream->upstream->state(operation.upstream_operation).condition ==
                                    Condition::credential_missing;
      service_->priced_[operation.index].is_blocked = !route.readiness.ready || lacks_secret;
    }
  }

  void bind_lanes() {
    const Settings no_settings;
    for (std::size_t at = 0; at < input_.lanes.size(); ++at) {
      const LaneSlot& slot = input_.lanes[at];
      const std::string subject = "lanes." + service_->lane_table_.rows[at].name;
      std::vector<std::string> secrets;
      const Settings settings =
          resolve(slot.settings == nullptr ? no_settings : *slot.settings, subject, secrets);
      std::vector<Note> notes;
      auto bound = slot.lane->bind({service_->priced_, settings, generation_id(),
                                    input_.public_origin, input_.data_dir, &notes},
                                   *slot.host);
      for (const Note& note : notes) {
        service_->notes_.push_back(
            problem_of(settings, subject, program(), {note.where, note.message}));
      }
      if (bound.ok()) {
        service_->lanes_[at].bound = *std::move(bound);
      } else {
        report_failure({settings, subject}, bound.error());
      }
    }
  }

  void list_offerings() {
    const auto list = [this](const std::string& plugin, const std::string& upstream_id,
                             const SlotObject& slot_object, BoundObject* object) {
      const Offers offers = slot_object.offers();
      const bool has_any =
          !offers.documents.empty() || !offers.intake.empty() || offers.has_own_work;
      if (object != nullptr && has_any) {
        service_->offerings_.push_back({plugin, upstream_id, offers, object});
      }
    };
    for (std::size_t at = 0; at < input_.lanes.size(); ++at) {
      list(service_->lane_table_.rows[at].name, "", *input_.lanes[at].lane,
           service_->lanes_[at].bound.get());
    }
    for (const auto& upstream : service_->upstreams_) {
      if (upstream == nullptr) continue;  // the upstream could not be bound
      const ProviderSlot* const slot = find_provider(upstream->plugin);
      list(upstream->plugin, upstream->id, *slot->provider, upstream->upstream.get());
    }
  }

  void list_operation_tools() {
    for (const registry::Operation& operation : program().operations()) {
      const registry::Route& route = program().routes()[operation.route];
      const auto& upstream = service_->upstreams_[route.upstream];
      if (upstream == nullptr) continue;  // the upstream could not be bound
      const OperationTool* const tool = upstream->upstream->tool(operation.upstream_operation);
      if (tool == nullptr) continue;
      const std::string problem = problem_of_tool(*tool, upstream->plugin, route, operation);
      if (!problem.empty()) {
        refuse("routes[" + route.matcher.pattern + "]", problem);
        continue;
      }
      const auto is_same = [tool](const ToolInService& other) {
        return other.tool->name == tool->name;
      };
      auto& tools = service_->tools_;
      if (std::any_of(tools.begin(), tools.end(), is_same)) continue;
      tools.push_back({tool, operation.index});
    }
  }

  [[nodiscard]] const ProviderSlot* find_provider(std::string_view name) const {
    const auto slot =
        std::find_if(input_.providers.begin(), input_.providers.end(),
                     [name](const ProviderSlot& loaded) { return loaded.name == name; });
    return slot == input_.providers.end() ? nullptr : &*slot;
  }

  [[nodiscard]] std::string_view generation_id() const { return service_->generation_id_; }

  const BindInput& input_;
  std::unique_ptr<Service> service_;
  std::vector<Problem> problems_;
  bool has_surroundings_ = true;
};

const Lane* lane_with_terms(std::span<const LaneSlot> lanes) noexcept {
  const auto found = std::find_if(lanes.begin(), lanes.end(), [](const LaneSlot& slot) {
    return slot.lane->traits().has_terms;
  });
  return found == lanes.end() ? nullptr : found->lane;
}

// Destroys the lanes first, since a lane may hold views of the operations.
Service::~Service() { lanes_.clear(); }

State Service::state(const registry::Operation& operation) const noexcept {
  const registry::Route& route = program().routes()[operation.route];
  if (!route.readiness.ready) return {Condition::blocked, route.readiness.reason};
  return upstreams_[route.upstream]->upstream->state(operation.upstream_operation);
}

State Service::payment_state(const registry::Operation& operation) const noexcept {
  if (!priced_[operation.index].is_offered) return {};
  const LaneRow* row = lane_table_.find(LaneRole::payment);
  const BoundLane* bound = row == nullptr ? nullptr : lane(*row).bound.get();
  return bound == nullptr ? State{} : bound->state(operation.index);
}

Checked check_binding(const BindInput& input) { return Binder(input).check(); }

Bound bind_service(const BindInput& input) { return Binder(input).bind(); }

}  // namespace turnpike::exchange
