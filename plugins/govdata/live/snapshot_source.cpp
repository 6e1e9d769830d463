// Polls the Snapshot hub's GraphQL API. Each step reads one page. A round reads the space,
// proposals by creation time, proposals by edit time, proposals whose voting is open or ended
// recently (for their scores), and votes by time. Lists are paged by time, because the hub skips at
// most 5,000 records. Records with the same second as the end of a page are read again, which
// changes nothing.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "govdata/live/cursor.h"
#include "govdata/live/source.h"
#include "govdata/store/text.h"
#include "govdata/store/timestamp.h"

namespace turnpike::govdata {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t skip_max = 5000;
constexpr std::size_t ids_max = 100;
// Replicas of the hub may show a record late, so lists are read from an hour before the newest
// record.
constexpr std::int64_t overlap_s = 3600;
constexpr std::int64_t space_again_ms = ms_per_day;
// How long after its end a closed proposal's scores are still read, and how long those of a
// proposal that the hub has not closed.
constexpr std::int64_t settled_after_ms = ms_per_day;
constexpr std::int64_t given_up_after_ms = 30 * ms_per_day;

constexpr const char* proposal_fields =
    "id ipfs author created updated space{id name} type plugins title body discussion choices"
    " start end quorum state link scores scores_state scores_total votes flagged";
constexpr const char* vote_fields = "id ipfs voter created choice vp reason proposal{id} space{id}";
constexpr const char* space_fields = "id name about website avatar";

enum class Phase : std::uint8_t { idle, space, created, updated, open, votes };
constexpr const char* phase_names[] = {"idle", "space", "created", "updated", "open", "votes"};

struct HubCursor {
  Phase phase = Phase::idle;
  std::int64_t from_s = 0, skip = 0;                       // position in the current list
  std::string after;                                       // phase open: the last id that was read
  std::int64_t began_ms = 0;                               // start of the round
  std::int64_t created_s = 0, updated_s = 0, voted_s = 0;  // newest seen
  std::int64_t space_ms = 0;

  [[nodiscard]] std::string text() const {
    return Json{{"v", cursor_version},  {"phase", phase_names[static_cast<std::size_t>(phase)]},
                {"from", from_s},       {"skip", skip},
                {"after", after},       {"began", began_ms},
                {"created", created_s}, {"updated", updated_s},
                {"voted", voted_s},     {"space", space_ms}}
        .dump();
  }
  static HubCursor of(const std::string& text) {
    return read_cursor_text(text, HubCursor(), [](const Json& json, HubCursor& cursor) {
      const std::string phase = json.at("phase");
      for (std::size_t at = 0; at < std::size(phase_names); ++at) {
        if (phase == phase_names[at]) cursor.phase = static_cast<Phase>(at);
      }
      cursor.from_s = json.at("from");
      cursor.skip = json.at("skip");
      cursor.after = json.at("after");
      cursor.began_ms = json.at("began");
      cursor.created_s = json.at("created");
      cursor.updated_s = json.at("updated");
      cursor.voted_s = json.at("voted");
      cursor.space_ms = json.at("space");
    });
  }
};

std::optional<std::int64_t> second_of(const JsonValue& record, std::string_view name) {
  const std::string_view text = record.scalar(name);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number =
      !text.empty() && problem == std::errc{} && end == text.data() + text.size() && value >= 0;
  return is_number ? std::optional(value) : std::nullopt;
}

class SnapshotSource final : public Source {
 public:
  explicit SnapshotSource(const SourceSettings& settings)
      : settings_(settings), page_size_(settings.page_size) {}

  Step step(StepContext& context) override {
    before_ = read_cursor(context.database, context.source_id);
    cursor_ = HubCursor::of(before_);
    if (cursor_.phase == Phase::idle) begin_round(context.now_ms);
    if (cursor_.phase == Phase::open) {
      open_ids_ = open_ids(context);
      if (open_ids_.empty()) {
        next_phase();
        if (cursor_.phase == Phase::idle) return commit(context, {}, {});
      }
    }
    const auto reply = ask_remote(context.host, settings_, request(), context.call);
    if (!reply.ok()) {
      if (reply.error().kind == FailureKind::too_large) return smaller_page();
      return failed_step(problem_of(reply.error()));
    }
    if (auto bad = judge_status(*reply, context.now_ms)) return *bad;
    return take(context, reply->body);
  }

 private:
  void begin_round(std::int64_t now_ms) {
    cursor_.began_ms = now_ms;
    const bool wants_space =
        settings_.dao_name.empty() && now_ms - cursor_.space_ms >= space_again_ms;
    enter(wants_space ? Phase::space : Phase::created);
  }

  void enter(Phase phase) {
    cursor_.phase = phase;
    cursor_.skip = 0;
    cursor_.after.clear();
    cursor_.from_s = std::max<std::int64_t>(0, mark() - overlap_s);
  }

  // The newest second that the current list has shown.
  std::int64_t& mark() {
    return cursor_.phase == Phase::created   ? cursor_.created_s
           : cursor_.phase == Phase::updated ? cursor_.updated_s
                                             : cursor_.voted_s;
  }

  void next_phase() {
    switch (cursor_.phase) {
      case Phase::space:
        return enter(Phase::created);
      case Phase::created:
        // In the first round, edits are read from its start on: every proposal was just read.
        if (cursor_.updated_s == 0) cursor_.updated_s = cursor_.began_ms / 1000;
        return enter(Phase::updated);
      case Phase::updated:
        return enter(Phase::open);
      case Phase::open:
        return enter(settings_.votes ? Phase::votes : Phase::idle);
      default:
        return enter(Phase::idle);
    }
  }

  std::vector<std::string> open_ids(StepContext& context) const {
    std::vector<std::string> ids;
    auto row = context.database.prepare(
        "SELECT external_id FROM proposal WHERE provider='snapshot' AND source_id=?1"
        " AND external_id > ?2 AND (source_status IS NOT 'closed' OR voting_ends_at >= ?3)"
        " AND coalesce(voting_ends_at, ?4) >= ?4 ORDER BY external_id LIMIT ?5");
    row.with(context.source_id, cursor_.after, cursor_.began_ms - settled_after_ms,
             cursor_.began_ms - given_up_after_ms, static_cast<std::int64_t>(ids_max));
    while (row.step()) ids.push_back(row.text(0));
    return ids;
  }

  [[nodiscard]] std::int64_t first() const {
    return cursor_.phase == Phase::open ? static_cast<std::int64_t>(ids_max) : page_size_;
  }

  [[nodiscard]] RemoteRequest request() const {
    RemoteRequest request;
    request.method = Method::post;
    request.url = settings_.url;
    if (!settings_.api_key.empty()) request.headers.push_back({"x-api-key", settings_.api_key});
    Json variables = {{"space", settings_.scope}};
    std::string query;
    const auto list = [&](const char* name, const char* order, const char* fields) {
      variables["from"] = cursor_.from_s;
      variables["first"] = first();
      variables["skip"] = cursor_.skip;
      query = "query($space:String!,$from:Int!,$first:Int!,$skip:Int!){" + std::string(name) +
              "(first:$first,skip:$skip,orderBy:\"" + order +
              "\",orderDirection:asc,where:{space:$space," + order + "_gte:$from}){" + fields +
              "}}";
    };
    switch (cursor_.phase) {
      case Phase::space:
        query = "query($space:String!){spaces(first:1,where:{id:$space}){" +
                std::string(space_fields) + "}}";
        break;
      case Phase::updated:
        list("proposals", "updated", proposal_fields);
        break;
      case Phase::open:
        variables["ids"] = open_ids_;
        variables["first"] = first();
        query =
            "query($space:String!,$ids:[String]!,$first:Int!){proposals(first:$first,"
            "where:{space:$space,id_in:$ids}){" +
            std::string(proposal_fields) + "}}";
        break;
      case Phase::votes:
        list("votes", "created", vote_fields);
        break;
      default:
        list("proposals", "created", proposal_fields);
    }
    request.body = Json{{"query", query}, {"variables", variables}}.dump();
    return request;
  }

  // Asks again with fewer records after a page that is too large.
  Step smaller_page() {
    if (cursor_.phase == Phase::open || cursor_.phase == Phase::space || page_size_ == 1) {
      return failed_step("the source's answer is larger than allowed");
    }
    page_size_ = std::max<std::int64_t>(1, page_size_ / 2);
    return {};
  }

  [[nodiscard]] std::string_view list_name() const {
    return cursor_.phase == Phase::votes   ? "votes"
           : cursor_.phase == Phase::space ? "spaces"
                                           : "proposals";
  }

  // The list in the answer; null if the answer is an error or does not match the request.
  const JsonValue* list_of(const JsonValue& document) const {
    const JsonValue* errors = document.get("errors");
    const JsonValue* data = document.get("data");
    if (errors != nullptr || data == nullptr || data->fields.size() != 1) return nullptr;
    const JsonValue* list = data->get(list_name());
    return list != nullptr && list->is(JsonValue::Kind::array) ? list : nullptr;
  }

  [[nodiscard]] bool is_of_space(const JsonValue& record) const {
    if (cursor_.phase == Phase::space) return record.scalar("id") == settings_.scope;
    const JsonValue* space = record.get("space");
    return space != nullptr && space->scalar("id") == settings_.scope;
  }

  Step take(StepContext& context, const std::string& body) {
    const auto document = object_of(body);
    if (!document) return failed_step("the hub's answer is no JSON object");
    const JsonValue* list = list_of(*document);
    if (list == nullptr) return failed_step("the hub's answer is an error or holds no list");
    const auto count = static_cast<std::int64_t>(list->items.size());
    if (count > first()) return failed_step("the hub sent more records than were asked for");
    for (const JsonValue& record : list->items) {
      if (!is_of_space(record)) return failed_step("the hub sent a record of another space");
    }
    const Page page = page_of(body, count);
    if (cursor_.phase == Phase::space) {
      if (count == 0) return failed_step("the hub knows no such space");
      cursor_.space_ms = context.now_ms;
      next_phase();
    } else if (cursor_.phase == Phase::open) {
      cursor_.after = open_ids_.back();
      if (open_ids_.size() < ids_max) next_phase();
    } else if (auto bad = go_on(*list, count)) {
      return *bad;
    }
    return commit(context, page.label, page.read);
  }

  [[nodiscard]] Page page_of(const std::string& body, std::int64_t count) const {
    Page page;
    page.label = std::string(list_name()) + " from " + std::to_string(cursor_.from_s);
    if (count > 0) {
      page.read = [&body](Run& run) {
        Input input(open_memory(body));
        import_snapshot(run, input);
      };
    }
    return page;
  }

  // Moves the cursor past a page of a list that is ordered by time.
  std::optional<Step> go_on(const JsonValue& list, std::int64_t count) {
    const std::string_view order = cursor_.phase == Phase::updated ? "updated" : "created";
    std::int64_t last_s = cursor_.from_s;
    for (const JsonValue& record : list.items) {
      const auto at_s = second_of(record, order);
      if (!at_s || *at_s < last_s) return failed_step("the hub's list is not in the order of time");
      last_s = *at_s;
    }
    // A time in the future would hide all records before it, so it is limited to now.
    const std::int64_t now_s = cursor_.began_ms / 1000;
    if (count > 0) mark() = std::max(mark(), std::min(last_s, now_s));
    if (count < first()) {
      next_phase();
    } else if (last_s > cursor_.from_s) {
      cursor_.from_s = last_s;
      cursor_.skip = 0;
    } else {
      cursor_.skip += count;
      if (cursor_.skip > skip_max) {
        return failed_step("more records share one second than the hub lets us page through");
      }
    }
    return std::nullopt;
  }

  Step commit(StepContext& context, const std::string& label,
              const std::function<void(Run&)>& read) {
    Page page;
    page.label = label;
    page.before = before_;
    page.after = cursor_.text();
    page.read = read;
    const bool is_over = cursor_.phase == Phase::idle;
    if (is_over) page.complete_to_ms = cursor_.began_ms;
    return commit_page(context, settings_, page, is_over ? StepKind::done : StepKind::more);
  }

  const SourceSettings settings_;
  std::int64_t page_size_;
  // State of the current step.
  std::string before_;
  HubCursor cursor_;
  std::vector<std::string> open_ids_;
};

}  // namespace

std::unique_ptr<Source> make_snapshot_source(const SourceSettings& settings) {
  return std::make_unique<SnapshotSource>(settings);
}

}  // namespace turnpike::govdata
