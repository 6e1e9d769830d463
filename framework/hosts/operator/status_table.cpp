#include "hosts/operator/status_table.h"

namespace turnpike::hosts::operators {

// What this host says itself, or the wire for it; of the rest it is enough to know whose fault it
// is.
int http_status(base::ErrorCode code) noexcept {
  using enum base::ErrorCode;
  switch (code) {
    case auth_credential_required:
    case auth_credential_invalid:
    case auth_wrong_environment:
      return 401;
    case auth_authority_missing:
      return 403;
    case request_not_found:
    case billing_message_not_found:
      return 404;
    case request_method_not_allowed:
      return 405;
    case request_timeout:
      return 408;
    case billing_correction_exceeds_charge:
    case idempotency_conflict:
      return 409;
    case request_length_required:
      return 411;
    case request_body_too_large:
      return 413;
    case request_target_too_long:
      return 414;
    case request_media_type_rejected:
    case request_content_coding_rejected:
      return 415;
    case request_headers_too_large:
      return 431;
    case request_coding_unsupported:
      return 501;
    case request_version_unsupported:
      return 505;
    case gateway_internal:
      return 500;
    default:
      return base::info_of(code).fault == base::Fault::caller ? 400 : 503;
  }
}

}  // namespace turnpike::hosts::operators
