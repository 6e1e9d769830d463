#include "exchange/choose_lane.h"

#include <algorithm>

#include "exchange/ascii.h"

namespace turnpike::exchange {
namespace {

using base::ErrorCode;

// Records whether headers[at] belongs to a row, and whether it occurred before.
void read_lane_header(Headers headers, std::size_t at, const LaneTable& table,
                      Credentials& credentials) noexcept {
  const std::string_view name = headers[at].name;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const std::string& declared : table.rows[row].headers) {
      if (!equals_ignoring_case(name, declared)) continue;
      const bool came_before = std::any_of(
          headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(at),
          [&](const HeaderField& field) { return equals_ignoring_case(field.name, declared); });
      Presence& presence = credentials.lanes[row];
      if (presence != Presence::repeated) {
        presence = came_before ? Presence::repeated : Presence::once;
      }
    }
  }
}

bool is_conflicting(const LaneTable& table, const Credentials& credentials) noexcept {
  if (credentials.authorization == Authorization::repeated) return true;
  if (credentials.service_api_key == Presence::repeated) return true;
  const bool has_key_credential = credentials.authorization != Authorization::none ||
                                  credentials.service_api_key != Presence::absent;
  std::size_t selected = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (credentials.lanes[row] == Presence::absent) continue;
    if (credentials.lanes[row] == Presence::repeated) return true;
    if (has_key_credential && !table.rows[row].needs_account) return true;
    ++selected;
  }
  return selected > 1;
}

LaneChoice refused(ErrorCode code) noexcept { return {nullptr, code}; }

constexpr std::string_view free_takes_a_key =
    "A free variant takes an API key and no other credential. Send \"Authorization: Bearer "
    "<key>\", "
    "or leave the free variant out.";
constexpr std::string_view no_free_variant =
    "This operation has no free variant. Leave \":free\" out of the path, and free: true over MCP; "
    "the call then costs what its billing says.";

// The refusal of a request without Authorization where an API key is needed.
LaneChoice key_missing(const Credentials& credentials) noexcept {
  // X-Service-Api-Key counts as a credential that is never valid.
  return refused(credentials.service_api_key == Presence::absent
                     ? ErrorCode::auth_credential_required
                     : ErrorCode::auth_credential_invalid);
}

LaneChoice choose_by_bearer(const LaneTable& table, const Asked& asked) noexcept {
  const LaneRow* lane = table.find(asked.free_suffix ? LaneRole::free : LaneRole::credits);
  return lane == nullptr ? refused(ErrorCode::auth_credential_invalid) : LaneChoice{lane, {}};
}

LaneChoice choose_by_header(const LaneRow& lane, const Credentials& credentials,
                            const Asked& asked) noexcept {
  if (lane.role == LaneRole::payment) {
    const bool is_payable =
        lane.is_bound && asked.sold_per_call && !asked.credential_required && !asked.free_suffix;
    return is_payable ? LaneChoice{&lane, {}} : refused(base::code_of(base::CodeRole::not_payable));
  }
  // `:free` selects its own lane, and a request gets one lane only.
  if (asked.free_suffix) return {nullptr, ErrorCode::auth_credential_conflict, free_takes_a_key};
  if (lane.needs_account || asked.credential_required) {
    if (credentials.authorization == Authorization::none) return key_missing(credentials);
    if (credentials.authorization != Authorization::bearer) {
      return refused(ErrorCode::auth_credential_invalid);
    }
  }
  return {&lane, {}};
}

LaneChoice choose_without_header(const LaneTable& table, const Credentials& credentials,
                                 const Asked& asked) noexcept {
  if (credentials.authorization == Authorization::bearer) return choose_by_bearer(table, asked);
  if (credentials.authorization != Authorization::none) {
    return refused(ErrorCode::auth_credential_invalid);
  }
  if (credentials.service_api_key != Presence::absent) return key_missing(credentials);
  const LaneRow* payment = table.find(LaneRole::payment);
  const bool is_challenged = payment != nullptr && payment->is_bound && asked.sold_per_call &&
                             !asked.credential_required && !asked.free_suffix;
  return is_challenged ? LaneChoice{payment, {}} : key_missing(credentials);
}

}  // namespace

const LaneRow* LaneTable::find(LaneRole role) const noexcept {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [role](const LaneRow& other) { return other.role == role; });
  return row == rows.end() ? nullptr : &*row;
}

Credentials read_credentials(Headers headers, const LaneTable& table) noexcept {
  Credentials credentials;
  identity::Bearer bearer;
  for (std::size_t at = 0; at < headers.size(); ++at) {
    const HeaderField& field = headers[at];
    if (equals_ignoring_case(field.name, "authorization")) {
      bearer.take(field.value);
    } else if (equals_ignoring_case(field.name, "x-service-api-key")) {
      Presence& presence = credentials.service_api_key;
      presence = presence == Presence::absent ? Presence::once : Presence::repeated;
    } else {
      read_lane_header(headers, at, table, credentials);
    }
  }
  credentials.authorization = bearer.form;
  credentials.token = bearer.token;
  return credentials;
}

LaneChoice choose_lane(const LaneTable& table, const Credentials& credentials,
                       const Asked& asked) noexcept {
  if (is_conflicting(table, credentials)) return refused(ErrorCode::auth_credential_conflict);
  if (asked.target == Target::path_malformed) return refused(ErrorCode::request_path_malformed);
  if (asked.target == Target::not_found) return refused(ErrorCode::gateway_route_not_found);
  if (asked.free_suffix && !asked.has_free_variant) {
    return {nullptr, ErrorCode::gateway_route_not_found, no_free_variant};
  }
  if (asked.target == Target::method_not_allowed) {
    return refused(ErrorCode::gateway_method_not_allowed);
  }
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (credentials.lanes[row] != Presence::absent) {
      return choose_by_header(table.rows[row], credentials, asked);
    }
  }
  return choose_without_header(table, credentials, asked);
}

}  // namespace turnpike::exchange
