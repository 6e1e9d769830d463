// Polls a Governor contract over JSON-RPC. A step reads the logs of one range of blocks that have
// the required confirmations, the times of their blocks, and the blocks at which voting has begun
// or ended by then. The range shrinks when the node refuses it and grows while it does not.
//
// The contract is asked how it counts time (ERC-6372) and votes. If it counts the quorum as this
// plugin does, it is also asked for the quorum of each proposal whose voting has begun, so that the
// outcome is known when voting is over.
//
// The cursor keeps the last blocks of pages ("points") with their hashes and import runs: all of
// the newest ones, and ever fewer of the older ones. If the chain has another block at a point, the
// writes of later runs are undone, and the blocks are read again.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "govdata/import/abi.h"
#include "govdata/import/governor_event.h"
#include "govdata/live/chain.h"
#include "govdata/live/cursor.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::json;

constexpr std::size_t points_max = 32;
constexpr std::size_t points_newest = 8;
// If no point matches and the oldest is more than this behind the newest block, the node serves
// another chain, whatever its chain id says.
constexpr std::int64_t depth_max_blocks = 5000;
constexpr std::size_t blocks_by_batch_max = 1000;
constexpr std::size_t blocks_one_by_one_max = 50;
constexpr std::int64_t due_blocks_max = 50;
// From this value on, a clock value means seconds instead of blocks, as in the importer.
constexpr std::int64_t first_second = 1'000'000'000;
constexpr std::int64_t pace_blocks = 5000;
constexpr std::size_t quorums_max = 200;  // for each step

// The text that a contract returned; empty: it returned none.
std::string returned_text(const std::optional<std::string>& bytes) {
  if (!bytes) return {};
  try {
    return AbiReader(*bytes).bytes(0);
  } catch (const AbiError&) {
    return {};
  }
}

// The value of `name` in "a=b&c=d"; empty if there is none.
std::string_view value_in(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) == name && equals != pair.npos) return pair.substr(equals + 1);
  }
  return {};
}

// "blocknumber" or "timestamp"; empty if the mode is unknown or counts blocks of another chain.
std::string clock_mode_of(std::string_view told) {
  const std::string_view mode = value_in(told, "mode");
  const std::string_view from = value_in(told, "from");
  if (mode == "timestamp") return "timestamp";
  return mode == "blocknumber" && (from.empty() || from == "default") ? "blocknumber" : "";
}

// The end of a page that was committed.
struct Point {
  std::int64_t block = 0;
  std::string hash;
  std::int64_t run_id = 0;  // the newest import run at that time
  std::int64_t time_s = 0;
};

struct ChainCursor {
  bool is_new = true;
  std::int64_t next = 0;       // the next block to read
  std::int64_t range = 0;      // blocks per request
  std::int64_t began_run = 0;  // the newest import run before the first page
  std::vector<Point> points;   // oldest first

  [[nodiscard]] std::string text() const {
    Json list = Json::array();
    for (const Point& point : points) {
      list.push_back({point.block, point.hash, point.run_id, point.time_s});
    }
    return Json{
        {"v", 1}, {"next", next}, {"range", range}, {"began_run", began_run}, {"points", list}}
        .dump();
  }
  static ChainCursor of(const std::string& text, const SourceSettings& settings) {
    ChainCursor beginning;
    beginning.next = settings.from_block;
    beginning.range = settings.range_blocks;
    return read_cursor_text(text, beginning, [&](const Json& json, ChainCursor& cursor) {
      cursor.is_new = false;
      cursor.next = json.at("next");
      cursor.range = std::clamp<std::int64_t>(json.at("range"), 1, settings.range_blocks);
      cursor.began_run = json.at("began_run");
      for (const Json& point : json.at("points")) {
        cursor.points.push_back({point.at(0), point.at(1), point.at(2), point.at(3)});
      }
    });
  }
};

// Removes one of the older points where they are densest in relation to their age. The first point
// stays.
void thin_out(std::vector<Point>& points) {
  if (points.size() <= points_max) return;
  const auto crowding = [&](std::size_t at) {
    const auto age = static_cast<double>(points.back().block - points[at].block + 1);
    return age / static_cast<double>(points[at + 1].block - points[at - 1].block + 1);
  };
  std::size_t densest = 1;
  for (std::size_t at = 2; at + points_newest < points.size(); ++at) {
    if (crowding(at) > crowding(densest)) densest = at;
  }
  points.erase(points.begin() + static_cast<std::ptrdiff_t>(densest));
}

// The checked contents of one range, ready to be written.
struct RangeRead {
  std::int64_t from = 0, to = 0;
  BlockHead end;
  std::vector<JsonValue> logs;
  std::map<std::int64_t, BlockHead> blocks;
  std::vector<std::string> due;  // proposals whose voting began or ended at one of these blocks
  std::map<std::string, std::string> quorums;  // by proposal
  std::optional<BlockPace> pace;
  std::int64_t seconds_from = 0;  // the time of the block before the range, at least first_second
};

class GovernorSource final : public Source {
 public:
  explicit GovernorSource(const SourceSettings& settings) : settings_(settings) {}

  Step step(StepContext& context) override {
    before_ = read_cursor(context.database, context.source_id);
    cursor_ = ChainCursor::of(before_, settings_);
    if (cursor_.is_new) {
      cursor_.began_run = context.database.number("SELECT max(run_id) FROM import_run");
    }
    Chain chain(settings_, context);
    const Step step = step_on(chain, context);
    // After a failure, another node may answer at the same address.
    if (step.kind == StepKind::failed) is_chain_known_ = is_on_chain_ = false;
    if (step.kind != StepKind::more) is_on_chain_ = false;
    return step;
  }

 private:
  Step step_on(Chain& chain, StepContext& context) {
    if (!is_chain_known_) {
      if (auto bad = ask_who_is_there(chain)) return *bad;
      is_chain_known_ = true;
    }
    const auto newest = chain.newest_block();
    if (!newest.ok()) return newest.error().step;
    if (!is_on_chain_) {
      const auto moved = check_points(chain, context, *newest);
      if (moved) return *moved;
      is_on_chain_ = true;
      ceiling_ = settings_.range_blocks;
    }
    const std::int64_t safe = *newest - settings_.confirmations;
    if (cursor_.next > safe) return end_round(context);
    return read_range(chain, context, safe);
  }

  std::optional<Step> ask_who_is_there(Chain& chain) {
    const auto id = chain.chain_id();
    if (!id.ok()) return id.error().step;
    if (*id != settings_.chain_id) {
      return failed_step("the node serves chain " + std::to_string(*id) + ", not " +
                         std::to_string(settings_.chain_id));
    }
    const auto modes = chain.call_contract(
        {std::string(clock_mode_function.hash), std::string(counting_mode_function.hash)},
        takes_batches_);
    if (!modes.ok()) return modes.error().step;
    if (!is_clock_set_) settings_.clock_mode = clock_mode_of(returned_text(modes->front()));
    has_our_quorum_ = value_in(returned_text(modes->back()), "quorum") == "for,abstain";
    return std::nullopt;
  }

  // Checks that the chain still has the blocks that were read. Empty if it has.
  std::optional<Step> check_points(Chain& chain, StepContext& context, std::int64_t newest) {
    if (cursor_.points.empty()) return std::nullopt;
    if (newest < cursor_.points.back().block) {
      return failed_step("the node is behind the blocks that were read already");
    }
    std::size_t kept = cursor_.points.size();
    for (; kept > 0; --kept) {
      const Point& point = cursor_.points[kept - 1];
      const auto head = chain.block(point.block);
      if (!head.ok()) return head.error().step;
      if (!*head) return failed_step("the node has no block that was read already");
      if ((*head)->hash == point.hash) break;
    }
    if (kept == cursor_.points.size()) return std::nullopt;
    if (kept == 0 && cursor_.points.front().block < newest - depth_max_blocks) {
      return failed_step("the node's chain shares no block with what was read");
    }
    return rewind(context, kept);
  }

  Step rewind(StepContext& context, std::size_t kept) {
    cursor_.points.resize(kept);
    const std::int64_t block = kept > 0 ? cursor_.points.back().block : settings_.from_block - 1;
    const std::int64_t run_id = kept > 0 ? cursor_.points.back().run_id : cursor_.began_run;
    cursor_.next = block + 1;
    context.host.report().count("poll_reorgs", 1);
    Page page;
    page.label = "reorganised after block " + std::to_string(block);
    page.after = cursor_.text();
    page.read = [&](Run& run) {
      run.writer().put_source(source_key());
      run.writer().rewind(context.source_id, block, run_id);
      run.count(Written::changed);
    };
    return commit(context, page, StepKind::more);
  }

  [[nodiscard]] SourceKey source_key() const {
    SourceKey key;
    key.dao_id = settings_.dao_id;
    key.provider = "governor";
    key.scope = settings_.scope;
    key.kind = "proposal";
    key.chain_id = settings_.chain_id;
    key.contract = settings_.contract;
    key.stale_after_s = settings_.stale_after_s;
    return key;
  }

  Step end_round(StepContext& context) {
    Page page;
    page.after = cursor_.text();
    // The data is complete up to the last block that was read, not up to the clock's time. If the
    // chain or the node stands still, so does this time.
    if (!cursor_.points.empty()) page.complete_to_ms = cursor_.points.back().time_s * 1000;
    return commit(context, page, StepKind::done);
  }

  Step read_range(Chain& chain, StepContext& context, std::int64_t safe) {
    RangeRead range;
    range.from = cursor_.next;
    range.to = std::min(safe, cursor_.next + std::min(cursor_.range, ceiling_) - 1);
    range.seconds_from = first_second;
    if (!cursor_.points.empty()) {
      range.seconds_from = std::max(first_second, cursor_.points.back().time_s);
    }
    // The hash is read before the logs. If the chain changes in between, the next comparison of the
    // hash finds it.
    std::vector<std::int64_t> numbers;
    if (!cursor_.points.empty()) numbers.push_back(cursor_.points.back().block);
    numbers.push_back(range.to);
    const auto heads = chain.blocks(numbers, takes_batches_);
    if (!heads.ok()) return heads.error().step;
    // If the chain has changed since the last step, the next step compares all points and rewinds.
    if (!cursor_.points.empty() &&
        heads->at(cursor_.points.back().block).hash != cursor_.points.back().hash) {
      is_on_chain_ = false;
      return {};
    }
    range.end = heads->at(range.to);
    auto logs = chain.logs(range.from, range.to);
    if (!logs.ok()) return shrink(logs.error(), range);
    range.logs = *std::move(logs);
    if (auto bad = read_blocks(chain, context, range)) return *bad;
    if (auto bad = read_pace(chain, range)) return *bad;
    if (auto other = read_quorums(chain, context, range)) return *other;
    return write(context, range);
  }

  // Asks for half as many blocks after a refused range, as long as it has several.
  Step shrink(const ChainProblem& problem, const RangeRead& range) {
    const std::int64_t count = range.to - range.from + 1;
    if (!problem.is_range_refused || count <= 1) return problem.step;
    ceiling_ = std::max<std::int64_t>(1, count / 2);
    return {};
  }

  // Reads the times of all blocks with logs, and of those at which voting has begun or ended.
  std::optional<Step> read_blocks(Chain& chain, StepContext& context, RangeRead& range) {
    std::set<std::int64_t> wanted;
    for (const JsonValue& log : range.logs) {
      wanted.insert(*quantity_of(log.scalar("blockNumber")));
    }
    const std::size_t most = takes_batches_ ? blocks_by_batch_max : blocks_one_by_one_max;
    if (wanted.size() > most && range.to > range.from) {
      ceiling_ = std::max<std::int64_t>(1, (range.to - range.from + 1) / 2);
      return Step{};
    }
    note_own_clock(range, wanted);
    note_due(context, range, wanted);
    const auto heads = chain.blocks({wanted.begin(), wanted.end()}, takes_batches_);
    if (!heads.ok()) return heads.error().step;
    range.blocks = *heads;
    for (const JsonValue& log : range.logs) {
      const BlockHead& head = range.blocks[*quantity_of(log.scalar("blockNumber"))];
      std::string hash(log.scalar("blockHash"));
      std::transform(hash.begin(), hash.end(), hash.begin(),
                     [](char c) { return c >= 'A' && c <= 'F' ? char(c + 32) : c; });
      if (hash != head.hash) return failed_step("the chain changed while it was read");
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_block(const MaybeInteger& value, std::int64_t to) const {
    return settings_.clock_mode != "timestamp" && value && *value > 0 && *value <= to &&
           (settings_.clock_mode == "blocknumber" || *value < first_second);
  }

  // Adds the blocks at which voting began or ended, up to the range's end, for proposals in the
  // range's own logs.
  void note_own_clock(const RangeRead& range, std::set<std::int64_t>& wanted) const {
    for (const JsonValue& log : range.logs) {
      try {
        const auto event = decode_log(log);
        if (!event) continue;
        const bool is_own = !event->start || !event->block || *event->start >= *event->block;
        if (is_own && is_block(event->start, range.to)) wanted.insert(*event->start);
        if (is_own && is_block(event->end, range.to)) wanted.insert(*event->end);
      } catch (const BadRecord&) {  // counted when the range is written
      }
    }
  }

  // The same for proposals in the store, whose times are only estimated so far.
  void note_due(StepContext& context, RangeRead& range, std::set<std::int64_t>& wanted) const {
    auto row = context.database.prepare(
        "SELECT p.external_id, p.start_block, p.end_block FROM proposal p WHERE p.source_id=?1"
        " AND p.start_block >= p.created_block AND ((p.start_block <= ?2 AND NOT EXISTS (SELECT 1 "
        "FROM block_time b"
        "  WHERE b.chain_id=?3 AND b.block_number = p.start_block))"
        " OR (p.end_block <= ?2 AND NOT EXISTS (SELECT 1 FROM block_time b"
        "  WHERE b.chain_id=?3 AND b.block_number = p.end_block))) LIMIT ?4");
    row.with(context.source_id, range.to, settings_.chain_id, due_blocks_max);
    while (row.step()) {
      const MaybeInteger start = row.maybe_integer(1);
      const MaybeInteger end = row.maybe_integer(2);
      if (is_block(start, range.to)) wanted.insert(*start);
      if (is_block(end, range.to)) wanted.insert(*end);
      range.due.push_back(row.text(0));
    }
  }

  // Reads the quorums of proposals whose voting began within this range. A contract returns the
  // quorum of a proposal only after its voting has begun.
  std::optional<Step> read_quorums(Chain& chain, StepContext& context, RangeRead& range) {
    if (!has_our_quorum_) return std::nullopt;
    std::map<std::string, std::int64_t> begun;
    for (const JsonValue& log : range.logs) {
      try {
        const auto event = decode_log(log);
        if (!event || event->kind != GovernorEventKind::created || !event->start) continue;
        const std::int64_t start = *event->start;
        const bool is_time = start >= first_second;
        if (!is_time && event->block && start < *event->block) continue;  // another chain's clock
        if (start < (is_time ? range.end.time_s : range.to)) begun[event->proposal_id] = start;
      } catch (const BadRecord&) {  // counted when the range is written
      }
    }
    auto row = context.database.prepare(
        "SELECT external_id, start_block FROM proposal WHERE source_id=?1 AND quorum IS NULL"
        " AND ((start_block >= ?2 AND start_block < ?3 AND start_block >= created_block)"
        " OR (start_block >= ?4 AND start_block < ?5))");
    row.with(context.source_id, range.from - 1, range.to, range.seconds_from, range.end.time_s);
    while (row.step()) begun[row.text(0)] = row.integer(1);
    if (begun.size() > quorums_max && range.to > range.from) {
      ceiling_ = std::max<std::int64_t>(1, (range.to - range.from + 1) / 2);
      return Step{};
    }
    std::vector<std::string> calls;
    for (const auto& [id, start] : begun) {
      const std::string digits = quantity(start).substr(2);
      calls.push_back(std::string(quorum_function.hash) + std::string(64 - digits.size(), '0') +
                      digits);
    }
    const auto returned = chain.call_contract(calls, takes_batches_);
    if (!returned.ok()) return returned.error().step;
    auto answer = returned->begin();
    for (const auto& [id, start] : begun) {
      if (*answer && (*answer)->size() == 32) range.quorums[id] = AbiReader(**answer).number(0);
      ++answer;
    }
    return std::nullopt;
  }

  // The stored proposals whose voting ended within this range.
  [[nodiscard]] static std::vector<std::string> ended_in(Database& database, std::int64_t source_id,
                                                         const RangeRead& range) {
    auto row = database.prepare(
        "SELECT external_id FROM proposal WHERE source_id=?1 AND outcome='unknown'"
        " AND ((end_block >= ?2 AND end_block <= ?3 AND end_block >= created_block)"
        " OR (end_block >= ?4 AND end_block < ?5))");
    row.with(source_id, range.from, range.to, range.seconds_from, range.end.time_s);
    std::vector<std::string> ended;
    while (row.step()) ended.push_back(row.text(0));
    return ended;
  }

  // Reads the pace of the chain, with which the times of later blocks in the logs are estimated.
  std::optional<Step> read_pace(Chain& chain, RangeRead& range) {
    const std::int64_t base = std::max<std::int64_t>(1, range.to - pace_blocks);
    if (range.logs.empty() || settings_.clock_mode == "timestamp" || base >= range.to) {
      return std::nullopt;
    }
    const auto head = chain.block(base);
    if (!head.ok()) return head.error().step;
    if (!*head || (*head)->time_s >= range.end.time_s) return std::nullopt;
    const std::int64_t span_ms = (range.end.time_s - (*head)->time_s) * 1000;
    range.pace = BlockPace{range.to, range.end.time_s * 1000, span_ms / (range.to - base)};
    return std::nullopt;
  }

  Step write(StepContext& context, const RangeRead& range) {
    const std::int64_t count = range.to - range.from + 1;
    cursor_.next = range.to + 1;
    cursor_.range = std::min(settings_.range_blocks, std::max(cursor_.range, count) + count);
    if (ceiling_ < settings_.range_blocks) cursor_.range = std::min(cursor_.range, ceiling_);
    cursor_.points.push_back({range.to, range.end.hash, 0, range.end.time_s});
    thin_out(cursor_.points);
    Page page;
    page.label = "blocks " + std::to_string(range.from) + " to " + std::to_string(range.to);
    page.pace = range.pace;
    page.as_of_ms = range.end.time_s * 1000;
    if (!range.logs.empty() || !range.due.empty() || !range.quorums.empty() ||
        !ended_in(context.database, context.source_id, range).empty()) {
      page.read = [&](Run& run) { write_records(run, context, range); };
    }
    page.finish_cursor = [this](std::int64_t run_id, std::string& after) {
      cursor_.points.back().run_id = run_id;
      after = cursor_.text();
    };
    return commit(context, page, StepKind::more);
  }

  void write_records(Run& run, StepContext& context, const RangeRead& range) const {
    for (const auto& [number, head] : range.blocks) {
      run.writer().put_block_time(settings_.chain_id, number, head.time_s * 1000);
    }
    run.writer().put_source(source_key());
    if (!range.logs.empty()) {
      std::string text;
      for (const JsonValue& log : range.logs) text += (text.empty() ? "[" : ",") + log.dump();
      text += "]";
      Input input(open_memory(text));
      import_governor(run, input);
    }
    for (const std::string& id : range.due) refresh_governor_times(run, context.source_id, id);
    for (const auto& [id, quorum] : range.quorums) {
      auto record = run.writer().find_proposal(context.source_id, id);
      if (!record) continue;
      record->quorum = quorum;
      run.count(run.writer().put_proposal(context.source_id, *record));
    }
    for (const std::string& id : ended_in(context.database, context.source_id, range)) {
      run.count(run.writer().end_voting(context.source_id, id));
    }
  }

  Step commit(StepContext& context, Page& page, StepKind kind) {
    page.before = before_;
    return commit_page(context, settings_, page, kind);
  }

  SourceSettings settings_;
  const bool is_clock_set_ = !settings_.clock_mode.empty();
  bool has_our_quorum_ = false;  // the contract counts for and abstain towards the quorum
  bool is_chain_known_ = false;
  bool is_on_chain_ = false;  // the points were compared in this round
  bool takes_batches_ = true;
  std::int64_t ceiling_ = INT64_MAX;  // limit of the range in this round
  // State of the current step.
  std::string before_;
  ChainCursor cursor_;
};

}  // namespace

std::unique_ptr<Source> make_governor_source(const SourceSettings& settings) {
  return std::make_unique<GovernorSource>(settings);
}

}  // namespace turnpike::govdata
