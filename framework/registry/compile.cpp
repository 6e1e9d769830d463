#include "registry/compile.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/limits.h"
#include "crypto/digest.h"
#include "registry/canonical.h"
#include "registry/diff.h"
#include "registry/draft.h"
#include "registry/facts.h"
#include "registry/index.h"
#include "registry/notes.h"
#include "registry/read_lane_terms.h"
#include "registry/read_policies.h"
#include "registry/read_prices.h"
#include "registry/read_providers.h"
#include "registry/read_schemas.h"
#include "registry/read_tools.h"
#include "registry/source.h"

namespace turnpike::registry {
namespace {

// The new positions of a table's entries when sorted by `less`: result[old] = new.
template <class Entries, class Less>
std::vector<std::uint32_t> ranks_of(const Entries& entries, Less less) {
  std::vector<std::uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return less(entries[left], entries[right]);
  });
  std::vector<std::uint32_t> ranks(entries.size());
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

// The values of a table sorted by name, with their places.
template <class Value>
struct Sorted {
  std::vector<Value> values;
  std::vector<Place> places;
  std::vector<std::uint32_t> ranks;

  explicit Sorted(Table<Value>& table) {
    auto& entries = table.entries();
    ranks = ranks_of(entries,
                     [](const auto& left, const auto& right) { return left.name < right.name; });
    values.resize(entries.size());
    places.resize(entries.size());
    for (std::size_t at = 0; at < entries.size(); ++at) {
      values[ranks[at]] = std::move(entries[at].value);
      places[ranks[at]] = entries[at].place;
    }
  }
};

std::string free_bucket_key(const Program& program, const Route& route, const FreePolicy& policy) {
  if (policy.bucket_scope == "route") return "route:" + route.id;
  if (policy.bucket_scope != "provider") return "shared:" + policy.bucket_scope;
  return "provider:" + program.providers()[route.provider].key;
}

bool same_limits(const FreeLimits& left, const FreeLimits& right) {
  const auto same = [](const Window& one, const Window& other) {
    return one.limit == other.limit && one.seconds == other.seconds;
  };
  return same(left.window, right.window) && left.concurrency == right.concurrency &&
         left.permit_ttl_seconds == right.permit_ttl_seconds &&
         left.quota.has_value() == right.quota.has_value() &&
         (!left.quota || same(*left.quota, *right.quota)) &&
         left.cumulative_limit == right.cumulative_limit;
}

}  // namespace

class Compiler {
 public:
  explicit Compiler(const CompileInput& input, std::vector<Problem>* notes = nullptr)
      : input_(input), notes_(notes), problems_(input.sources) {}

  Compiled run() {
    if (input_.sources.size() > base::limits::registry_files_max) {
      problems_.add(Rule::too_many_files, {base::limits::registry_files_max}, "",
                    {std::to_string(input_.sources.size()),
                     std::to_string(base::limits::registry_files_max)});
      return problems_.take();
    }
    Draft draft;
    read(draft);
    sort_routes(draft);
    report_conflicts();
    if (!problems_.none()) return problems_.take();
    if (notes_ != nullptr) note_what_is_unused(draft);
    std::shared_ptr<Program> program = assemble(draft);
    check_installed(*program);
    if (!problems_.none()) return problems_.take();
    return std::shared_ptr<const Program>(std::move(program));
  }

 private:
  // The place of a route, for problems that show only when all routes are known.
  struct RoutePlace {
    Place place;
    std::uint32_t index;
  };

  // The place of an operation's sample.
  struct SamplePlace {
    std::uint32_t operation;
    Place place;
    std::string path;
  };

  // Reads definitions before their uses, whichever files contain them.
  void read(Draft& draft) {
    if (input_.lane != nullptr) draft.lane.word = input_.lane->traits().name;
    std::vector<Tree> trees;
    std::size_t nodes_left = base::limits::registry_nodes_max;
    for (std::uint32_t file = 0; file < input_.sources.size(); ++file) {
      Tree tree = read_tree(input_.sources[file], file, nodes_left, problems_);
      if (tree.empty() || (tree.root().kind == NodeKind::null && tree.size() == 1)) continue;
      const Cursor root(tree, problems_);
      if (!root.map_of({"provider", "upstreams", "defaults", "routes", "prices", "query_policies",
                        "response_policies", "reply_schemas", "free_policies", "tools"},
                       draft.lane.word)) {
        continue;
      }
      trees.push_back(std::move(tree));
    }
    const auto each = [&](auto visit) {
      for (const Tree& tree : trees) visit(Cursor(tree, problems_));
    };
    const auto each_section = [&](std::string_view name, auto visit) {
      each([&](const Cursor& root) {
        if (const auto section = root.find(name)) visit(*section, draft);
      });
    };
    each_section("query_policies", read_query_policies);
    each_section("response_policies", read_response_policies);
    each_section("reply_schemas", read_reply_schemas);
    check_reply_schemas(draft, problems_);
    each_section("free_policies", read_free_policies);
    each_section("prices", [&](const Cursor& section, Draft& all) {
      read_prices(section, input_.sources, all);
    });
    each([&](const Cursor& root) { gather_section(root, input_.sources, draft); });
    each([&](const Cursor& root) { gather_policies(root, input_.sources, draft); });
    if (input_.lane != nullptr) read_lane_terms(*input_.lane, draft, problems_);
    each([&](const Cursor& root) { read_provider(root, draft); });
    each([&](const Cursor& root) { read_upstreams(root, input_.sources, input_.plugins, draft); });
    const LaneTraits lane = input_.lane == nullptr ? LaneTraits() : input_.lane->traits();
    each([&](const Cursor& root) { read_routes(root, input_.sources, lane, draft); });
    std::optional<OperationNames> operations;
    each_section("tools", [&](const Cursor& section, Draft& all) {
      if (!operations) operations.emplace(all.routes, problems_.none());
      read_tools(section, *operations, all);
    });
  }

  void sort_routes(Draft& draft) {
    route_ranks_ = ranks_of(draft.routes, [](const DraftRoute& left, const DraftRoute& right) {
      return left.route.id < right.route.id;
    });
    const auto& ranks = route_ranks_;
    routes_.resize(ranks.size());
    route_operations_.resize(ranks.size());
    route_places_.resize(ranks.size());
    for (std::size_t at = 0; at < ranks.size(); ++at) {
      DraftRoute& from = draft.routes[at];
      routes_[ranks[at]] = std::move(from.route);
      route_operations_[ranks[at]] = std::move(from.operations);
      route_places_[ranks[at]] = {from.place, from.index};
    }
    draft.routes = {};
  }

  [[nodiscard]] std::string path_of_route(std::uint32_t route) const {
    return "routes[" + std::to_string(route_places_[route].index) + "]";
  }

  [[nodiscard]] std::string label_of_route(std::uint32_t route) const {
    return routes_[route].matcher.pattern + " (" + problems_.text_of(route_places_[route].place) +
           ")";
  }

  void report_conflicts() {
    for (Index::Conflict& conflict : Index::conflicts(routes_)) {
      // The route further down in the files is reported as the conflicting one.
      const auto order = [this](std::uint32_t route) {
        const Place& place = route_places_[route].place;
        return std::pair(place.file, place.line);
      };
      if (order(conflict.second) < order(conflict.first)) {
        std::swap(conflict.first, conflict.second);
      }
      const Place& place = route_places_[conflict.second].place;
      const std::string path = path_of_route(conflict.second) + ".path";
      const std::string first = label_of_route(conflict.first);
      switch (conflict.kind) {
        case Index::Conflict::Kind::duplicate:
          problems_.add(Rule::duplicate_route, place, path, {first});
          break;
        case Index::Conflict::Kind::ambiguous:
          problems_.add(Rule::ambiguous_route, place, path, {first, conflict.witness});
          break;
        case Index::Conflict::Kind::too_many_shapes:
          problems_.add(Rule::too_many_shapes, place, path,
                        {std::to_string(base::limits::route_shapes_per_length_max),
                         std::to_string(routes_[conflict.second].matcher.segments.size())});
          break;
      }
    }
  }

  std::shared_ptr<Program> assemble(Draft& draft) {
    std::shared_ptr<Program> program(new Program());
    Sorted<DraftProvider> providers(draft.providers);
    Sorted<Upstream> upstreams(draft.upstreams);
    Sorted<Price> prices(draft.prices);
    Sorted<FreePolicy> free_policies(draft.free_policies);
    for (DraftProvider& entry : providers.values) {
      program->providers_.push_back(std::move(entry.provider));
    }
    for (Upstream& upstream : upstreams.values) {
      upstream.provider = providers.ranks[upstream.provider];
    }
    program->upstreams_ = std::move(upstreams.values);
    program->prices_ = std::move(prices.values);
    program->free_policies_ = std::move(free_policies.values);
    program->lane_terms_ = std::move(draft.lane_terms);
    for (Route& route : routes_) {
      route.provider = providers.ranks[route.provider];
      route.upstream = upstreams.ranks[route.upstream];
      if (route.free_policy) route.free_policy = free_policies.ranks[*route.free_policy];
    }
    program->routes_ = std::move(routes_);
    add_free_buckets(*program);
    add_operations(*program, prices.ranks);
    for (DraftTool& entry : Sorted<DraftTool>(draft.tools).values) {
      const Route& route = program->routes_[route_ranks_[entry.route]];
      entry.tool.operation = route.operations[entry.method];
      program->tools_.push_back(std::move(entry.tool));
    }
    program->index_ = std::make_unique<Index>(program->routes_);
    check_samples(*program);
    for (Upstream& upstream : program->upstreams_) {
      upstream.settings_digest = settings_digest_of(*program, upstream);
    }
    // Not shrunk to fit: the spare capacity is never touched, and a copy would be the peak of a
    // compile.
    append_canonical(program->canonical_json_, *program);
    program->payload_hash_ = "sha256:" + crypto::sha256_hex(program->canonical_json_);
    places_[static_cast<std::size_t>(FactKind::provider)] = std::move(providers.places);
    places_[static_cast<std::size_t>(FactKind::upstream)] = std::move(upstreams.places);
    places_[static_cast<std::size_t>(FactKind::price)] = std::move(prices.places);
    return program;
  }

  // A sample represents the calls of its operation, so the router must find the operation's route
  // for its path, and not a narrower one.
  void check_samples(const Program& program) {
    for (const auto& [index, place, path] : samples_) {
      const Operation& operation = program.operations_[index];
      const Route& route = program.routes_[operation.route];
      const std::string& sample = operation.monitoring->sample.path;
      if (program.match(sample).route == &route) continue;
      problems_.add(Rule::sample_of_another, place, path, {sample, route.matcher.pattern});
    }
  }

  // All routes of a bucket must have the same limits.
  void add_free_buckets(Program& program) {
    struct Known {
      std::uint32_t bucket;
      std::uint32_t route;  // the first route of the bucket
    };
    std::unordered_map<std::string, Known> known;
    for (std::uint32_t at = 0; at < program.routes_.size(); ++at) {
      Route& route = program.routes_[at];
      if (!route.free_policy) continue;
      const FreePolicy& policy = program.free_policies_[*route.free_policy];
      std::string key = free_bucket_key(program, route, policy);
      const auto next = static_cast<std::uint32_t>(program.free_buckets_.size());
      const auto [found, is_new] = known.try_emplace(key, Known{next, at});
      route.free_bucket = found->second.bucket;
      if (is_new) {
        program.free_buckets_.push_back({std::move(key), *route.free_policy});
        continue;
      }
      const FreePolicy& first =
          program.free_policies_[program.free_buckets_[route.free_bucket].policy];
      if (same_limits(first, policy)) continue;
      problems_.add(Rule::bucket_differs, route_places_[at].place, path_of_route(at) + ".free",
                    {policy.policy_key, first.policy_key,
                     problems_.text_of(route_places_[found->second.route].place)});
    }
  }

  void add_operations(Program& program, const std::vector<std::uint32_t>& price_ranks) {
    for (std::uint32_t at = 0; at < program.routes_.size(); ++at) {
      Route& route = program.routes_[at];
      std::vector<std::uint32_t>& routed = program.upstreams_[route.upstream].operations;
      for (std::size_t method = 0; method < route.methods.size(); ++method) {
        DraftOperation& drafted = route_operations_[at][method];
        Operation operation = std::move(drafted.operation);
        operation.index = static_cast<std::uint32_t>(program.operations_.size());
        operation.route = at;
        operation.method = route.methods[method];
        operation.upstream_operation = static_cast<std::uint32_t>(routed.size());
        if (!drafted.sample_path.empty()) {
          samples_.push_back(
              {operation.index, drafted.sample_place, std::move(drafted.sample_path)});
        }
        if (drafted.price != no_node) {
          operation.price = price_ranks[drafted.price];
          operation.no_charge_when = joined(program.prices_[*operation.price].no_charge_when,
                                            operation.own_no_charge_when);
        }
        routed.push_back(operation.index);
        route.operations.push_back(operation.index);
        program.operations_.push_back(std::move(operation));
      }
    }
  }

  void note_what_is_unused(const Draft& draft) {
    note_unused(draft.prices, "prices", "price");
    note_unused(draft.query_policies, "query_policies", "query policy");
    note_unused(draft.response_policies, "response_policies", "response policy");
    note_unused(draft.reply_schemas, "reply_schemas", "reply schema");
    note_unused(draft.free_policies, "free_policies", "free policy");
  }

  template <class Value>
  void note_unused(const Table<Value>& table, const std::string& section, const std::string& kind) {
    for (const auto& entry : table.entries()) {
      if (entry.is_used) continue;
      notes_->push_back({"unused_definition", input_.sources[entry.place.file].name,
                         static_cast<int>(entry.place.line), static_cast<int>(entry.place.column),
                         section + "." + entry.name, "no route uses this " + kind});
    }
  }

  void check_installed(const Program& program) {
    if (input_.installed.empty()) return;
    std::unordered_map<std::string_view, std::string_view> installed;
    for (const InstalledFact& fact : input_.installed) installed.emplace(fact.key, fact.digest);
    each_fact_of(program, [&](const Fact& fact) {
      const auto known = installed.find(fact.key);
      if (known == installed.end()) return;
      const std::string digest = crypto::sha256_hex(fact.definition);
      if (known->second != digest) report_redefinition(program, fact, known->second, digest);
    });
  }

  void report_redefinition(const Program& program, const Fact& fact, std::string_view then,
                           std::string_view now) {
    const bool is_price = fact.kind == FactKind::price;
    const std::string_view counter = is_price ? "version" : "revision";
    const Place place = fact.kind == FactKind::route
                            ? route_places_[fact.index].place
                            : places_[static_cast<std::size_t>(fact.kind)][fact.index];
    const auto [path, name, number] = named(program, fact);
    constexpr std::size_t digits_shown = 12;
    // Captured by name, since clang 14 does not let a lambda capture structured bindings.
    const auto add = [&, &path = path, &name = name, &number = number](Problems& problems) {
      std::string differing;
      if (input_.definition && !problems.full()) {
        differing = differing_fields(input_.definition(fact.key), fact.definition);
      }
      problems.add(Rule::installed_differs, place, path,
                   {std::string(counter) + " " + std::to_string(number) + " of " + name,
                    then.substr(0, digits_shown), now.substr(0, digits_shown), differing, counter});
    };
    if (input_.redefinitions == nullptr) return add(problems_);
    Problems allowed(input_.sources);
    add(allowed);
    input_.redefinitions->push_back(
        {allowed.take().front(), counter, highest_installed(fact.key) + 1});
  }

  // The highest installed number of this thing.
  std::uint32_t highest_installed(std::string_view key) {
    if (highest_.empty()) {
      for (const InstalledFact& fact : input_.installed) {
        const std::string_view known = fact.key;
        const std::size_t mark = known.rfind('@');
        const auto number = decimal_integer(known.substr(mark + 1));
        std::uint32_t& highest = highest_[known.substr(0, mark)];
        highest = std::max(highest, static_cast<std::uint32_t>(number.value_or(0)));
      }
    }
    return highest_[key.substr(0, key.rfind('@'))];
  }

  struct Named {
    std::string path;  // in the YAML
    std::string name;
    std::uint32_t number;  // its revision or version
  };
  [[nodiscard]] Named named(const Program& program, const Fact& fact) const {
    switch (fact.kind) {
      case FactKind::provider: {
        const Provider& provider = program.providers()[fact.index];
        return {"provider", "provider " + provider.id, provider.revision};
      }
      case FactKind::upstream: {
        const Upstream& upstream = program.upstreams()[fact.index];
        return {"upstreams." + upstream.id, "upstream " + upstream.id, upstream.revision};
      }
      case FactKind::price: {
        const Price& price = program.prices()[fact.index];
        return {"prices." + price.policy_key, "price " + price.policy_key, price.version};
      }
      case FactKind::route:
        break;
    }
    const Route& route = program.routes()[fact.index];
    return {path_of_route(fact.index), "route " + route.matcher.pattern, route.revision};
  }

  const CompileInput& input_;
  std::vector<Problem>* const notes_;  // null: notes are not requested
  Problems problems_;
  std::vector<Route> routes_;               // by id
  std::vector<std::uint32_t> route_ranks_;  // by place in the draft
  std::vector<std::vector<DraftOperation>> route_operations_;
  std::vector<RoutePlace> route_places_;
  std::vector<SamplePlace> samples_;
  std::vector<Place> places_[4];                                 // by FactKind
  std::unordered_map<std::string_view, std::uint32_t> highest_;  // filled at first use
};

Program::Program() = default;
Program::~Program() = default;

Compiled compile_with_notes(const CompileInput& input, std::vector<Problem>& notes) {
  return Compiler(input, &notes).run();
}

Compiled compile(const CompileInput& input) { return Compiler(input).run(); }

}  // namespace turnpike::registry
