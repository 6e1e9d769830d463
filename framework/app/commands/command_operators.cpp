// operator: the credentials for the operator listener.
#include "app/commands/command_database.h"
#include "identity/operators.h"
#include "text/time_text.h"

namespace turnpike::app {
namespace {

using identity::Authority;
using identity::Operator;
using nlohmann::json;

json to_json(const Operator& credential) {
  json authorities = json::array();
  for (const Authority each : identity::all_authorities) {
    if (credential.authorities.has(each)) authorities.push_back(name_of(each));
  }
  return {{"id", credential.id},
          {"name", credential.name},
          {"environment", name_of(credential.environment)},
          {"prefix", credential.prefix},
          {"authorities", authorities},
          {"createdAt", text::rfc3339(credential.created_at_ms)},
          {"lastUsedAt", time_or_null(credential.last_used_at_ms)},
          {"revokedAt", time_or_null(credential.revoked_at_ms)}};
}

std::string line_of(const Operator& credential) {
  std::string line = credential.id + "  " + credential.prefix + "...  " +
                     (credential.revoked_at_ms ? "revoked  " : "active   ") + credential.name +
                     "  ";
  return line + text_of(credential.authorities);
}

std::string all_names() {
  std::string names;
  for (const Authority each : identity::all_authorities) {
    names += (names.empty() ? "" : ", ") + std::string(name_of(each));
  }
  return names;
}

}  // namespace

int run_operator_create(const CommonOptions& options, const std::string& name,
                        const std::vector<std::string>& names) {
  identity::Authorities authorities;
  for (const std::string& each : names) {
    const auto known = identity::authority(each);
    if (!known) {
      (void)print_failure(options, "there is no authority '" + each + "'; known: " + all_names());
      return exit_usage;
    }
    authorities.add(*known);
  }
  return with_database(options, [&](Tools& tools) {
    identity::Operators operators(tools.node.operators(), tools.config.environment, tools.clock,
                                  tools.random);
    return print(
        options, operators.create(name, authorities),
        [](const identity::CreatedOperator& created) {
          json object = to_json(created.credential);
          object["secret"] = created.secret;
          return object;
        },
        [](const identity::CreatedOperator& created) {
          return line_of(created.credential) + "\nsecret (shown only now): " + created.secret;
        });
  });
}

int run_operator_list(const CommonOptions& options) {
  using List = std::vector<Operator>;
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.operators().list(),
        [](const List& list) {
          json items = json::array();
          for (const Operator& each : list) items.push_back(to_json(each));
          return json{{"items", items}};
        },
        [](const List& list) {
          std::string lines;
          for (const Operator& each : list) lines += (lines.empty() ? "" : "\n") + line_of(each);
          return lines.empty() ? std::string("none") : lines;
        });
  });
}

int run_operator_revoke(const CommonOptions& options, const std::string& id) {
  return with_database(options, [&](Tools& tools) {
    const auto revoked = tools.node.operators().revoke(id);
    if (revoked.ok() && !revoked->has_value()) {
      return print_failure(options,
                           "there is no operator '" + id + "'; turnpike operator list shows them");
    }
    return print(
        options, revoked, [](const std::optional<Operator>& each) { return to_json(*each); },
        [](const std::optional<Operator>& each) { return line_of(*each); });
  });
}

}  // namespace turnpike::app
