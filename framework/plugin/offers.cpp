#include "plugin/offers.h"

#include <algorithm>

#include "text/http_field.h"

namespace turnpike::plugin {

namespace {

constexpr std::string_view document_root = "/.well-known/";

bool is_plain_segment(std::string_view segment) noexcept {
  return !segment.empty() && segment != "." && segment != ".." &&
         std::all_of(segment.begin(), segment.end(), [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  letter == '-' || letter == '_' || letter == '.';
         });
}

// Returns the part before the first '/', and removes it and the slash from `path`.
std::string_view take_segment(std::string_view& path) noexcept {
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(std::min(end + 1, path.size()));
  return segment;
}

bool is_intake_path(std::string_view path) noexcept {
  if (path.empty() || path.ends_with('/')) return false;
  while (!path.empty()) {
    const std::string_view segment = take_segment(path);
    const bool is_last_star = segment == "*" && path.empty();
    if (!is_last_star && !is_plain_segment(segment)) return false;
  }
  return true;
}

std::string problem_of_intake(const IntakePath& row) {
  const std::string name = "offers the intake \"" + std::string(row.path) + "\", ";
  if (!is_intake_path(row.path)) {
    return name + "which is no path of segments of a-z, 0-9, -, _ and ., the last of them or \"*\"";
  }
  if (!row.takes_get && !row.takes_post) return name + "which takes neither GET nor POST";
  if (row.body_bytes_max > intake_body_bytes_max) {
    return name + "whose bodies may be longer than " + std::to_string(intake_body_bytes_max) +
           " bytes";
  }
  return {};
}

// Fields that the host sets itself, or that would set a cookie for the whole host.
bool is_of_host(std::string_view name) noexcept {
  constexpr std::string_view names[] = {"date", "server", "set-cookie", "x-request-id"};
  return is_framing_field(name) ||
         std::any_of(std::begin(names), std::end(names),
                     [name](std::string_view own) { return same_header_name(own, name); });
}

}  // namespace

std::string problem_of_offers(const Offers& offers) {
  for (const std::string_view path : offers.documents) {
    if (!path.starts_with(document_root) || !is_plain_segment(path.substr(document_root.size()))) {
      return "offers the document \"" + std::string(path) +
             "\", which is not one segment of a-z, 0-9, -, _ and . below " +
             std::string(document_root);
    }
  }
  for (const IntakePath& row : offers.intake) {
    if (std::string problem = problem_of_intake(row); !problem.empty()) return problem;
  }
  return {};
}

const IntakePath* find_intake(std::span<const IntakePath> rows, std::string_view path) noexcept {
  const auto matches = [path](const IntakePath& row) {
    if (!row.path.ends_with('*')) return row.path == path;
    const std::string_view root = row.path.substr(0, row.path.size() - 1);
    return path.size() > root.size() && path.starts_with(root) &&
           path.find('/', root.size()) == path.npos;
  };
  const auto row = std::find_if(rows.begin(), rows.end(), matches);
  return row == rows.end() ? nullptr : &*row;
}

std::string problem_of_reply(const IntakeReply& reply) {
  if (reply.status < 200 || reply.status > 599) return "it answered a status outside 200 to 599";
  for (const OwnedHeader& field : reply.headers) {
    if (!text::is_field_name(field.name) || !text::is_field_value(field.value)) {
      return "it answered with a header field with forbidden bytes";
    }
    if (is_of_host(field.name)) {
      return "it answered with the header field " + field.name + ", which a plugin may not send";
    }
  }
  if (!reply.body.empty() && (reply.status == 204 || reply.status == 304)) {
    return "it answered " + std::to_string(reply.status) + " with a body";
  }
  if (reply.body.size() > intake_reply_bytes_max) {
    return "its answer is longer than " + std::to_string(intake_reply_bytes_max) + " bytes";
  }
  return {};
}

}  // namespace turnpike::plugin
