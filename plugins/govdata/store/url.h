// Canonical forms of the addresses that proposals and forum topics are known by, so that links of
// different spelling meet. Pure functions; safe on any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::govdata {

enum class AddressForm { none, plain, snapshot, tally, aave, topic };

struct Address {
  AddressForm form = AddressForm::none;  // none: not an address that can be compared
  std::string normal;       // what is compared: lower-case host, no scheme, `www.`, fragment, query
  std::string scope;        // snapshot: the space; tally: the slug; topic: the forum
  std::string external_id;  // snapshot, tally, aave: the proposal; topic: its number
};

Address read_address(std::string_view url);

// The part before `?`: bytes outside of RFC 3986 `unreserved` percent-encoded.
std::string percent_encoded(std::string_view text);

}  // namespace turnpike::govdata
