// The gateway's errors as values: a code, a sentence for the caller, retry advice, and for bad
// input the fields at fault. One enum for the whole program; each host maps it to its protocol in
// one table. Messages never contain secrets, upstream hosts or internals.
//
// Lanes add codes of their own while plugins are loaded, before anything is served; these codes
// stay until the process ends. Their enum values are above the named ones.
//
// Value types; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/lane_code.h>
#include <turnpike/result.h>

namespace turnpike::base {

using turnpike::Advice;
using turnpike::CodeRole;
using turnpike::Fault;
using turnpike::name_of;

// code, name, fault, advice. Names are public and stable; add at the end of an area, never rename.
#define TURNPIKE_ERROR_CODES(X)                                                                  \
  X(request_malformed, "request.malformed", caller, after_change)                                \
  X(request_target_too_long, "request.target_too_long", caller, after_change)                    \
  X(request_headers_too_large, "request.headers_too_large", caller, after_change)                \
  X(request_timeout, "request.timeout", caller, same_request)                                    \
  X(request_not_acceptable, "request.not_acceptable", caller, after_change)                      \
  X(request_length_required, "request.length_required", caller, after_change)                    \
  X(request_coding_unsupported, "request.coding_unsupported", caller, after_change)              \
  X(request_version_unsupported, "request.version_unsupported", caller, after_change)            \
  X(request_not_found, "request.not_found", caller, never)                                       \
  X(request_method_not_allowed, "request.method_not_allowed", caller, after_change)              \
  X(request_query_malformed, "request.query_malformed", caller, after_change)                    \
  X(request_query_too_long, "request.query_too_long", caller, after_change)                      \
  X(request_query_rejected, "request.query_rejected", caller, after_change)                      \
  X(request_path_malformed, "request.path_malformed", caller, after_change)                      \
  X(request_body_not_allowed, "request.body_not_allowed", caller, after_change)                  \
  X(request_body_too_large, "request.body_too_large", caller, after_change)                      \
  X(request_body_rejected, "request.body_rejected", caller, after_change)                        \
  X(request_media_type_rejected, "request.media_type_rejected", caller, after_change)            \
  X(request_content_coding_rejected, "request.content_coding_rejected", caller, after_change)    \
  X(auth_credential_conflict, "auth.credential_conflict", caller, never)                         \
  X(auth_credential_required, "auth.credential_required", caller, never)                         \
  X(auth_credential_invalid, "auth.credential_invalid", caller, never)                           \
  X(auth_wrong_environment, "auth.wrong_environment", caller, never)                             \
  X(auth_unavailable, "auth.unavailable", gateway, after_delay)                                  \
  X(auth_authority_missing, "auth.authority_missing", caller, never)                             \
  X(auth_human_required, "auth.human_required", caller, never)                                   \
  X(auth_origin_rejected, "auth.origin_rejected", caller, never)                                 \
  X(auth_session_required, "auth.session_required", caller, never)                               \
  X(auth_session_ended, "auth.session_ended", caller, never)                                     \
  X(auth_sign_in_failed, "auth.sign_in_failed", caller, after_change)                            \
  X(auth_step_up_required, "auth.step_up_required", caller, after_change)                        \
  X(auth_role_missing, "auth.role_missing", caller, never)                                       \
  X(auth_method_disabled, "auth.method_disabled", caller, never)                                 \
  X(auth_registration_closed, "auth.registration_closed", caller, never)                         \
  X(auth_throttled, "auth.throttled", caller, after_delay)                                       \
  X(auth_ceremony_ended, "auth.ceremony_ended", caller, after_change)                            \
  X(auth_passkey_rejected, "auth.passkey_rejected", caller, after_change)                        \
  X(auth_link_ended, "auth.link_ended", caller, never)                                           \
  X(auth_overloaded, "auth.overloaded", gateway, after_delay)                                    \
  X(identity_password_rejected, "identity.password_rejected", caller, after_change)              \
  X(identity_last_credential, "identity.last_credential", caller, never)                         \
  X(identity_last_owner, "identity.last_owner", caller, never)                                   \
  X(identity_login_taken, "identity.login_taken", caller, after_change)                          \
  X(identity_already_linked, "identity.already_linked", caller, never)                           \
  X(identity_already_member, "identity.already_member", caller, never)                           \
  X(identity_too_many_credentials, "identity.too_many_credentials", caller, after_change)        \
  X(oauth_invalid_request, "oauth.invalid_request", caller, after_change)                          \
  X(oauth_invalid_client, "oauth.invalid_client", caller, after_change)                            \
  X(oauth_invalid_grant, "oauth.invalid_grant", caller, never)                                     \
  X(oauth_invalid_target, "oauth.invalid_target", caller, after_change)                            \
  X(oauth_invalid_redirect_uri, "oauth.invalid_redirect_uri", caller, after_change)                \
  X(oauth_invalid_client_metadata, "oauth.invalid_client_metadata", caller, after_change)          \
  X(oauth_unsupported_grant_type, "oauth.unsupported_grant_type", caller, after_change)            \
  X(oauth_unsupported_response_type, "oauth.unsupported_response_type", caller, after_change)      \
  X(oauth_access_denied, "oauth.access_denied", caller, never)                                     \
  X(oauth_request_ended, "oauth.request_ended", caller, after_change)                              \
  X(account_suspended, "account.suspended", caller, never)                                       \
  X(account_closed, "account.closed", caller, never)                                             \
  X(account_forbidden, "account.forbidden", caller, never)                                       \
  X(account_read_failed, "account.read_failed", gateway, after_delay)                            \
  X(account_absent, "account.absent", gateway, never)                                            \
  X(account_provisioning, "account.provisioning", gateway, after_delay)                          \
  X(registry_unavailable, "registry.unavailable", gateway, after_delay)                          \
  X(gateway_route_not_found, "gateway.route_not_found", caller, after_change)                    \
  X(gateway_method_not_allowed, "gateway.method_not_allowed", caller, after_change)              \
  X(gateway_route_blocked, "gateway.route_blocked", gateway, after_delay)                        \
  X(gateway_evidence_stale, "gateway.evidence_stale", provider, after_delay)                     \
  X(gateway_upstream_credential, "gateway.upstream_credential", gateway, after_delay)            \
  X(gateway_upstream_rate_limited, "gateway.upstream_rate_limited", provider, after_delay)       \
  X(gateway_upstream_unavailable, "gateway.upstream_unavailable", provider, after_delay)         \
  X(gateway_upstream_failure, "gateway.upstream_transport_or_response_failure", provider,        \
    after_delay)                                                                                 \
  X(gateway_upstream_response_too_large, "gateway.upstream_response_too_large", provider, never) \
  X(gateway_upstream_redirect, "gateway.upstream_redirect", provider, never)                     \
  X(gateway_upstream_timeout, "gateway.upstream_timeout", provider, after_delay)                 \
  X(gateway_transfer_limit, "gateway.transfer_limit", gateway, after_delay)                      \
  X(gateway_overloaded, "gateway.overloaded", gateway, after_delay)                              \
  X(gateway_account_concurrency, "gateway.account_concurrency_limited", caller, after_delay)     \
  X(gateway_free_rate_limited, "gateway.free_rate_limited", caller, after_delay)                 \
  X(gateway_free_limit_reached, "gateway.free_limit_reached", caller, never)                     \
  X(gateway_free_unavailable, "gateway.free_unavailable", gateway, after_delay)                  \
  X(gateway_stopping, "gateway.stopping", gateway, same_request)                                 \
  X(gateway_plugin_fault, "gateway.plugin_fault", gateway, after_delay)                          \
  X(gateway_internal, "gateway.internal", gateway, after_delay)                                  \
  X(plugin_unavailable, "plugin.unavailable", gateway, after_delay)                              \
  X(billing_pricing_unavailable, "billing.pricing_unavailable", gateway, never)                  \
  X(billing_credits_exhausted, "billing.credits_exhausted", caller, after_top_up)                \
  X(billing_credits_reserved, "billing.credits_reserved", caller, after_delay)                   \
  X(billing_ledger_unavailable, "billing.ledger_unavailable", gateway, after_delay)              \
  X(billing_lease_lost, "billing.lease_lost", gateway, same_request)                             \
  X(billing_settlement_unknown, "billing.settlement_unknown", gateway, never)                    \
  X(billing_message_not_found, "billing.message_not_found", caller, never)                       \
  X(billing_correction_exceeds_charge, "billing.correction_exceeds_charge", caller, never)       \
  X(idempotency_conflict, "idempotency.conflict", caller, after_change)                          \
  X(billing_key_cap_reached, "billing.key_cap_reached", caller, after_delay)                     \
  X(idempotency_in_progress, "idempotency.in_progress", caller, after_delay)                     \
  X(idempotency_reply_not_stored, "idempotency.reply_not_stored", caller, never)                 \
  X(idempotency_outcome_unknown, "idempotency.outcome_unknown", caller, never)                   \
  X(catalog_limit_invalid, "catalog.limit_invalid", caller, after_change)                        \
  X(catalog_cursor_invalid, "catalog.cursor_invalid", caller, after_change)                      \
  X(catalog_cursor_stale, "catalog.cursor_stale", caller, restart_paging)                        \
  X(catalog_filter_invalid, "catalog.filter_invalid", caller, after_change)                      \
  X(catalog_capability_id_invalid, "catalog.capability_id_invalid", caller, after_change)        \
  X(catalog_capability_not_found, "catalog.capability_not_found", caller, after_change)          \
  X(catalog_inventory_incomplete, "catalog.inventory_incomplete", gateway, after_delay)          \
  X(status_authority_unavailable, "status.authority_unavailable", gateway, after_delay)          \
  X(status_not_in_catalog, "status.not_in_catalog", caller, never)                               \
  X(status_query_invalid, "status.query_invalid", caller, after_change)                          \
  X(status_unavailable, "status.unavailable", gateway, after_delay)                              \
  X(status_incident_not_found, "status.incident_not_found", caller, never)                       \
  X(status_maintenance_not_found, "status.maintenance_not_found", caller, never)                 \
  X(status_sweep_not_found, "status.sweep_not_found", caller, never)                             \
  X(status_sweep_principal, "status.sweep_principal", caller, never)                             \
  X(status_sweep_incomplete, "status.sweep_incomplete", gateway, after_delay)                    \
  X(status_generation_mismatch, "status.generation_mismatch", caller, after_change)              \
  X(purchase_amount_invalid, "purchase.amount_invalid", caller, after_change)                    \
  X(purchase_not_found, "purchase.not_found", caller, never)                                     \
  X(purchase_offer_not_found, "purchase.offer_not_found", caller, after_change)                  \
  X(purchase_offer_changed, "purchase.offer_changed", caller, after_change)                      \
  X(purchase_account_locked, "purchase.account_locked", caller, never)                           \
  X(purchase_too_many_open, "purchase.too_many_open", caller, after_change)                      \
  X(purchase_settlement_conflict, "purchase.settlement_conflict", gateway, never)                \
  X(purchase_not_paid, "purchase.not_paid", caller, after_delay)                                 \
  X(purchase_document_unknown, "purchase.document_unknown", caller, after_change)                \
  X(purchase_document_absent, "purchase.document_absent", caller, never)                         \
  X(purchase_cursor_invalid, "purchase.cursor_invalid", caller, after_change)                    \
  X(purchase_declined, "purchase.declined", caller, after_change)                                \
  X(purchase_unavailable, "purchase.unavailable", gateway, after_delay)                          \
  X(purchase_processor_unavailable, "purchase.processor_unavailable", gateway, same_request)     \
  X(auto_reload_below_threshold, "auto_reload.amount_below_threshold", caller, after_change)       \
  X(auto_reload_setup_not_found, "auto_reload.setup_not_found", caller, never)                   \
  X(auto_reload_revision_conflict, "auto_reload.revision_conflict", caller, after_change)        \
  X(auto_reload_method_conflict, "auto_reload.payment_method_conflict", caller, after_change)     \
  X(notification_endpoint_invalid, "notification.endpoint_invalid", caller, after_change)        \
  X(notification_endpoint_not_found, "notification.endpoint_not_found", caller, never)           \
  X(notification_too_many_endpoints, "notification.too_many_endpoints", caller, after_change)    \
  X(notification_unavailable, "notification.unavailable", gateway, after_delay)                  \
  X(mcp_host_not_allowed, "mcp.host_not_allowed", caller, never)                                 \
  X(mcp_origin_not_allowed, "mcp.origin_not_allowed", caller, never)

enum class ErrorCode : std::uint8_t {
#define X(id, name, fault, advice) id,
  TURNPIKE_ERROR_CODES(X)
#undef X
};

// The properties of an error that its code determines.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;
  Fault fault;
  Advice advice;
};

inline constexpr ErrorInfo error_infos[] = {
#define X(id, name, fault, advice) {ErrorCode::id, name, Fault::fault, Advice::advice},
    TURNPIKE_ERROR_CODES(X)
#undef X
};

// All codes are below this; the row count of tables by code.
inline constexpr std::size_t error_codes_max = 192;

// A code that a lane added.
struct LaneError {
  ErrorInfo info;
  int status = 0;
  std::string_view text;
  CodeRole role = CodeRole::none;
};

// The lane's data of `code`, or null for one of the gateway's own codes.
const LaneError* lane_error(ErrorCode code) noexcept;

// The error string of OAuth responses for an oauth code: "invalid_grant" for oauth.invalid_grant;
// empty for any other code.
std::string_view oauth_word(ErrorCode code) noexcept;

inline const ErrorInfo& info_of(ErrorCode code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(error_infos) ? error_infos[index] : lane_error(code)->info;
}

// Adds the codes of a lane; the error names an invalid one. Adding the same codes again changes
// nothing. Call from one Thread at a time, before anything is served.
[[nodiscard]] Result<Unit, std::string> add_lane_codes(std::string_view lane,
                                                       std::span<const LaneCode> codes);

// The code that a lane declared for this role, or the gateway's default.
ErrorCode code_of(CodeRole role) noexcept;
CodeRole role_of(ErrorCode code) noexcept;

// All codes, for documents; a lane's codes come before those of the catalog.
std::vector<ErrorInfo> all_errors();

// The code with this public name, or null: names come from lane plugins.
const ErrorInfo* find_error(std::string_view name) noexcept;

// One fault of the input: its place, the fault, and how to fix it.
struct FieldProblem {
  std::string location;  // "query.limit", "header.idempotency-key", a JSON pointer "/name"
  std::string problem;
  std::string fix;
};

struct Error {
  ErrorCode code = ErrorCode::gateway_internal;
  std::string message;
  std::uint32_t retry_after_seconds = 0;  // 0: none
  std::vector<FieldProblem> fields = {};
  // Overrides of the code's advice and fault, where these depend on the call.
  std::optional<Advice> advice = {};
  std::optional<Fault> fault = {};
};

}  // namespace turnpike::base
