#include "hosts/api/status_feed.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "crypto/digest.h"
#include "status/documents.h"
#include "text/time_text.h"
#include "text/xml_text.h"

namespace turnpike::hosts::api {

namespace {

struct FeedEntry {
  std::string id;
  std::string title;
  std::string text;
  std::int64_t published_at_ms = 0;
  std::int64_t updated_at_ms = 0;
};

// A UUID derived from the name (version 8, RFC 9562 section 5.8), so that an entry keeps its id
// when the host's name changes.
std::string urn_of(std::string_view stream, std::string_view name) {
  std::string digits =
      crypto::sha256_hex("turnpike status feed\n" + std::string(stream) + "\n" + std::string(name));
  digits[12] = '8';
  digits[16] = "89ab"[(digits[16] <= '9' ? digits[16] - '0' : digits[16] - 'a' + 10) % 4];
  std::string urn = "urn:uuid:" + digits.substr(0, 8);
  for (const auto& [at, length] : {std::pair{8, 4}, {12, 4}, {16, 4}, {20, 12}}) {
    urn += '-' + digits.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(length));
  }
  return urn;
}

std::string listed_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

FeedEntry entry_of(const status::ShownIncident& shown, std::string_view stream) {
  const status::Incident& incident = shown.incident;
  FeedEntry entry;
  entry.id = urn_of(stream, incident.id);
  entry.title = headline_of(incident);
  entry.published_at_ms = incident.started_at_ms;
  entry.updated_at_ms = std::max({incident.started_at_ms, incident.opened_at_ms,
                                  incident.recovering_at_ms, incident.resolved_at_ms});
  entry.text = "Began " + text::rfc3339(incident.started_at_ms) + ".";
  if (!incident.signals.empty()) entry.text += " Seen by: " + listed_names(incident.signals) + ".";
  if (!incident.affected.empty()) {
    entry.text += " Affected: " + listed_names(incident.affected) + ".";
  }
  if (incident.resolved_at_ms != 0) {
    entry.text += " Ended " + text::rfc3339(incident.resolved_at_ms) + ".";
  }
  for (const status::IncidentEvent& event : shown.events) {
    entry.updated_at_ms = std::max(entry.updated_at_ms, event.at_ms);
  }
  for (const status::IncidentNote& note : shown.notes) {
    entry.text += "\n" + text::rfc3339(note.at_ms) + ": " + note.text;
    entry.updated_at_ms = std::max(entry.updated_at_ms, note.at_ms);
  }
  return entry;
}

FeedEntry entry_of(const status::Maintenance& one, std::string_view stream) {
  const std::string times =
      text::rfc3339(one.starts_at_ms) + " to " + text::rfc3339(one.ends_at_ms);
  return {urn_of(stream, one.id), "Maintenance of " + one.scope, times + ": " + one.text,
          one.starts_at_ms, one.starts_at_ms};
}

void append_element(std::string& out, std::string_view name, std::string_view text) {
  out.append("<").append(name).append(">");
  text::append_xml(out, text);
  out.append("</").append(name).append(">\n");
}

}  // namespace

std::string feed_text(const FeedInput& input) {
  std::vector<FeedEntry> entries;
  for (const auto& one : input.maintenance) entries.push_back(entry_of(one, input.stream));
  for (const auto& one : input.incidents) entries.push_back(entry_of(one, input.stream));
  std::stable_sort(entries.begin(), entries.end(), [](const auto& left, const auto& right) {
    return left.updated_at_ms > right.updated_at_ms;
  });
  std::string out = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                    "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n";
  append_element(out, "id", urn_of(input.stream, "feed"));
  append_element(out, "title", "Status of the gateway");
  append_element(out, "updated",
                 text::rfc3339(entries.empty() ? 0 : entries.front().updated_at_ms));
  out += "<author><name>The gateway and its operators</name></author>\n";
  if (!input.url.empty()) {
    out += "<link rel=\"self\" type=\"application/atom+xml\" href=\"";
    text::append_xml(out, input.url);
    out += "/v1/status/feed.atom\"/>\n";
  }
  for (const FeedEntry& entry : entries) {
    out += "<entry>\n";
    append_element(out, "id", entry.id);
    append_element(out, "title", entry.title);
    append_element(out, "published", text::rfc3339(entry.published_at_ms));
    append_element(out, "updated", text::rfc3339(entry.updated_at_ms));
    out += "<content type=\"text\">";
    text::append_xml(out, entry.text);
    out += "</content>\n</entry>\n";
  }
  return out += "</feed>\n";
}

}  // namespace turnpike::hosts::api
