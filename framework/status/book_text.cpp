#include <algorithm>
#include <array>

#include "status/book_state.h"
#include "status/text_form.h"
#include "text/canonical_json.h"
#include "text/json_text.h"

// The canonical form of a book. Times are milliseconds since 1970; members without a value are
// omitted.
namespace turnpike::status {
namespace {

using nlohmann::json;

constexpr std::string_view book_form = "status-book.1";
constexpr std::array levels = {name_of(Level::operational), name_of(Level::unknown),
                               name_of(Level::degraded), name_of(Level::major_outage)};
constexpr std::array evidences = {name_of(Evidence::current), name_of(Evidence::stale),
                                  name_of(Evidence::missing_or_stale),
                                  name_of(Evidence::unverified)};

template <class Enum, std::size_t count>
std::array<std::string_view, count> names_of() {
  std::array<std::string_view, count> names;
  for (std::size_t at = 0; at < count; ++at) names[at] = name_of(static_cast<Enum>(at));
  return names;
}

// ---- writing ------------------------------------------------------------------------------------

template <class Range, class Append>
void append_array(std::string& out, const Range& range, Append append) {
  out += '[';
  bool is_first = true;
  for (const auto& each : range) {
    if (!is_first) out += ',';
    is_first = false;
    append(each);
  }
  out += ']';
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  append_array(out, texts, [&](const std::string& text) {
    text::append_canonical_string(out, text);
  });
}

void append_level(ObjectText& object, std::string_view name, const std::optional<Level>& level) {
  if (level) object.text(name, name_of(*level));
}

void append_incident(std::string& out, const Incident& incident, const IncidentCase* kept) {
  ObjectText object(out);
  append_texts(object.member("affected"), incident.affected);
  object.text_unless_empty("difference", incident.difference);
  if (kept != nullptr) {
    append_array(object.member("failed"), kept->failed, [&](const FailedTarget& failed) {
      append_texts(out, {failed.target, failed.node});
    });
  }
  object.integer("first_round", static_cast<std::int64_t>(incident.first_round))
      .text("id", incident.id)
      .integer("last_round", static_cast<std::int64_t>(incident.last_round));
  if (kept != nullptr) object.integer_unless_zero("missing_since", kept->missing_since_ms);
  object.integer_unless_zero("opened_at", incident.opened_at_ms)
      .integer_unless_zero("recovering_at", incident.recovering_at_ms)
      .text("resolution", name_of(incident.resolution))
      .integer_unless_zero("resolved_at", incident.resolved_at_ms)
      .text("scope", incident.scope)
      .text("severity", name_of(incident.severity));
  append_texts(object.member("signals"), incident.signals);
  object.boolean("stale", incident.is_stale)
      .integer("started_at", incident.started_at_ms)
      .text("state", name_of(incident.state))
      .end();
}

void append_scope(std::string& out, const std::string& name, const ScopeFigures& figures) {
  ObjectText object(out);
  object.text("active", name_of(figures.active));
  append_level(object, "contract", figures.contract);
  object.text("evidence", name_of(figures.evidence))
      .boolean("has_active", figures.has_active)
      .text("level", name_of(figures.level))
      .text("name", name)
      .integer("observed_at", figures.observed_at_ms);
  append_level(object, "pricing", figures.pricing);
  append_level(object, "reachability", figures.reachability);
  append_level(object, "traffic", figures.traffic);
  object.integer("valid_until", figures.valid_until_ms).end();
}

void append_look(std::string& out, const LastLook& look) {
  ObjectText object(out);
  object.integer("at", look.at_ms);
  if (look.latency_ms) object.integer("latency_ms", *look.latency_ms);
  object.text("node", look.node)
      .text("reason", name_of(look.reason))
      .text("result", name_of(look.result))
      .integer("round", static_cast<std::int64_t>(look.round))
      .end();
}

void append_early(std::string& out, const EarlyLook& look) {
  ObjectText object(out);
  object.integer("due_at", look.due_at_ms);
  if (look.latency_ms) object.integer("latency_ms", *look.latency_ms);
  object.boolean("passed", look.passed).end();
}

void append_track(std::string& out, const std::string& node, const Track& track) {
  ObjectText object(out);
  object.integer("day", track.day)
      .integer("day_looks", track.day_looks)
      .text_unless_empty("difference", track.difference);
  if (!track.early.empty()) {
    append_array(object.member("early"), track.early,
                 [&](const EarlyLook& look) { append_early(out, look); });
  }
  object.integer("failing_since", track.failing_since_ms)
      .integer("failures", track.looks.failures_in_row())
      .text_unless_empty("generation", track.generation);
  if (track.last) append_look(object.member("last"), *track.last);
  object.text("looks", track.looks.text())
      .integer("newest_due", track.newest_due_ms)
      .text("node", node)
      .integer("passes", track.looks.passes_in_row())
      .end();
}

void append_target(std::string& out, const std::string& name, const TargetState& target) {
  ObjectText object(out);
  object.text("level", name_of(target.figures.level)).text("name", name);
  append_array(object.member("tracks"), target.tracks,
               [&](const auto& track) { append_track(out, track.first, track.second); });
  if (target.figures.traffic) append_traffic(object.member("traffic"), *target.figures.traffic);
  object.end();
}

void append_openings(std::string& out, const std::string& scope,
                     const std::vector<std::int64_t>& times) {
  ObjectText object(out);
  object.text("scope", scope);
  append_array(object.member("times"), times,
               [&](std::int64_t time) { text::append_canonical_integer(out, time); });
  object.end();
}

// ---- reading ------------------------------------------------------------------------------------

std::uint64_t read_count(Fields& fields, const char* name) {
  return static_cast<std::uint64_t>(fields.integer(name));
}

std::int64_t read_time(Fields& fields, const char* name) {
  return fields.integer_or_zero(name, 0, time_ms_max);
}

std::vector<std::string> read_texts(const json& array, Fields& fields) {
  std::vector<std::string> texts;
  for (const json& each : array) {
    if (each.is_string()) {
      texts.push_back(each.get<std::string>());
    } else {
      fields.refuse();
    }
  }
  return texts;
}

std::optional<Level> read_level(Fields& fields, const char* name) {
  if (!fields.has(name)) return std::nullopt;
  return static_cast<Level>(fields.one_of(name, levels));
}

std::optional<std::uint32_t> read_latency(Fields& fields) {
  if (!fields.has("latency_ms")) return std::nullopt;
  return static_cast<std::uint32_t>(fields.integer("latency_ms", 0, 0xFFFF'FFFF));
}

IncidentCase read_case(Fields& fields) {
  IncidentCase kept;
  kept.missing_since_ms = read_time(fields, "missing_since");
  for (const json& each : fields.array("failed")) {
    const std::vector<std::string> pair = read_texts(each, fields);
    if (pair.size() == 2) kept.failed.push_back({pair[0], pair[1]});
    const std::size_t count = kept.failed.size();
    if (count > 1 && !(kept.failed[count - 2] < kept.failed[count - 1])) fields.refuse();
  }
  return kept;
}

Incident read_incident(Fields& fields) {
  Incident incident;
  incident.affected = read_texts(fields.array("affected"), fields);
  incident.difference = fields.text_or_empty("difference");
  incident.first_round = read_count(fields, "first_round");
  incident.id = fields.text("id");
  incident.last_round = read_count(fields, "last_round");
  incident.opened_at_ms = read_time(fields, "opened_at");
  incident.recovering_at_ms = read_time(fields, "recovering_at");
  incident.resolution = static_cast<Resolution>(
      fields.one_of("resolution", names_of<Resolution, 5>()));
  incident.resolved_at_ms = read_time(fields, "resolved_at");
  incident.scope = fields.text("scope");
  incident.severity = static_cast<Level>(fields.one_of("severity", levels));
  incident.signals = read_texts(fields.array("signals"), fields);
  incident.is_stale = fields.boolean("stale");
  incident.started_at_ms = read_time(fields, "started_at");
  incident.state =
      static_cast<IncidentState>(fields.one_of("state", names_of<IncidentState, 4>()));
  return incident;
}

ScopeFigures read_scope(Fields& fields) {
  ScopeFigures figures;
  figures.active = static_cast<Level>(fields.one_of("active", levels));
  figures.contract = read_level(fields, "contract");
  figures.evidence = static_cast<Evidence>(fields.one_of("evidence", evidences));
  figures.has_active = fields.boolean("has_active");
  figures.level = static_cast<Level>(fields.one_of("level", levels));
  figures.observed_at_ms = read_time(fields, "observed_at");
  figures.pricing = read_level(fields, "pricing");
  figures.reachability = read_level(fields, "reachability");
  figures.traffic = read_level(fields, "traffic");
  figures.valid_until_ms = read_time(fields, "valid_until");
  return figures;
}

LastLook read_look(Fields& fields) {
  LastLook look;
  look.at_ms = read_time(fields, "at");
  look.latency_ms = read_latency(fields);
  look.node = fields.text("node");
  look.reason = static_cast<Reason>(fields.one_of("reason", names_of<Reason, reason_count>()));
  look.result = static_cast<LookResult>(fields.one_of("result", names_of<LookResult, 4>()));
  look.round = read_count(fields, "round");
  return look;
}

Track read_track(Fields& fields) {
  Track track;
  track.day = fields.integer("day");
  track.day_looks = static_cast<std::uint32_t>(fields.integer("day_looks", 0, 0xFFFF'FFFF));
  track.difference = fields.text_or_empty("difference");
  if (fields.has("early")) {
    for (const json& each : fields.array("early")) {
      Fields parts(each);
      track.early.push_back(
          {read_time(parts, "due_at"), parts.boolean("passed"), read_latency(parts)});
      if (!parts.is_right()) fields.refuse();
    }
  }
  track.failing_since_ms = read_time(fields, "failing_since");
  track.generation = fields.text_or_empty("generation");
  if (fields.has("last")) {
    Fields parts(fields.object("last"));
    track.last = read_look(parts);
    if (!parts.is_right()) fields.refuse();
  }
  const auto in_row = [&](const char* name) {
    return static_cast<std::uint32_t>(fields.integer(name, 0, 0xFFFF'FFFF));
  };
  const auto looks = LookWindow::read(fields.text("looks"), in_row("failures"), in_row("passes"));
  if (!looks) fields.refuse();
  track.looks = looks.value_or(LookWindow());
  // The fold continues from the newest look, so a failing row requires one.
  if (track.looks.failures_in_row() > 0 && !track.last) fields.refuse();
  track.newest_due_ms = read_time(fields, "newest_due");
  return track;
}

TargetState read_target(Fields& fields) {
  TargetState target;
  target.figures.level = static_cast<Level>(fields.one_of("level", levels));
  for (const json& each : fields.array("tracks")) {
    Fields parts(each);
    const std::string node = parts.text("node");
    if (!target.tracks.emplace(node, read_track(parts)).second || !parts.is_right()) {
      fields.refuse();
    }
  }
  if (fields.has("traffic")) {
    Fields parts(fields.object("traffic"));
    target.figures.traffic = read_traffic(parts);
    if (!parts.is_right()) fields.refuse();
  }
  show_last(target);
  return target;
}

// Reads each element of an array whose elements are named by one of their members.
template <class Read>
void read_each(Fields& fields, const char* name, Read read) {
  for (const json& each : fields.array(name)) {
    Fields parts(each);
    read(parts);
    if (!parts.is_right()) fields.refuse();
  }
}

void read_state(Fields& fields, Book::State& state) {
  if (fields.text("form") != book_form) fields.refuse();
  state.covered_until_ms = read_time(fields, "covered_until");
  state.ended_at_ms = read_time(fields, "ended_at");
  state.epoch = read_count(fields, "epoch");
  state.records = read_count(fields, "records");
  state.round = read_count(fields, "round");
  state.stream = fields.text("stream");
  read_each(fields, "incidents", [&](Fields& parts) {
    Incident incident = read_incident(parts);
    if (incident.state != IncidentState::resolved) {
      if (!state.cases.emplace(incident.id, read_case(parts)).second) parts.refuse();
    }
    state.incidents.push_back(std::move(incident));
  });
  read_each(fields, "openings", [&](Fields& parts) {
    std::vector<std::int64_t>& times = state.openings[parts.text("scope")];
    for (const json& time : parts.array("times")) {
      const bool is_time = time.is_number_unsigned() &&
                           time.get<std::uint64_t>() <= std::uint64_t{time_ms_max};
      if (is_time) times.push_back(time.get<std::int64_t>());
    }
  });
  read_each(fields, "scopes",
            [&](Fields& parts) { state.scopes[parts.text("name")] = read_scope(parts); });
  read_each(fields, "targets",
            [&](Fields& parts) { state.targets[parts.text("name")] = read_target(parts); });
  if (!state.history.read_text(fields.array("history"))) fields.refuse();
}

}  // namespace

std::string Book::canonical() const {
  const State& state = *state_;
  std::string out;
  out.reserve(1'000 + 500 * state.targets.size() + 400 * state.scopes.size());
  ObjectText object(out);
  object.integer("covered_until", state.covered_until_ms)
      .integer("ended_at", state.ended_at_ms)
      .integer("epoch", static_cast<std::int64_t>(state.epoch))
      .text("form", book_form);
  state.history.append_text(object.member("history"));
  append_array(object.member("incidents"), state.incidents, [&](const Incident& incident) {
    const auto kept = state.cases.find(incident.id);
    append_incident(out, incident, kept == state.cases.end() ? nullptr : &kept->second);
  });
  append_array(object.member("openings"), state.openings,
               [&](const auto& scope) { append_openings(out, scope.first, scope.second); });
  object.integer("records", static_cast<std::int64_t>(state.records))
      .integer("round", static_cast<std::int64_t>(state.round));
  append_array(object.member("scopes"), state.scopes,
               [&](const auto& scope) { append_scope(out, scope.first, scope.second); });
  object.text("stream", state.stream);
  append_array(object.member("targets"), state.targets,
               [&](const auto& target) { append_target(out, target.first, target.second); });
  object.end();
  return out;
}

Result<Book, std::string> Book::read(std::string_view text) {
  const json object = text::parse_json(text);
  Fields fields(object);
  Book book;
  read_state(fields, *book.state_);
  if (!fields.is_right()) {
    return std::string("this is no book: a member is missing or has another form");
  }
  if (book.canonical() != text) {
    return std::string("the book is not written as canonical JSON of what it states");
  }
  return book;
}

}  // namespace turnpike::status
