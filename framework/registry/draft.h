// Draft: the checked model under construction: everything that the reading stages have accepted so
// far, with the places that later messages need. compile() turns a draft without problems into a
// Program.
//
// Internal to registry/. Used by one Thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "registry/canonical.h"
#include "registry/problems.h"
#include "registry/program.h"
#include "registry/reader.h"

namespace turnpike::registry {

// Definitions by name. A second definition of the same name is reported and dropped.
template <class Value>
class Table {
 public:
  struct Entry {
    std::string name;
    Value value;
    Place place;
    mutable bool is_used = false;  // set by resolve()
  };

  // `kind` names the thing in messages: "price policy". `named` is the place of the name.
  bool add(std::string name, Value value, std::string_view kind, const Cursor& named) {
    const auto known = by_name_.find(name);
    if (known != by_name_.end()) {
      named.report_key(Rule::duplicate_definition,
                       {kind, name, named.problems().text_of(entries_[known->second].place)});
      return false;
    }
    by_name_.emplace(name, static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back({std::move(name), std::move(value), named.place(), false});
    return true;
  }

  [[nodiscard]] const std::uint32_t* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &found->second;
  }

  // The entry that `cursor` names; a missing one is reported.
  [[nodiscard]] const std::uint32_t* resolve(const Cursor& cursor, std::string_view kind) const {
    if (!cursor.expect(NodeKind::scalar, "the name of a " + std::string(kind))) return nullptr;
    const std::uint32_t* found = find(std::string(cursor.raw_text()));
    if (found != nullptr) {
      entries_[*found].is_used = true;
    } else {
      std::vector<std::string_view> names;
      if (!cursor.problems().full()) {
        names.reserve(entries_.size());
        for (const Entry& entry : entries_) names.push_back(entry.name);
      }
      cursor.report(Rule::unknown_reference,
                    {kind, cursor.raw_text(), suggestion(cursor.raw_text(), names)});
    }
    return found;
  }

  [[nodiscard]] std::vector<Entry>& entries() noexcept { return entries_; }
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

// Shares one object between all equal policies.
template <class Policy>
class Shared {
 public:
  std::shared_ptr<const Policy> of(Policy policy) {
    std::string form;
    append_canonical(form, policy);
    std::shared_ptr<const Policy>& shared = by_form_[std::move(form)];
    if (!shared) shared = std::make_shared<const Policy>(std::move(policy));
    return shared;
  }

 private:
  std::unordered_map<std::string, std::shared_ptr<const Policy>> by_form_;
};

// A part of the registry that a lane has to read, and its place.
struct LanePart {
  const Tree* tree = nullptr;
  const Node* node = nullptr;
  std::string path;
  Settings settings;
};

// Collects the parts that the lane with terms has to read.
struct LaneDraft {
  std::string word;  // the lane's name; empty: there is no such lane
  std::optional<LanePart> section;
  std::vector<LanePart> prices;
  std::vector<std::uint32_t> price_of;  // parallel to `prices`, in Draft::prices; or no_node
  std::vector<LanePart> policies;       // without the default policy, which comes first
  std::vector<std::uint32_t> over;      // parallel to `policies`: RegistryParts::Policy::over
  std::unordered_map<const Node*, std::uint32_t> policy_at;
};

struct DraftProvider {
  Provider provider;
  std::string base_path;
  std::vector<std::uint32_t> upstreams;
};

// References are indexes into the draft's tables, in reading order.
struct DraftOperation {
  Operation operation;
  std::uint32_t price = no_node;  // no_node: pricing_unavailable
  Place sample_place;             // of its monitoring's sample, if there is one
  std::string sample_path;        // in the YAML; empty: no sample
};

struct DraftRoute {
  Route route;
  std::vector<DraftOperation> operations;  // parallel to route.methods
  Place place;
  std::uint32_t index = 0;  // routes[index] of its file
};

// The operation is `method` of a route of the draft.
struct DraftTool {
  Tool tool;
  std::uint32_t route = 0;
  std::uint32_t method = 0;
};

struct Draft {
  Table<std::shared_ptr<const QueryPolicy>> query_policies;
  Table<std::shared_ptr<const ResponsePolicy>> response_policies;
  Table<FreePolicy> free_policies;
  Table<nlohmann::json> reply_schemas;
  std::unordered_map<std::uint32_t, std::shared_ptr<const ReplySchema>> published_schemas;
  LaneDraft lane;
  std::optional<LaneTerms> lane_terms;  // set once the terms are read
  Table<Price> prices;
  Table<DraftProvider> providers;
  Table<Upstream> upstreams;
  std::vector<DraftRoute> routes;
  Table<DraftTool> tools;  // by name in lower case
  Table<Unit> tool_names;  // aliases for calls: lower case, `_` instead of `.`

  Shared<QueryPolicy> shared_query;
  Shared<BodyPolicy> shared_body;
  Shared<ResponsePolicy> shared_response;
  Shared<Monitoring> shared_monitoring;
  std::shared_ptr<const Monitoring> unmonitored = std::make_shared<const Monitoring>();
};

}  // namespace turnpike::registry
