// An independent reading of redirect URIs: splits one into the parts of RFC 3986, copies each and
// checks it alone. A slow equivalent of oauth/redirect_uri.cpp for its tests and its fuzzing. Pure
// functions; any Thread.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "oauth/redirect_uri.h"

namespace turnpike::oracle {

struct RedirectReading {
  bool is_uri = false;
  std::string scheme;
  bool has_slashes = false;
  std::string host;
  std::string port;  // with its colon
  std::string rest;
};

inline RedirectReading read_redirect(const std::string& uri) {
  static const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  static const std::string capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static const std::string digits = "0123456789";
  static const std::string hex = digits + "abcdefABCDEF";
  static const std::string plain = letters + capitals + digits + "-._~:/?[]@!$&'()*+,;=";
  RedirectReading reading;
  if (uri.empty() || uri.size() > 1024) return reading;
  for (std::size_t at = 0; at < uri.size(); ++at) {
    if (uri[at] == '%') {
      const std::string two = uri.substr(at + 1, 2);
      if (two.size() != 2 || two.find_first_not_of(hex) != two.npos) return reading;
    } else if (plain.find(uri[at]) == plain.npos) {
      return reading;
    }
  }
  const std::size_t colon = uri.find(':');
  if (colon == uri.npos || colon == 0 || letters.find(uri[0]) == letters.npos) return reading;
  reading.scheme = uri.substr(0, colon);
  if (reading.scheme.find_first_not_of(letters + digits + "+-.") != std::string::npos) {
    return reading;
  }
  reading.rest = uri.substr(colon + 1);
  reading.is_uri = true;
  reading.has_slashes = reading.rest.substr(0, 2) == "//";
  if (!reading.has_slashes) return reading;
  std::string authority = reading.rest.substr(2);
  const std::size_t end = authority.find_first_of("/?");
  reading.rest = end == authority.npos ? "" : authority.substr(end);
  authority = authority.substr(0, end);
  const bool is_address = authority.substr(0, 1) == "[";
  const std::size_t bracket = is_address ? authority.find(']') : 0;
  const std::size_t cut = bracket == authority.npos ? authority.npos : authority.find(':', bracket);
  reading.host = authority.substr(0, cut);
  if (cut != authority.npos) reading.port = authority.substr(cut);
  return reading;
}

inline bool is_web_host(const std::string& host) {
  static const std::string of_names =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  static const std::string of_addresses = "0123456789abcdefABCDEF:.";
  if (host.substr(0, 1) != "[") {
    return !host.empty() && host.find_first_not_of(of_names) == host.npos;
  }
  return host.size() >= 4 && host.back() == ']' &&
         host.substr(1, host.size() - 2).find_first_not_of(of_addresses) == host.npos;
}

inline bool is_web_port(const std::string& port) {
  if (port.empty()) return true;
  const std::string number = port.substr(1);
  return number == std::to_string(std::atoi(number.c_str())) && std::atoi(number.c_str()) >= 1 &&
         std::atoi(number.c_str()) <= 65535;
}

inline bool is_loopback_host(const std::string& host) {
  return std::set<std::string>{"localhost", "127.0.0.1", "[::1]"}.count(host) == 1;
}

inline bool may_redirect_to(const std::string& uri, const oauth::RedirectRules& rules) {
  const RedirectReading reading = read_redirect(uri);
  if (!reading.is_uri || std::count(uri.begin(), uri.end(), '*') > 0) return false;
  if (reading.scheme == "http" || reading.scheme == "https") {
    return reading.has_slashes && is_web_host(reading.host) && is_web_port(reading.port) &&
           (reading.scheme == "https" || is_loopback_host(reading.host));
  }
  const std::set<std::string> listed(rules.private_schemes.begin(), rules.private_schemes.end());
  if (listed.count(reading.scheme) == 0 && reading.scheme.find('.') == std::string::npos) {
    return false;
  }
  const std::string authority = reading.host + reading.port;
  return authority.find('@') == authority.npos && !(reading.host + reading.rest).empty();
}

// REQUIRES: may_redirect_to(registered).
inline bool is_same_redirect(const std::string& registered, const std::string& asked) {
  if (registered == asked) return true;
  if (!may_redirect_to(asked, {})) return false;
  RedirectReading left = read_redirect(registered);
  RedirectReading right = read_redirect(asked);
  return left.scheme == "http" && right.scheme == "http" && left.host == right.host &&
         left.rest == right.rest;
}

}  // namespace turnpike::oracle
