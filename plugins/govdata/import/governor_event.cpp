#include "govdata/import/governor_event.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "govdata/import/abi.h"
#include "govdata/import/csv.h"
#include "govdata/import/run.h"
#include "govdata/store/decimal.h"
#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

using Kind = JsonValue::Kind;
using EventKind = GovernorEventKind;

enum class Layout { standard, standard_typed, module, module_typed, other };

struct Topic {
  GovernorSignature name;
  EventKind kind;
  Layout layout;
};

constexpr std::array<Topic, 10> topics = {{
    {{"ProposalCreated(uint256,address,address[],uint256[],string[],"
      "bytes[],uint256,uint256,string)",
      "7d84a6263ae0d98d3329bd7b46bb4e8d6f98cd35a7adb45c274c8b7fd5ebd5e0"},
     EventKind::created, Layout::standard},
    {{"ProposalCreated(uint256,address,address,bytes,uint256,uint256,string)",
      "e1a17f4770769f9d77ef56dd3b92500df161f3a1704ab99aec8ccf8653cae400"},
     EventKind::created, Layout::module},
    {{"ProposalCreated(uint256,address,address,bytes,uint256,uint256,string,uint8)",
      "505ee268ba7fa7dab901965f6c2eae1ca9a1199856dd0d4147302feb4000d82f"},
     EventKind::created, Layout::module_typed},
    {{"ProposalCreated(uint256,address,address[],uint256[],string[],"
      "bytes[],uint256,uint256,string,uint8)",
      "c8df7ff219f3c0358e14500814d8b62b443a4bebf3a596baa60b9295b1cf1bde"},
     EventKind::created, Layout::standard_typed},
    {{"VoteCast(address,uint256,uint8,uint256,string)",
      "b8e138887d0aa13bab447e82de9d5c1777041ecd21ca36ba824ff1e6c07ddda4"},
     EventKind::vote, Layout::standard},
    {{"VoteCastWithParams(address,uint256,uint8,uint256,string,bytes)",
      "e2babfbac5889a709b63bb7f598b324e08bc5a4fb9ec647fb3cbc9ec07eb8712"},
     EventKind::vote, Layout::standard},
    {{"ProposalQueued(uint256,uint256)",
      "9a2e42fd6722813d69113e7d0079d3d940171428df7373df9c7f7617cfda2892"},
     EventKind::queued, Layout::other},
    {{"ProposalExecuted(uint256)",
      "712ae1383f79ac853f8d882153778e0260ef8f03b504e2866e0593e04d2b291f"},
     EventKind::executed, Layout::other},
    {{"ProposalCanceled(uint256)",
      "789cf55be980739dad1d0699b93b58e806b51c9d96619bfa8fe0a28abaa7b30c"},
     EventKind::canceled, Layout::other},
    {{"ProposalExtended(uint256,uint64)",
      "541f725fb9f7c98a30cc9c0ff32fbb14358cd7159c847a3aa20a2bdc442ba511"},
     EventKind::extended, Layout::other},
}};

struct Named {
  std::string_view name;
  EventKind kind;
};
constexpr std::array<Named, 7> event_names = {{
    {"ProposalCreated", EventKind::created},
    {"VoteCastWithParams", EventKind::vote},
    {"VoteCast", EventKind::vote},
    {"ProposalQueued", EventKind::queued},
    {"ProposalExecuted", EventKind::executed},
    {"ProposalCanceled", EventKind::canceled},
    {"ProposalExtended", EventKind::extended},
}};

std::optional<EventKind> kind_of(std::string_view name) {
  for (const Named& named : event_names) {
    if (name == named.name) return named.kind;
  }
  return std::nullopt;
}

// The decimal text of a number, which a log may contain as a number, a decimal string or a hex
// string.
std::optional<std::string> integer_text(const JsonValue& value) {
  const std::string_view text = trimmed(value.text);
  if (auto decimal = decimal_of_hex(text)) return decimal;
  if (text.empty() || text.size() > 78) return std::nullopt;
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? canonical_decimal(text) : std::nullopt;
}

std::int64_t small_integer(const JsonValue& value, std::string_view name) {
  const auto text = integer_text(value);
  std::int64_t number = 0;
  const auto [end, problem] =
      text ? std::from_chars(text->data(), text->data() + text->size(), number)
           : std::from_chars_result{nullptr, std::errc::invalid_argument};
  if (problem != std::errc{} || end != text->data() + text->size()) {
    throw BadRecord(std::string(name) + " is no block, time or index");
  }
  return number;
}

// Fields by normal name (normal_name). Each lookup takes the alternative names that tools use.
class Fields {
 public:
  explicit Fields(const JsonValue& object) {
    for (const auto& [name, value] : object.fields) named_.emplace_back(normal_name(name), &value);
  }
  [[nodiscard]] const JsonValue* get(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      for (const auto& [known, value] : named_) {
        const bool empty =
            value->is(Kind::null) || (value->is(Kind::string) && value->text.empty());
        if (known == name && !empty) return value;
      }
    }
    return nullptr;
  }
  [[nodiscard]] MaybeText text(std::initializer_list<std::string_view> names) const {
    const JsonValue* value = get(names);
    return value != nullptr ? MaybeText(value->text) : std::nullopt;
  }
  [[nodiscard]] MaybeInteger small(std::initializer_list<std::string_view> names) const {
    const JsonValue* value = get(names);
    if (value == nullptr) return std::nullopt;
    return small_integer(*value, *names.begin());
  }
  [[nodiscard]] std::string number(std::initializer_list<std::string_view> names) const {
    const JsonValue* value = get(names);
    const auto text = value != nullptr ? integer_text(*value) : std::nullopt;
    if (!text) throw BadRecord(std::string(*names.begin()) + " is missing or no number");
    return *text;
  }
  [[nodiscard]] std::vector<std::string> list(std::initializer_list<std::string_view> names) const {
    const JsonValue* value = get(names);
    std::vector<std::string> items;
    if (value == nullptr) return items;
    if (value->is(Kind::string)) {
      if (!read_list_cell(value->text, items)) {
        throw BadRecord(std::string(*names.begin()) + " is no list");
      }
      return items;
    }
    for (const JsonValue& item : value->items) items.push_back(item.text);
    return items;
  }

 private:
  std::vector<std::pair<std::string, const JsonValue*>> named_;
};

void check_description(const MaybeText& description) {
  if (!description) return;
  if (description->size() > body_bytes_max) throw BadRecord("the description is over 1 MiB");
  if (!is_utf8(*description)) throw BadRecord("the description is not UTF-8");
}

std::vector<Action> actions_of(const std::vector<std::string>& targets,
                               const std::vector<std::string>& values,
                               const std::vector<std::string>& signatures,
                               const std::vector<std::string>& calldatas) {
  std::vector<Action> actions;
  for (std::size_t at = 0; at < targets.size(); ++at) {
    Action action;
    action.target = lower_ascii(targets[at]);
    if (at < values.size() && !values[at].empty()) action.value = canonical_decimal(values[at]);
    if (at < signatures.size() && !signatures[at].empty()) {
      if (!is_utf8(signatures[at])) throw BadRecord("a signature is not UTF-8");
      action.signature = signatures[at];
    }
    if (at < calldatas.size() && !calldatas[at].empty()) {
      const auto bytes = bytes_of_hex(calldatas[at]);
      if (!bytes) throw BadRecord("a calldata is no hex");
      action.calldata = hex_of_bytes(*bytes);
    }
    actions.push_back(std::move(action));
  }
  return actions;
}

// Reads the log's place: block, index, time, transaction and contract.
void read_place(GovernorEvent& event, const Fields& fields) {
  event.block = fields.small({"blocknumber", "block"});
  event.log_index = fields.small({"logindex"});
  event.time_s = fields.small({"timestamp", "blocktimestamp"});
  event.tx_hash = fields.text({"transactionhash", "txhash"});
  if (auto address = fields.text({"address", "contract"})) event.address = lower_ascii(*address);
}

void read_arguments(GovernorEvent& event, const Fields& fields) {
  event.proposal_id = fields.number({"proposalid", "id"});
  if (event.kind == EventKind::vote) {
    const auto voter = fields.text({"voter"});
    if (!voter) throw BadRecord("voter is missing");
    event.voter = lower_ascii(*voter);
    event.support = fields.number({"support"});
    event.weight = fields.number({"weight", "votes"});
    event.reason = fields.text({"reason"});
    check_description(event.reason);
  } else if (event.kind == EventKind::extended) {
    event.end = fields.small({"extendeddeadline"});
    if (!event.end) throw BadRecord("extendedDeadline is missing");
  } else if (event.kind == EventKind::created) {
    if (auto proposer = fields.text({"proposer"})) event.proposer = lower_ascii(*proposer);
    event.description = fields.text({"description"});
    check_description(event.description);
    event.start = fields.small({"startblock", "votestart"});
    event.end = fields.small({"endblock", "voteend"});
    event.proposal_type = fields.text({"proposaltype"});
    event.voting_module = fields.text({"votingmodule", "module"});
    event.actions = actions_of(fields.list({"targets"}), fields.list({"values"}),
                               fields.list({"signatures"}), fields.list({"calldatas"}));
  }
}

void read_created(GovernorEvent& event, AbiReader& data, Layout layout) {
  const bool is_module = layout == Layout::module || layout == Layout::module_typed;
  const std::size_t tail = is_module ? 4 : 6;
  event.proposal_id = data.number(0);
  event.proposer = data.address(1);
  if (is_module) {
    event.voting_module = data.address(2);
  } else {
    event.actions = actions_of(data.addresses(2), data.numbers(3), data.byte_lists(4), {});
    const auto calldatas = data.byte_lists(5);
    for (std::size_t at = 0; at < event.actions.size() && at < calldatas.size(); ++at) {
      if (!calldatas[at].empty()) event.actions[at].calldata = hex_of_bytes(calldatas[at]);
    }
  }
  event.start = data.small_number(tail);
  event.end = data.small_number(tail + 1);
  event.description = data.bytes(tail + 2);
  if (event.description->empty()) event.description.reset();
  check_description(event.description);
  if (layout == Layout::standard_typed || layout == Layout::module_typed) {
    event.proposal_type = std::to_string(data.small_number(tail + 3));
  }
}

std::string topic_word(const JsonValue& log, std::size_t index) {
  const JsonValue* list = log.get("topics");
  if (list == nullptr || index >= list->items.size()) throw BadRecord("a topic is missing");
  auto bytes = bytes_of_hex(list->items[index].text);
  if (!bytes || bytes->size() != 32) throw BadRecord("a topic is no 32 bytes of hex");
  return *std::move(bytes);
}

std::optional<GovernorEvent> decode_raw(const JsonValue& log) {
  const std::string hash = hex_of_bytes(topic_word(log, 0)).substr(2);
  const auto* known = std::find_if(topics.begin(), topics.end(),
                                   [&](const Topic& topic) { return topic.name.hash == hash; });
  if (known == topics.end()) return std::nullopt;
  const auto bytes = bytes_of_hex(log.scalar("data"));
  if (!bytes) throw BadRecord("data is no hex");
  AbiReader data(*bytes);
  GovernorEvent event;
  event.kind = known->kind;
  if (event.kind == EventKind::created) {
    read_created(event, data, known->layout);
  } else if (event.kind == EventKind::vote) {
    event.voter = AbiReader(topic_word(log, 1)).address(0);
    event.proposal_id = data.number(0);
    event.support = std::to_string(data.small_number(1));
    event.weight = data.number(2);
    event.reason = data.bytes(3);
    if (event.reason->empty()) event.reason.reset();
    check_description(event.reason);
  } else if (event.kind == EventKind::extended) {
    event.proposal_id = AbiReader(topic_word(log, 1)).number(0);
    event.end = data.small_number(0);
  } else {
    event.proposal_id = data.number(0);
  }
  return event;
}

}  // namespace

std::vector<GovernorSignature> governor_events() {
  std::vector<GovernorSignature> events;
  for (const Topic& topic : topics) events.push_back(topic.name);
  return events;
}

std::string normal_name(std::string_view name) {
  std::string normal = lower_ascii(trimmed(name));
  normal.erase(std::remove(normal.begin(), normal.end(), '_'), normal.end());
  return normal;
}

std::optional<GovernorEvent> decode_log(const JsonValue& log) {
  if (!log.is(Kind::object)) throw BadRecord("the record is no object");
  const Fields place(log);
  const JsonValue* name = place.get({"eventname", "event"});
  std::optional<GovernorEvent> event;
  if (name != nullptr) {
    const auto kind = kind_of(name->text);
    if (!kind) return std::nullopt;
    const JsonValue* arguments = place.get({"args", "returnvalues"});
    if (arguments == nullptr || !arguments->is(Kind::object)) throw BadRecord("args is no object");
    event.emplace();
    event->kind = *kind;
    read_arguments(*event, Fields(*arguments));
  } else {
    try {
      event = decode_raw(log);
    } catch (const AbiError& error) {
      throw BadRecord(error.what());
    }
  }
  if (event) read_place(*event, place);
  return event;
}

GovernorEvent decode_row(const std::vector<std::string>& columns, std::vector<std::string>& row,
                         std::string_view event_name) {
  if (row.size() != columns.size()) {
    throw BadRecord(std::to_string(row.size()) + " fields where the header has " +
                    std::to_string(columns.size()));
  }
  JsonValue object;
  object.kind = Kind::object;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    if (!is_utf8(row[at])) throw BadRecord(columns[at] + " is not UTF-8");
    object.fields.push_back({columns[at], {Kind::string, false, std::move(row[at]), {}, {}}});
  }
  const Fields fields(object);
  const auto has = [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  GovernorEvent event;
  if (const auto named = kind_of(event_name)) {
    event.kind = *named;
  } else if (has("voter") && has("support")) {
    event.kind = EventKind::vote;
  } else if (has("description")) {
    event.kind = EventKind::created;
  } else if (has("eta") || has("etaseconds")) {
    event.kind = EventKind::queued;
  } else if (has("extendeddeadline")) {
    event.kind = EventKind::extended;
  } else {
    throw BadRecord("the columns do not tell the event; give --event");
  }
  read_arguments(event, fields);
  read_place(event, fields);
  return event;
}

}  // namespace turnpike::govdata
