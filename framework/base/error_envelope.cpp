#include "base/error_envelope.h"

#include "text/canonical_json.h"

namespace turnpike::base {

namespace {

// Messages are ours and UTF-8, but may contain bytes of a plugin or a caller that are not.
void append_text(std::string& out, std::string_view text) {
  if (text::is_utf8(text)) {
    text::append_canonical_string(out, text);
    return;
  }
  std::string ascii;
  for (const char c : text) ascii += static_cast<unsigned char>(c) < 0x80 ? c : '?';
  text::append_canonical_string(out, ascii);
}

void append_fields(std::string& out, const std::vector<FieldProblem>& fields) {
  out += ",\"fields\":[";
  for (const FieldProblem& field : fields) {
    out += &field == &fields.front() ? "{\"location\":" : ",{\"location\":";
    append_text(out, field.location);
    out += ",\"problem\":";
    append_text(out, field.problem);
    out += ",\"fix\":";
    append_text(out, field.fix);
    out += '}';
  }
  out += ']';
}

}  // namespace

void append_envelope(std::string& out, const Error& error, std::string_view request_id) {
  const ErrorInfo& info = info_of(error.code);
  out += "{\"error\":{\"code\":\"";
  out += info.name;
  out += "\",\"message\":";
  append_text(out, error.message);
  out += ",\"request_id\":\"";
  out += request_id;
  out += "\",\"fault\":\"";
  out += name_of(error.fault.value_or(info.fault));
  out += "\",\"retry\":{\"advice\":\"";
  out += name_of(error.advice.value_or(info.advice));
  out += '"';
  if (error.retry_after_seconds > 0) {
    out += ",\"after_seconds\":";
    text::append_canonical_integer(out, error.retry_after_seconds);
  }
  out += '}';
  if (!error.fields.empty()) append_fields(out, error.fields);
  out += "}}";
}

}  // namespace turnpike::base
