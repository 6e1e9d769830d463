#include "hosts/mcp/access.h"

#include <algorithm>

namespace turnpike::hosts::mcp {

namespace {

bool is_on_loopback(std::string_view address) noexcept {
  return address.starts_with("127.") || address.starts_with("[::1]");
}

std::vector<std::string> default_hosts(const AccessSettings& settings) {
  std::vector<std::string> hosts = {settings.bound_address};
  const std::string origin = origin_of(settings.base_url);
  if (!origin.empty()) hosts.emplace_back(authority_of(origin));
  if (is_on_loopback(settings.bound_address)) {
    const std::string port(split_authority(settings.bound_address).port);
    for (const char* name : {"localhost:", "127.0.0.1:", "[::1]:"}) hosts.push_back(name + port);
  }
  return hosts;
}

Origins allowed_origins(const AccessSettings& settings) {
  if (settings.origins) return Origins(*settings.origins);
  std::vector<std::string> listed;
  if (std::string own = origin_of(settings.base_url); !own.empty()) listed.push_back(own);
  return Origins(std::move(listed), is_on_loopback(settings.bound_address)
                                        ? Origins::Loopback::always
                                        : Origins::Loopback::as_listed);
}

bool is_same_host(std::string_view one, std::string_view other) noexcept {
  return same_header_name(one, other);  // both compare ASCII case-insensitively
}

}  // namespace

Access::Access(const AccessSettings& settings)
    : hosts_(settings.hosts ? *settings.hosts : default_hosts(settings)),
      allows_all_hosts_(std::find(hosts_.begin(), hosts_.end(), "*") != hosts_.end()),
      origins_(allowed_origins(settings)) {}

bool Access::allows_host(std::string_view authority) const noexcept {
  const auto [host, port] = split_authority(authority);
  return std::any_of(hosts_.begin(), hosts_.end(), [host = host, port = port](const auto& entry) {
    const HostPort allowed = split_authority(entry);
    return is_same_host(allowed.host, host) && (allowed.port.empty() || allowed.port == port);
  });
}

std::optional<base::Error> Access::refusal(Headers headers,
                                           std::string_view target_authority) const {
  bool is_host_allowed =
      allows_all_hosts_ || (!target_authority.empty() && allows_host(target_authority));
  bool is_origin_allowed = true;
  for (const HeaderField& field : headers) {
    // The wire refuses a second Host field.
    if (same_header_name(field.name, "host")) {
      is_host_allowed = is_host_allowed || (target_authority.empty() && allows_host(field.value));
    } else if (same_header_name(field.name, "origin")) {
      is_origin_allowed = is_origin_allowed && origins_.allows(field.value);
    }
  }
  if (!is_host_allowed) {
    return base::Error{
        base::ErrorCode::mcp_host_not_allowed,
        "This server does not answer to the name that the request is for.",
        0,
        {{"header.host", "it is none of this server's names",
          "Use its public URL; its operator adds names in hosts.mcp.allowed_hosts."}}};
  }
  if (!is_origin_allowed) {
    return base::Error{base::ErrorCode::mcp_origin_not_allowed,
                       "This server does not answer to pages of this origin.",
                       0,
                       {{"header.origin", "it is not allowed here",
                         "Its operator adds origins in hosts.mcp.allowed_origins."}}};
  }
  return std::nullopt;
}

}  // namespace turnpike::hosts::mcp
