#include "registry/read_monitoring.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/limits.h"
#include "crypto/digest.h"
#include "registry/canonical.h"
#include "registry/policy.h"
#include "registry/read_schemas.h"
#include "text/canonical_json.h"
#include "text/json_pointer.h"
#include "text/uri.h"

namespace turnpike::registry {
namespace {

namespace limits = base::limits;

constexpr std::int64_t day_ms = 86'400'000;
constexpr Bounds interval_bounds{look_interval_ms_min, look_interval_ms_max};
constexpr Bounds per_day_bounds{1, looks_per_day_max};
constexpr Bounds fresh_bounds{1, std::int64_t{10} * 366 * 86'400};

// ---- reading ------------------------------------------------------------------------------------

std::vector<SampleDraft::Value> read_values(const Cursor& map, std::string_view expected) {
  std::vector<SampleDraft::Value> values;
  if (!map.expect(NodeKind::map, expected)) return values;
  for (const Cursor& field : map.fields()) {
    if (!field.expect(NodeKind::scalar, "one value; items of a list with commas between them")) {
      continue;
    }
    values.push_back({std::string(field.key()), std::string(field.raw_text()), field.place()});
  }
  std::sort(values.begin(), values.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
  return values;
}

void read_sample_body(const Cursor& value, SampleDraft& into) {
  if (value.kind() == NodeKind::scalar) {
    into.body = value.raw_text();
    return;
  }
  into.is_body_json = true;
  into.body = text::canonical_json(json_of(value)).value_or("");
}

std::shared_ptr<const SampleDraft> read_sample(const Cursor& value) {
  auto sample = std::make_shared<SampleDraft>();
  sample->place = value.place();
  sample->path = value.path();
  if (!value.map_of({"path_parameters", "query", "body", "content_type"})) return sample;
  if (const auto parameters = value.find("path_parameters")) {
    sample->path_parameters = read_values(*parameters, "a map from path parameters to values");
  }
  if (const auto query = value.find("query")) {
    sample->query = read_values(*query, "a map from query parameters to values");
  }
  if (const auto body = value.find("body")) read_sample_body(*body, *sample);
  if (const auto type = value.find("content_type")) {
    constexpr std::size_t type_bytes_max = 128;
    sample->content_type = type->text(1, type_bytes_max).value_or("");
  }
  return sample;
}

std::optional<text::JsonPointer> read_pointer(const Cursor& value, std::string_view text) {
  auto pointer = text::JsonPointer::parse(text);
  if (!pointer) value.report(Rule::bad_pointer, {text});
  return pointer;
}

void read_kinds(const Cursor& map, Expectation& into) {
  constexpr std::string_view kinds[] = {"null", "boolean", "number", "string", "array", "object"};
  if (!map.expect(NodeKind::map, "a map from JSON pointers to " + listed(kinds))) return;
  const std::vector<Cursor> fields = map.fields();
  if (fields.size() > expected_kinds_max) {
    map.report(Rule::too_many_items,
               {std::to_string(fields.size()), std::to_string(expected_kinds_max)});
    return;
  }
  for (const Cursor& field : fields) {
    if (!text::JsonPointer::parse(field.key())) field.report_key(Rule::bad_pointer, {field.key()});
    const auto kind = field.kind() == NodeKind::null ? 0 : field.one_of(kinds);
    if (kind) into.kinds.emplace_back(field.key(), static_cast<JsonKind>(*kind));
  }
  std::sort(into.kinds.begin(), into.kinds.end());
}

std::shared_ptr<const Expectation> read_expectation(const Cursor& value) {
  auto expect = std::make_shared<Expectation>();
  if (!value.map_of({"json", "fresh_within_seconds", "fresh_at", "learn_shape"})) return expect;
  if (const auto kinds = value.find("json")) read_kinds(*kinds, *expect);
  const auto within = value.find("fresh_within_seconds");
  if (within) {
    expect->fresh_within_seconds =
        static_cast<std::uint32_t>(within->integer(fresh_bounds).value_or(0));
  }
  if (const auto at = value.find("fresh_at")) {
    const auto text = at->text(1, text::JsonPointer::bytes_max);
    const auto pointer = text ? read_pointer(*at, *text) : std::nullopt;
    if (pointer) expect->fresh_at = pointer->text();
    if (!within) {
      value.report(Rule::missing_key,
                   {"fresh_within_seconds", "how old the time at `fresh_at` may be"});
    }
  }
  if (const auto learns = value.find("learn_shape")) {
    expect->learns_shape = learns->boolean().value_or(false);
  }
  const bool asks_anything =
      !expect->kinds.empty() || expect->fresh_within_seconds > 0 || expect->learns_shape;
  if (asks_anything) {
    std::string form;
    append_canonical(form, *expect);
    expect->hash = "sha256:" + crypto::sha256_hex(form);
  }
  return expect;
}

std::uint32_t read_number(const Cursor& value, Bounds bounds, std::uint32_t fallback) {
  return static_cast<std::uint32_t>(value.integer(bounds).value_or(fallback));
}

// The number of looks per day at this interval.
std::uint64_t looks_in_a_day(std::uint32_t interval_ms) noexcept {
  return static_cast<std::uint64_t>((day_ms + interval_ms - 1) / interval_ms);
}

// ---- building -----------------------------------------------------------------------------------

// Turns the sample of an operation into a request, and reports violations of the operation's
// policies.
class SampleWriter {
 public:
  SampleWriter(const SampleDraft& draft, const MonitoredOperation& operation, Problems& problems)
      : draft_(draft), operation_(operation), problems_(problems) {}

  // nullopt: the problems are reported.
  std::optional<Sample> write() {
    write_path();
    write_query();
    write_body();
    return is_sound_ ? std::optional<Sample>(std::move(sample_)) : std::nullopt;
  }

 private:
  void refuse(const Place& place, const base::FieldProblem& problem) {
    is_sound_ = false;
    problems_.add(Rule::sample_refused, place, draft_.path,
                  {problem.location, name_of(operation_.method), operation_.matcher.pattern,
                   problem.problem, problem.fix});
  }

  void write_path() {
    std::vector<bool> used(draft_.path_parameters.size());
    std::string_view rest = operation_.matcher.pattern;
    for (const Segment& segment : operation_.matcher.segments) {
      rest.remove_prefix(1);
      const std::string_view piece = rest.substr(0, rest.find('/'));
      rest.remove_prefix(piece.size());
      sample_.path.push_back('/');
      if (!segment.is_parameter) {
        sample_.path.append(piece);
        continue;
      }
      const auto given =
          std::find_if(draft_.path_parameters.begin(), draft_.path_parameters.end(),
                       [&](const auto& value) { return value.name == segment.text; });
      if (given == draft_.path_parameters.end() || given->text.empty()) {
        refuse(given == draft_.path_parameters.end() ? draft_.place : given->place,
               {"path." + segment.text, "is missing", "give it a value under `path_parameters`"});
        continue;
      }
      used[static_cast<std::size_t>(given - draft_.path_parameters.begin())] = true;
      if (auto problem = check_segment(segment, given->text)) refuse(given->place, *problem);
      text::append_percent_encoded(sample_.path, given->text);
      sample_.parameters.emplace_back(given->name, given->text);
    }
    for (std::size_t at = 0; at < used.size(); ++at) {
      const SampleDraft::Value& given = draft_.path_parameters[at];
      if (used[at]) continue;
      if (given.text.empty() && is_parameter(given.name)) continue;  // already reported
      is_sound_ = false;
      problems_.add(Rule::not_in_path, given.place, draft_.path, {given.name});
    }
    if (sample_.path.size() > limits::request_path_bytes_max) {
      refuse(draft_.place, {"path", "is too long", "give shorter values"});
    }
  }

  [[nodiscard]] bool is_parameter(std::string_view name) const {
    const auto& segments = operation_.matcher.segments;
    return std::any_of(segments.begin(), segments.end(), [name](const Segment& segment) {
      return segment.is_parameter && segment.text == name;
    });
  }

  void write_query() {
    for (const SampleDraft::Value& value : draft_.query) {
      if (!sample_.query.empty()) sample_.query.push_back('&');
      text::append_percent_encoded(sample_.query, value.name);
      sample_.query.push_back('=');
      text::append_percent_encoded(sample_.query, value.text);
    }
    for (const base::FieldProblem& problem : check_query(operation_.query, sample_.query)) {
      refuse(place_of(problem.location), problem);
    }
  }

  // The place of the query value that a problem is about, or of the sample.
  [[nodiscard]] Place place_of(std::string_view location) const {
    constexpr std::string_view prefix = "query.";
    if (!location.starts_with(prefix)) return draft_.place;
    const auto found =
        std::find_if(draft_.query.begin(), draft_.query.end(), [&](const auto& value) {
          return value.name == location.substr(prefix.size());
        });
    return found == draft_.query.end() ? draft_.place : found->place;
  }

  void write_body() {
    const bool takes_body = operation_.method == Method::post && !operation_.body.forbidden;
    if (draft_.body.empty()) {
      if (takes_body && operation_.body.required) {
        refuse(draft_.place, {"body", "is missing", "this operation requires one"});
      }
      return;
    }
    if (!takes_body) {
      return refuse(draft_.place, {"body", "is not allowed here", "leave the body out"});
    }
    sample_.body = draft_.body;
    sample_.content_type = draft_.content_type;
    if (sample_.content_type.empty() && operation_.body.media_types.size() == 1) {
      sample_.content_type = operation_.body.media_types.front();
    } else if (sample_.content_type.empty() && draft_.is_body_json) {
      sample_.content_type = "application/json";
    }
    for (const base::FieldProblem& problem :
         check_body(operation_.body, sample_.content_type, sample_.body.size())) {
      refuse(draft_.place, problem);
    }
  }

  const SampleDraft& draft_;
  const MonitoredOperation& operation_;
  Problems& problems_;
  Sample sample_;
  bool is_sound_ = true;
};

bool is_schedule_sound(const MonitoringDraft& draft, const Monitoring& monitoring,
                       Problems& problems) {
  if (!draft.per_day_max) {
    problems.add(Rule::missing_key, draft.place, draft.path,
                 {"per_day_max", "how many looks a day may cost at most"});
    return false;
  }
  const std::uint64_t looks = looks_in_a_day(monitoring.interval_ms);
  if (looks <= *draft.per_day_max) return true;
  problems.add(Rule::budget_too_small, draft.place, draft.path,
               {std::to_string(monitoring.interval_ms), std::to_string(looks),
                std::to_string(*draft.per_day_max)});
  return false;
}

}  // namespace

void read_monitoring(const Cursor& value, MonitoringDraft& into) {
  into.is_stated = true;
  into.place = value.place();
  into.path = value.path();
  if (!value.map_of({"class", "sample", "expect", "interval_ms", "per_day_max"})) return;
  if (const auto kind = value.find("class")) {
    constexpr std::string_view classes[] = {"continuous", "manual", "not_applicable"};
    constexpr MonitoringClass kinds[] = {MonitoringClass::continuous, MonitoringClass::manual,
                                         MonitoringClass::not_applicable};
    // A misspelt class was reported; treating it as not_applicable avoids follow-up problems.
    into.kind = kinds[kind->one_of(classes).value_or(2)];
  }
  if (const auto interval = value.find("interval_ms")) {
    into.interval_ms = read_number(*interval, interval_bounds, look_interval_ms);
  }
  if (const auto most = value.find("per_day_max")) {
    into.per_day_max = read_number(*most, per_day_bounds, looks_per_day_max);
  }
  if (const auto sample = value.find("sample")) into.sample = read_sample(*sample);
  if (const auto expect = value.find("expect")) into.expect = read_expectation(*expect);
}

std::optional<Monitoring> monitoring_of(const MonitoringDraft& draft,
                                        const MonitoredOperation& operation, Problems& problems) {
  Monitoring monitoring;
  if (!draft.is_stated) return monitoring;
  if (!draft.kind) {
    problems.add(Rule::missing_key, draft.place, draft.path,
                 {"class", "continuous, manual or not_applicable"});
    return std::nullopt;
  }
  monitoring.kind = *draft.kind;
  if (monitoring.kind == MonitoringClass::not_applicable) return monitoring;
  bool is_sound = true;
  if (monitoring.kind == MonitoringClass::continuous) {
    monitoring.interval_ms = draft.interval_ms.value_or(look_interval_ms);
    is_sound = is_schedule_sound(draft, monitoring, problems);
    if (draft.sample == nullptr) {
      problems.add(Rule::missing_key, draft.place, draft.path,
                   {"sample", "the request to run, which must cost nothing worth mentioning; {} is "
                              "one without parameters"});
      is_sound = false;
    }
  }
  monitoring.per_day_max = draft.per_day_max.value_or(0);
  if (draft.expect != nullptr) monitoring.expect = *draft.expect;
  // An operation that is run manually and takes no parameters needs no sample.
  const SampleDraft none{.path_parameters = {},
                         .query = {},
                         .body = {},
                         .content_type = {},
                         .place = draft.place,
                         .path = draft.path};
  if (draft.sample != nullptr || monitoring.kind == MonitoringClass::manual) {
    auto sample = SampleWriter(draft.sample == nullptr ? none : *draft.sample, operation, problems)
                      .write();
    is_sound = is_sound && sample.has_value();
    if (sample) monitoring.sample = *std::move(sample);
  }
  return is_sound ? std::optional<Monitoring>(std::move(monitoring)) : std::nullopt;
}

ProbePolicy read_probe(const Cursor& value) {
  ProbePolicy policy;
  if (!value.map_of({"interval_ms", "per_day_max", "credential"})) return policy;
  if (const auto interval = value.find("interval_ms")) {
    policy.interval_ms = read_number(*interval, interval_bounds, policy.interval_ms);
  }
  if (const auto most = value.find("per_day_max")) {
    policy.per_day_max = read_number(*most, per_day_bounds, policy.per_day_max);
  }
  if (const auto credential = value.find("credential")) {
    policy.uses_credential = credential->boolean().value_or(false);
  }
  const std::uint64_t looks = looks_in_a_day(policy.interval_ms);
  if (looks > policy.per_day_max) {
    value.report(Rule::budget_too_small, {std::to_string(policy.interval_ms), std::to_string(looks),
                                          std::to_string(policy.per_day_max)});
  }
  return policy;
}

}  // namespace turnpike::registry
