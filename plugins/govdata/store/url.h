// Canonical forms of the addresses of proposals and forum topics, so that links with different
// spellings can be compared. Pure functions; any Thread may call them.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::govdata {

enum class AddressForm { none, plain, snapshot, tally, aave, topic };

struct Address {
  AddressForm form = AddressForm::none;  // none: not an address that can be compared
  // The text to compare: the host in lower case and the path, without scheme and `www.`. Of the
  // query, only proposalId and id are kept, and only in plain addresses.
  std::string normal;
  std::string scope;        // snapshot: the space; tally: the slug; topic: the forum
  std::string external_id;  // snapshot, tally, aave: the proposal; topic: its number
};

Address read_address(std::string_view url);

// Percent-encodes all bytes except the unreserved ones of RFC 3986.
std::string percent_encoded(std::string_view text);

}  // namespace turnpike::govdata
