// PeopleServices: the objects by which people sign in and change their own data, assembled for the
// gateway and for commands.
//
// Owned by the gateway; the node, the pool and the sources outlive it. Its parts say which Threads
// may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "app/config/config.h"
#include "hosts/account/pooled_people.h"
#include "oauth/server.h"
#include "storage/node.h"

namespace turnpike::app {

class PeopleServices {
 public:
  struct Sources {
    runtime::BlockingPool& pool;
    std::uint32_t processors;  // of this machine
    const Clock& clock;
    Random& random;
    Http& http;  // to external identity providers
    std::function<void(std::string_view key_id)> key_revoked;
    std::string mcp_url = {};  // base URL of the MCP host; empty: not served
    crypto::PasswordCost password_cost = {};
  };
  // The error is a sentence for the operator.
  static Result<std::unique_ptr<PeopleServices>, std::string> open(storage::Node& node,
                                                                   const Config& config,
                                                                   const std::string& web_url,
                                                                   const Sources& sources);

  [[nodiscard]] const hosts::account::PooledPeople& of_hosts() const noexcept { return of_hosts_; }
  // Null: it is disabled, or there is no MCP host as the resource, or no web host for consent
  // pages.
  [[nodiscard]] oauth::Server* authorization() const noexcept { return authorization_.get(); }

 private:
  struct Secrets {
    std::string page_tokens;
    std::string ceremonies;
    std::string oauth_requests;
  };
  PeopleServices(storage::Node& node, const Config& config, const std::string& web_url,
                 const Sources& sources, Secrets secrets);

  identity::Sessions sessions_;
  identity::Ceremonies ceremonies_;
  identity::People people_;
  identity::Tries tries_;
  identity::Tries password_tries_;
  identity::SignIn sign_in_;
  identity::Passwords passwords_;
  identity::RecoveryCodes recovery_codes_;
  identity::ExternalSignIn external_sign_in_;
  identity::ApiKeys keys_;
  identity::Accounts accounts_;
  identity::ByMail by_mail_;
  const std::unique_ptr<oauth::Server> authorization_;
  hosts::account::PooledPeople of_hosts_;
};

// Returns the URL of a web host on this listener, where none is configured. A loopback address
// becomes "localhost", since passkeys do not work with IP addresses.
std::string local_web_url(std::string_view address);
// The same for a command, which knows only the configuration.
std::string configured_web_url(const Config& config);

identity::SessionLimits session_limits(const Config& config);

}  // namespace turnpike::app
