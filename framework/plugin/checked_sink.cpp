#include "plugin/checked_sink.h"

#include "base/limits.h"
#include "runtime/deadline.h"
#include "text/http_field.h"

namespace turnpike::plugin {

CheckedSink::CheckedSink(ReplySink& next, const UpstreamRequest& request, const Call& call) noexcept
    : next_(next),
      reply_bytes_max_(request.reply_bytes_max == 0 ? base::limits::response_bytes_max
                                                    : request.reply_bytes_max),
      deadline_ns_(call.deadline_ns()) {}

bool CheckedSink::end(End cause, const char* fault) noexcept {
  if (end_ == End::none) {
    end_ = cause;
    fault_ = fault;
  }
  return false;
}

bool CheckedSink::head(int status, Headers headers, std::optional<std::uint64_t> length) noexcept {
  if (end_ != End::none) return false;
  if (status_ != 0) return end(End::fault, "it gave a second head");
  if (status < 200 || status > 599) return end(End::fault, "it gave a status outside 200 to 599");
  for (const HeaderField& field : headers) {
    if (!text::is_field_name(field.name) || !text::is_field_value(field.value)) {
      return end(End::fault, "it gave a header field with forbidden bytes");
    }
  }
  if (runtime::now_ns() >= deadline_ns_) return end(End::timeout);
  status_ = status;
  length_ = length;
  if (length && *length > reply_bytes_max_ && !promises_no_body()) return end(End::too_large);
  try {
    return next_.head(status, headers, length) || end(End::stopped);
  } catch (...) {  // our exception, such as out of memory: must not enter the plugin
    return end(End::stopped);
  }
}

bool CheckedSink::body(std::string_view bytes) noexcept {
  if (end_ != End::none) return false;
  if (status_ == 0) return end(End::fault, "it gave a body before the head");
  if (bytes.empty()) return true;
  if (bytes.size() > reply_bytes_max_ - body_bytes_) return end(End::too_large);
  body_bytes_ += bytes.size();
  if (length_ && body_bytes_ > *length_) {
    return end(End::fault, "it gave a longer body than it declared");
  }
  try {
    return next_.body(bytes) || end(End::stopped);
  } catch (...) {
    return end(End::stopped);
  }
}

Done CheckedSink::verdict(Done returned) const {
  switch (end_) {
    case End::none:
      break;
    case End::stopped:
      if (!returned.ok()) return returned;
      return Failure{FailureKind::cancelled, "the caller took no more", {}, true};
    case End::timeout:
      return Failure{FailureKind::timeout, "it began to reply after the deadline", {}, true};
    case End::too_large:
      return Failure{FailureKind::too_large,
                     "its reply is longer than " + std::to_string(reply_bytes_max_) + " bytes",
                     {},
                     true};
    case End::fault:
      return Failure{FailureKind::plugin_fault, fault_, {}, true};
  }
  if (!returned.ok()) return returned;
  if (status_ == 0) {
    return Failure{FailureKind::plugin_fault, "it reported success without a head", {}, true};
  }
  if (length_ && body_bytes_ != *length_ && !promises_no_body()) {
    return Failure{FailureKind::plugin_fault,
                   "it ended after " + std::to_string(body_bytes_) + " of " +
                       std::to_string(*length_) + " declared bytes",
                   {},
                   true};
  }
  return Unit{};
}

}  // namespace turnpike::plugin
