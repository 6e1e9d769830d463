// user, session, member, invitation, audit and oauth: the operator's hand on people. What these
// commands change is audited as operator:cli and takes effect within a second on every node.
#include "app/commands/command_database.h"
#include "app/services/people_services.h"
#include "hosts/account/people_json.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

using hosts::account::Json;
using identity::Role;

Json to_json(const identity::Person& person) {
  return {{"id", person.id},
          {"login", person.login},
          {"name", person.name},
          {"disabled", person.is_disabled},
          {"createdAt", text::rfc3339(person.created_at_ms)},
          {"lastSignInAt", time_or_null(person.last_sign_in_at_ms)}};
}

std::string line_of(const identity::Person& person) {
  return person.id + "  " + (person.is_disabled ? "disabled  " : "active    ") + person.login +
         "  " + person.name;
}

identity::People people_of(Tools& tools) {
  return {tools.node.people(), tools.node.members(), tools.config.environment, tools.random};
}

identity::Sessions sessions_of(Tools& tools) {
  // Only the gateway has page tokens.
  return {tools.node.sessions(),
          {tools.config.environment, session_limits(tools.config), std::string()},
          tools.random};
}

std::string link_of(const Tools& tools, std::string_view path, const std::string& token) {
  return configured_web_url(tools.config) + std::string(path) + "#" + token;
}

int print_error(const CommonOptions& options, const base::Error& error) {
  return print_failure(options, error.message);
}

int print_done(const CommonOptions& options, const Json& shown, const std::string& text) {
  std::cout << (options.json ? shown.dump() : text) << '\n';
  return exit_done;
}

// Calls `work` with the person whom `word` names by id or login.
int with_person(const CommonOptions& options, const std::string& word,
                const std::function<int(Tools&, const identity::Person&)>& work) {
  return with_database(options, [&](Tools& tools) {
    auto found = tools.node.people().find(word);
    if (found.ok() && !found->has_value()) {
      const auto login = identity::read_login(word);
      if (login.ok()) found = tools.node.people().find_login(*login);
    }
    if (!found.ok()) return print_error(options, found.error());
    if (found->has_value()) return work(tools, **found);
    return print_failure(options,
                         "there is nobody '" + word + "'; turnpike user list shows everybody");
  });
}

Role role_named(const std::string& name) { return identity::role(name).value_or(Role::member); }

int print_invited(const CommonOptions& options, const Tools& tools,
                  const identity::InvitedPerson& invited) {
  const std::string link = link_of(tools, "/login/link", invited.link_token);
  return print_done(options,
                    {{"id", invited.person.id}, {"login", invited.person.login}, {"link", link}},
                    line_of(invited.person) + "\nlink (works once, for an hour): " + link);
}

template <class Item, class F, class G>
int print_list(const CommonOptions& options, const Result<std::vector<Item>, base::Error>& items,
               F&& to_object, G&& to_line) {
  if (!items.ok()) return print_error(options, items.error());
  Json list = Json::array();
  std::string lines;
  for (const Item& item : *items) {
    list.push_back(to_object(item));
    lines += (lines.empty() ? "" : "\n") + to_line(item);
  }
  return print_done(options, {{"items", std::move(list)}}, lines.empty() ? "none" : lines);
}

template <class T>
int print_unit(const CommonOptions& options, const Result<T, base::Error>& done,
               const std::string& text) {
  if (!done.ok()) return print_error(options, done.error());
  return print_done(options, {{"ok", true}}, text);
}

int set_disabled(const CommonOptions& options, const PeopleWords& words, bool is_disabled) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    const auto changed =
        tools.node.people().set_disabled(person.id, is_disabled, identity::operator_actor());
    if (!changed.ok()) return print_error(options, changed.error());
    const identity::Person& now = changed->value_or(person);
    return print_done(options, to_json(now), line_of(now));
  });
}

}  // namespace

int run_user_create(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    std::optional<identity::NewMembership> membership;
    if (!words.account.empty()) membership = {words.account, role_named(words.role)};
    const auto created =
        people_of(tools).create(words.name, words.login, membership, identity::operator_actor());
    if (!created.ok()) return print_error(options, created.error());
    return print_invited(options, tools, *created);
  });
}

int run_user_link(const CommonOptions& options, const PeopleWords& words) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    const auto linked = people_of(tools).link(person.id, identity::operator_actor());
    if (!linked.ok()) return print_error(options, linked.error());
    if (!linked->has_value()) return print_failure(options, "the person is gone");
    return print_invited(options, tools, **linked);
  });
}

int run_user_show(const CommonOptions& options, const PeopleWords& words) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    const auto passkeys = tools.node.people().passkeys(person.id);
    if (!passkeys.ok()) return print_error(options, passkeys.error());
    const auto credentials = tools.node.passwords().credentials(person.id);
    if (!credentials.ok()) return print_error(options, credentials.error());
    const auto identities = tools.node.external_identities().list(person.id);
    if (!identities.ok()) return print_error(options, identities.error());
    Json shown = to_json(person);
    shown["passkeys"] = passkeys->size();
    shown["hasPassword"] = credentials->has_password;
    shown["externalIdentities"] = identities->size();
    shown["recoveryCodesLeft"] = credentials->recovery_codes;
    return print_done(options, shown,
                      line_of(person) + "\npasskeys: " + std::to_string(passkeys->size()) +
                          "\npassword: " + (credentials->has_password ? "set" : "none") +
                          "\nexternal identities: " + std::to_string(identities->size()) +
                          "\nrecovery codes left: " + std::to_string(credentials->recovery_codes));
  });
}

int run_user_list(const CommonOptions& options) {
  return with_database(options, [&](Tools& tools) {
    return print_list(
        options, tools.node.people().list(), [](const auto& person) { return to_json(person); },
        [](const auto& person) { return line_of(person); });
  });
}

int run_user_disable(const CommonOptions& options, const PeopleWords& words) {
  return set_disabled(options, words, true);
}

int run_user_enable(const CommonOptions& options, const PeopleWords& words) {
  return set_disabled(options, words, false);
}

// The session is stepped up for its whole life: whoever may run this command could do anything that
// a session allows.
int run_session_create(const CommonOptions& options, const PeopleWords& words) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    const std::int64_t valid_ms = words.hours * 3'600'000;
    const std::string name = words.name.empty() ? "command line" : words.name;
    const auto created = sessions_of(tools).create_bearer(person.id, name, valid_ms, valid_ms,
                                                          "operator", identity::operator_actor());
    if (!created.ok()) return print_error(options, created.error());
    const std::string until = text::rfc3339(created->session.expires_at_ms);
    return print_done(
        options, {{"id", created->session.id}, {"token", created->token}, {"expiresAt", until}},
        created->session.id + "  until " + until + "\ntoken (shown only now): " + created->token);
  });
}

namespace {

int list_sessions(const CommonOptions& options, Tools& tools, const std::string& person_id) {
  return print_list(
      options, tools.node.sessions().list(person_id, session_limits(tools.config)),
      [](const identity::Session& session) {
        Json shown = hosts::account::session_json(session, "");
        shown["personId"] = session.person_id;
        return shown;
      },
      [](const identity::Session& session) {
        return session.id + "  " + session.person_id + "  " +
               std::string(name_of(session.transport)) + "  until " +
               text::rfc3339(session.expires_at_ms) + "  " + session.name + session.user_agent;
      });
}

int end_sessions(const CommonOptions& options, Tools& tools, const std::string& person_id) {
  const auto ended = tools.node.sessions().end_others(person_id, "", identity::operator_actor());
  if (!ended.ok()) return print_error(options, ended.error());
  return print_done(options, {{"ended", *ended}}, text::counted(*ended, "session") + " ended");
}

}  // namespace

int run_session_list(const CommonOptions& options, const PeopleWords& words) {
  if (words.person.empty()) {
    return with_database(options, [&](Tools& tools) { return list_sessions(options, tools, ""); });
  }
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    return list_sessions(options, tools, person.id);
  });
}

int run_session_end(const CommonOptions& options, const PeopleWords& words) {
  if (!words.person.empty()) {
    return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
      return end_sessions(options, tools, person.id);
    });
  }
  return with_database(options, [&](Tools& tools) {
    if (words.is_everyone) return end_sessions(options, tools, "");
    const auto ended = tools.node.sessions().end("", words.id, identity::operator_actor());
    if (!ended.ok()) return print_error(options, ended.error());
    if (*ended) return print_done(options, {{"ended", 1}}, "1 session ended");
    return print_failure(options, "there is no session '" + words.id +
                                      "' that goes on; turnpike session list shows them");
  });
}

int run_member_list(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print_list(options, tools.node.members().members(words.account),
                      hosts::account::member_json, [](const identity::Member& member) {
                        return member.person_id + "  " + std::string(name_of(member.role)) + "  " +
                               member.name;
                      });
  });
}

int run_member_add(const CommonOptions& options, const PeopleWords& words) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    return print_unit(options,
                      tools.node.members().add({words.account, role_named(words.role)}, person.id,
                                               identity::operator_actor()),
                      person.id + " is " + words.role + " of " + words.account);
  });
}

int run_member_set(const CommonOptions& options, const PeopleWords& words) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    return print_unit(
        options,
        tools.node.members().set_role(words.account, person.id, role_named(words.role),
                                      identity::operator_actor()),
        person.id + " is " + words.role + " of " + words.account);
  });
}

int run_member_remove(const CommonOptions& options, const PeopleWords& words) {
  return with_person(options, words.person, [&](Tools& tools, const identity::Person& person) {
    return print_unit(
        options, tools.node.members().remove(words.account, person.id, identity::operator_actor()),
        person.id + " is no member of " + words.account);
  });
}

int run_invitation_create(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    const auto created = people_of(tools).invite(words.account, words.email, role_named(words.role),
                                                 identity::operator_actor());
    if (!created.ok()) return print_error(options, created.error());
    Json shown = hosts::account::invitation_json(created->invitation);
    const std::string link = link_of(tools, "/invitation", created->token);
    shown["link"] = link;
    return print_done(options, shown,
                      created->invitation.id + "\nlink (works once, for 7 days): " + link);
  });
}

int run_invitation_list(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print_list(options, tools.node.members().invitations(words.account),
                      hosts::account::invitation_json, [](const identity::Invitation& one) {
                        return one.id + "  " + std::string(name_of(one.role)) + "  until " +
                               text::rfc3339(one.expires_at_ms) + "  " + one.email;
                      });
  });
}

int run_invitation_withdraw(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print_unit(
        options, tools.node.members().withdraw(words.account, words.id, identity::operator_actor()),
        words.id + " is withdrawn");
  });
}

int run_audit_list(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    const auto events =
        tools.node.audit().list({.account_id = words.account, .limit = words.limit});
    if (!events.ok()) return print_error(options, events.error());
    const Json page = hosts::account::audit_page_json(*events, events->size());
    std::string lines;
    for (const identity::AuditEvent& event : *events) {
      lines += (lines.empty() ? "" : "\n") + text::rfc3339(event.at_ms) + "  " +
               event.actor.principal + "  " + event.action + "  " + event.target + "  " +
               std::string(name_of(event.outcome)) + "  " + event.detail;
    }
    return print_done(options, {{"items", page["items"]}}, lines.empty() ? "none" : lines);
  });
}

int run_oauth_client_list(const CommonOptions& options) {
  return with_database(options, [&](Tools& tools) {
    std::vector<oauth::Client> all;
    for (std::string after;;) {
      auto some = tools.node.grants().clients(after);
      if (!some.ok()) return print_error(options, some.error());
      if (some->empty()) break;
      after = some->back().id;
      all.insert(all.end(), some->begin(), some->end());
    }
    return print_list(
        options, Result<std::vector<oauth::Client>, base::Error>(std::move(all)),
        [](const oauth::Client& client) -> Json {
          return {{"id", client.id},
                  {"kind", name_of(client.kind)},
                  {"name", client.metadata.name},
                  {"redirectUris", client.metadata.redirect_uris},
                  {"blocked", client.is_blocked},
                  {"createdAt", text::rfc3339(client.created_at_ms)},
                  {"lastGrantedAt", time_or_null(client.last_used_at_ms)}};
        },
        [](const oauth::Client& client) {
          return client.id + "  " + (client.is_blocked ? "blocked  " : "known    ") +
                 client.metadata.name + "  " + client.metadata.redirect_uris.front();
        });
  });
}

int run_oauth_client_block(const CommonOptions& options, const PeopleWords& words,
                           bool is_blocked) {
  return with_database(options, [&](Tools& tools) {
    const auto changed =
        tools.node.grants().set_blocked(words.id, is_blocked, identity::operator_actor());
    if (changed.ok() && !*changed) {
      return print_failure(options, "there is no client '" + words.id + "'");
    }
    return print_unit(options, changed,
                      is_blocked ? "blocked; its grants have ended" : "not blocked any more");
  });
}

int run_oauth_grant_list(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print_list(options, tools.node.grants().grants(words.person, words.account),
                      hosts::account::grant_json, [](const oauth::Grant& grant) {
                        return grant.id + "  " + grant.account_id + "  " + grant.person_id + "  " +
                               grant.client_name;
                      });
  });
}

int run_oauth_grant_revoke(const CommonOptions& options, const PeopleWords& words) {
  return with_database(options, [&](Tools& tools) {
    const auto revoked = tools.node.grants().revoke(words.id, {}, {}, identity::operator_actor());
    if (revoked.ok() && !*revoked) {
      return print_failure(options, "there is no grant '" + words.id + "' that goes on");
    }
    return print_unit(options, revoked, "revoked");
  });
}

}  // namespace turnpike::app
