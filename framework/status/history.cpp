#include "status/history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "status/rules.h"
#include "status/text_form.h"
#include "text/canonical_json.h"

namespace turnpike::status {
namespace {

using nlohmann::json;

constexpr std::size_t lengths = std::size(Segment::lengths_ms);

constexpr std::int64_t begin_of(std::int64_t at_ms, std::int64_t length_ms) noexcept {
  return at_ms - at_ms % length_ms;  // times are never before 1970
}

void touch(History::Open& open, std::uint64_t round) noexcept {
  Segment& segment = open.segment;
  if (segment.first_round == 0) segment.first_round = round;
  segment.last_round = round;
  open.is_touched = true;
}

Segment finished(const History::Open& open) {
  Segment segment = open.segment;
  segment.status =
      segment_level(open.worst, segment.expected, segment.passed, segment.failed);
  return segment;
}

// Appends the written numbers of a segment: everything but scope and length.
void append_numbers(std::string& out, const History::Open& open) {
  const Segment& segment = open.segment;
  const std::int64_t worst = open.worst ? static_cast<std::int64_t>(*open.worst) : -1;
  out += '[';
  text::append_canonical_integer(out, segment.started_at_ms);
  for (const std::uint64_t number :
       {segment.expected, segment.passed, segment.failed, segment.unknown, segment.traffic_rounds,
        segment.good, segment.provider_fault, segment.gateway_fault, segment.first_round,
        segment.last_round}) {
    out += ',';
    text::append_canonical_integer(out, static_cast<std::int64_t>(number));
  }
  out += ',';
  text::append_canonical_integer(out, worst);
  out += ",[";
  std::size_t used = segment.latencies.size();
  while (used > 0 && segment.latencies[used - 1] == 0) --used;
  for (std::size_t at = 0; at < used; ++at) {
    if (at > 0) out += ',';
    text::append_canonical_integer(out, segment.latencies[at]);
  }
  out += "]]";
}

bool is_whole_number(const json& value, std::int64_t minimum, std::int64_t maximum) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{integer_max}) {
    return false;
  }
  return value.get<std::int64_t>() >= minimum && value.get<std::int64_t>() <= maximum;
}

bool read_latencies(const json& array, std::vector<std::uint32_t>& latencies) {
  if (!array.is_array() || array.size() > latency_buckets) return false;
  for (std::size_t at = 0; at < array.size(); ++at) {
    if (!is_whole_number(array[at], 0, 0xFFFF'FFFF)) return false;
    latencies[at] = array[at].get<std::uint32_t>();
  }
  return true;
}

bool read_open(const json& numbers, std::string_view scope, std::size_t length,
               History::Open& open) {
  Segment& segment = open.segment;
  segment.scope = scope;
  segment.length_ms = Segment::lengths_ms[length];
  segment.latencies.assign(latency_buckets, 0);
  if (!numbers.is_array() || numbers.size() != 13) return false;
  if (!is_whole_number(numbers[0], 0, time_ms_max)) return false;
  segment.started_at_ms = numbers[0].get<std::int64_t>();
  std::uint64_t* const counts[] = {
      &segment.expected, &segment.passed,         &segment.failed,        &segment.unknown,
      &segment.traffic_rounds, &segment.good, &segment.provider_fault, &segment.gateway_fault,
      &segment.first_round, &segment.last_round};
  for (std::size_t at = 0; at < std::size(counts); ++at) {
    if (!is_whole_number(numbers[at + 1], 0, integer_max)) return false;
    *counts[at] = numbers[at + 1].get<std::uint64_t>();
  }
  if (!is_whole_number(numbers[11], -1, 3)) return false;
  const int worst = numbers[11].get<int>();
  if (worst >= 0) open.worst = static_cast<Level>(worst);
  return segment.started_at_ms % segment.length_ms == 0 &&
         segment.expected == segment.passed + segment.failed + segment.unknown &&
         read_latencies(numbers[12], segment.latencies);
}

bool read_scope(const json& array, std::string_view name, History::Scope& scope) {
  if (!array.is_array() || array.size() != lengths) return false;
  for (std::size_t length = 0; length < lengths; ++length) {
    if (!array[length].is_array()) return false;
    for (const json& numbers : array[length]) {
      History::Open& open = scope[length].emplace_back();
      if (!read_open(numbers, name, length, open)) return false;
      const std::size_t count = scope[length].size();
      if (count > 1 && scope[length][count - 2].segment.started_at_ms >=
                           open.segment.started_at_ms) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

History::Scope& History::scope(const std::string& name) { return scopes_[name]; }

std::int64_t History::reach_ms(std::size_t length, std::size_t targets) noexcept {
  const std::int64_t count =
      std::max<std::int64_t>(1, gap_segments_max / static_cast<std::int64_t>(targets));
  return std::min(gap_kept_ms[length], count * Segment::lengths_ms[length]);
}

History::Open& History::at(Scope& scope, std::string_view name, std::size_t length,
                           std::int64_t started_at_ms, std::uint64_t round) {
  std::vector<Open>& segments = scope[length];
  auto found = segments.end();  // usually the last one
  while (found != segments.begin() && (found - 1)->segment.started_at_ms >= started_at_ms) --found;
  if (found == segments.end() || found->segment.started_at_ms != started_at_ms) {
    found = segments.insert(found, Open());
    found->segment.scope = name;
    found->segment.length_ms = Segment::lengths_ms[length];
    found->segment.started_at_ms = started_at_ms;
    found->segment.latencies.assign(latency_buckets, 0);
  }
  touch(*found, round);
  return *found;
}

void History::expect(Scope& scope, std::string_view name, const Grid& grid, std::int64_t from_ms,
                     std::int64_t to_ms, std::uint64_t round) {
  for (std::size_t length = 0; length < lengths; ++length) {
    const std::int64_t length_ms = Segment::lengths_ms[length];
    const std::int64_t oldest = std::max<std::int64_t>(
        from_ms, to_ms - std::min(to_ms, reach_ms(length, grid.targets)));
    for (std::int64_t begin = begin_of(oldest, length_ms); begin < to_ms; begin += length_ms) {
      const auto due = static_cast<std::uint64_t>(
          due_count(grid.phase_ms, grid.interval_ms, std::max(begin, from_ms),
                    std::min(begin + length_ms, to_ms)));
      if (due == 0) continue;
      Segment& segment = at(scope, name, length, begin, round).segment;
      segment.expected += due * grid.nodes;
      segment.unknown += due * grid.nodes;
    }
  }
}

void History::answer(Scope& scope, std::int64_t due_at_ms, bool passed,
                     std::optional<std::uint32_t> latency_ms, std::uint64_t round) {
  for (std::vector<Open>& segments : scope) {
    for (auto open = segments.rbegin(); open != segments.rend(); ++open) {
      Segment& segment = open->segment;
      if (segment.started_at_ms > due_at_ms) continue;
      if (due_at_ms >= segment.started_at_ms + segment.length_ms || segment.unknown == 0) break;
      --segment.unknown;
      ++(passed ? segment.passed : segment.failed);
      if (latency_ms) ++segment.latencies[latency_bucket(*latency_ms)];
      touch(*open, round);
      break;
    }
  }
}

void History::add_traffic(Scope& scope, std::string_view name, std::int64_t at_ms,
                          const Traffic& traffic, std::uint64_t round) {
  if (traffic.is_thin) return;
  for (std::size_t length = 0; length < lengths; ++length) {
    const std::int64_t begin = begin_of(at_ms, Segment::lengths_ms[length]);
    Segment& segment = at(scope, name, length, begin, round).segment;
    ++segment.traffic_rounds;
    segment.good += traffic.good;
    segment.provider_fault += traffic.provider_fault;
    segment.gateway_fault += traffic.gateway_fault;
  }
}

void History::overlap(Scope& scope, std::int64_t from_ms, std::int64_t to_ms, Level severity,
                      std::uint64_t round) {
  for (std::vector<Open>& segments : scope) {
    for (Open& open : segments) {
      const Segment& segment = open.segment;
      if (to_ms <= segment.started_at_ms) continue;
      if (from_ms >= segment.started_at_ms + segment.length_ms) continue;
      if (open.worst && *open.worst >= severity) continue;
      open.worst = severity;
      touch(open, round);
    }
  }
}

std::vector<Segment> History::take_changes(std::int64_t now_ms) {
  std::vector<Segment> changes;
  for (auto& [name, scope] : scopes_) {
    for (std::vector<Open>& segments : scope) {
      for (Open& open : segments) {
        if (open.is_touched) changes.push_back(finished(open));
        open.is_touched = false;
      }
      std::erase_if(segments, [&](const Open& open) {
        return open.segment.started_at_ms + open.segment.length_ms + segment_grace_ms <= now_ms;
      });
    }
  }
  return changes;
}

std::vector<Segment> History::open() const {
  std::vector<Segment> all;
  for (const auto& [name, scope] : scopes_) {
    for (const std::vector<Open>& segments : scope) {
      for (const Open& open : segments) all.push_back(finished(open));
    }
  }
  return all;
}

void History::append_text(std::string& out) const {
  out += '[';
  bool is_first = true;
  for (const auto& [name, scope] : scopes_) {
    if (!is_first) out += ',';
    is_first = false;
    ObjectText object(out);
    object.text("scope", name).member("segments") += '[';
    for (const std::vector<Open>& segments : scope) {
      if (&segments != scope.data()) out += ',';
      out += '[';
      for (const Open& open : segments) {
        if (&open != segments.data()) out += ',';
        append_numbers(out, open);
      }
      out += ']';
    }
    out += ']';
    object.end();
  }
  out += ']';
}

bool History::read_text(const json& array) {
  for (const json& each : array) {
    Fields fields(each);
    const std::string name = fields.text("scope");
    const json& segments = fields.array("segments");
    if (!fields.is_right() || scopes_.contains(name)) return false;
    if (!read_scope(segments, name, scopes_[name])) return false;
  }
  return true;
}

}  // namespace turnpike::status
