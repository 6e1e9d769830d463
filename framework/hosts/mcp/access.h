// Access: decides by Host and Origin whether a request may reach the endpoints. A web page can
// point a name of its own at this machine and then talk to the machine as to its own server (DNS
// rebinding), but it cannot change the names that the browser sends. Documents are public and not
// checked.
//
// Immutable; any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>

#include "base/error.h"
#include "hosts/origins.h"

namespace turnpike::hosts::mcp {

struct AccessSettings {
  std::string base_url;       // public URL of the host
  std::string bound_address;  // of the listener: "127.0.0.1:8403"
  // Replace the defaults. Default hosts: the authority of base_url, the bound address and, if that
  // is on loopback, the loopback names with its port. Default origins: the origin of base_url and,
  // with loopback, pages of this machine on any port. "*" allows all. A host without a port matches
  // any port.
  std::optional<std::vector<std::string>> hosts = {};
  std::optional<std::vector<std::string>> origins = {};
};

class Access {
 public:
  explicit Access(const AccessSettings& settings);

  // Returns why this request is refused; nothing: it is allowed. A request without Origin was not
  // sent by a page. `target_authority`: that of an absolute-form target, which overrules Host.
  [[nodiscard]] std::optional<base::Error> refusal(Headers headers,
                                                   std::string_view target_authority = {}) const;
  [[nodiscard]] const Origins& origins() const noexcept { return origins_; }

 private:
  [[nodiscard]] bool allows_host(std::string_view authority) const noexcept;

  std::vector<std::string> hosts_;
  bool allows_all_hosts_;
  Origins origins_;
};

}  // namespace turnpike::hosts::mcp
