#include "hosts/status_table.h"

namespace turnpike::hosts {

// The switch has no default, so the compiler reports an error code without a status.
int http_status(base::ErrorCode code) noexcept {
  using enum base::ErrorCode;
  if (const base::LaneError* const of_lane = base::lane_error(code)) return of_lane->status;
  // clang-format off
  switch (code) {
    case request_malformed: case request_query_malformed: case request_query_too_long:
    case request_query_rejected: case request_path_malformed: case request_body_not_allowed:
    case request_body_rejected: case auth_credential_conflict: case catalog_limit_invalid:
    case catalog_cursor_invalid: case catalog_filter_invalid: case catalog_capability_id_invalid:
    case auth_ceremony_ended: case auth_passkey_rejected: case auth_link_ended:
    case identity_password_rejected: case oauth_invalid_request: case oauth_invalid_grant:
    case oauth_invalid_target: case oauth_invalid_redirect_uri: case oauth_invalid_client_metadata:
    case oauth_unsupported_grant_type: case oauth_unsupported_response_type:
    case oauth_request_ended: case status_query_invalid:
    case purchase_amount_invalid: case purchase_document_unknown: case purchase_cursor_invalid:
    case auto_reload_below_threshold: case notification_endpoint_invalid: return 400;
    case auth_credential_required: case auth_credential_invalid: case auth_wrong_environment:
    case auth_session_required: case auth_session_ended: case auth_sign_in_failed:
    case oauth_invalid_client: return 401;
    case billing_credits_exhausted: return 402;
    case account_suspended: case account_closed: case account_forbidden:
    case auth_authority_missing: case auth_human_required: case auth_origin_rejected:
    case auth_step_up_required: case auth_role_missing: case auth_method_disabled:
    case auth_registration_closed: case mcp_host_not_allowed: case mcp_origin_not_allowed:
    case oauth_access_denied: case status_sweep_principal: return 403;
    case request_not_found: case gateway_route_not_found: case catalog_capability_not_found:
    case billing_message_not_found: case status_not_in_catalog: case status_sweep_not_found:
    case status_incident_not_found: case status_maintenance_not_found:
    case purchase_not_found: case purchase_offer_not_found: case purchase_document_absent:
    case auto_reload_setup_not_found: case notification_endpoint_not_found: return 404;
    case request_method_not_allowed: case gateway_method_not_allowed: return 405;
    case request_not_acceptable: return 406;
    case request_timeout: return 408;
    case catalog_cursor_stale: case billing_correction_exceeds_charge: case idempotency_conflict:
    case idempotency_in_progress: case idempotency_reply_not_stored:
    case idempotency_outcome_unknown: case identity_last_credential: case identity_last_owner:
    case identity_login_taken: case identity_already_linked: case identity_already_member:
    case identity_too_many_credentials:
    case status_generation_mismatch: case purchase_offer_changed: case purchase_account_locked:
    case purchase_too_many_open: case purchase_settlement_conflict: case purchase_not_paid:
    case purchase_declined: case auto_reload_revision_conflict: case auto_reload_method_conflict:
    case notification_too_many_endpoints: return 409;
    case request_length_required: return 411;
    case request_body_too_large: return 413;
    case request_target_too_long: return 414;
    case request_media_type_rejected: case request_content_coding_rejected: return 415;
    case gateway_account_concurrency: case billing_credits_reserved: case billing_key_cap_reached:
    case auth_throttled: case gateway_free_rate_limited: case gateway_free_limit_reached:
      return 429;
    case request_headers_too_large: return 431;
    case account_read_failed: case gateway_plugin_fault: case gateway_internal: return 500;
    case request_coding_unsupported: return 501;
    case account_absent: case gateway_upstream_failure: case gateway_upstream_response_too_large:
    case gateway_upstream_redirect: return 502;
    case auth_unavailable: case auth_overloaded: case account_provisioning:
    case registry_unavailable: case gateway_route_blocked: case gateway_evidence_stale:
    case gateway_upstream_credential: case gateway_upstream_rate_limited:
    case gateway_upstream_unavailable: case gateway_transfer_limit: case gateway_overloaded:
    case gateway_stopping: case gateway_free_unavailable: case plugin_unavailable:
    case billing_pricing_unavailable: case billing_ledger_unavailable: case billing_lease_lost:
    case billing_settlement_unknown: case catalog_inventory_incomplete:
    case status_authority_unavailable: case status_unavailable: case status_sweep_incomplete:
    case purchase_unavailable: case purchase_processor_unavailable: case notification_unavailable:
      return 503;
    case gateway_upstream_timeout: return 504;
    case request_version_unsupported: return 505;
  }
  // clang-format on
  return 500;
}

int call_status(base::ErrorCode code) noexcept {
  using enum base::ErrorCode;
  const bool is_outside_policy =
      code == request_body_too_large || code == request_media_type_rejected;
  return is_outside_policy ? 400 : http_status(code);
}

}  // namespace turnpike::hosts
