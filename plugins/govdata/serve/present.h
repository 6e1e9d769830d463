// The JSON that several routes share: references, summaries, times, and lists that stop before a
// reply grows too large. A summary may read the proposal's choices. One Thread per Database.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "govdata/serve/query.h"
#include "govdata/serve/read.h"

namespace turnpike::govdata {

inline constexpr std::size_t reply_bytes_max = 2 << 20;

// One member of object_of().
struct Member {
  std::string_view key;
  mutable Json value;  // moved into the object
};
// The object with these members, in this order; keys must differ. Json's own list form makes a list
// of two of each member, and compares each key with those before it: feeds took 1.4 times as long.
Json object_of(std::initializer_list<Member> members);

template <class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json iso_or_null(const MaybeTime& time_ms);
// The title for replies, of limited length.
std::string shown_title(const std::string& title);

// A reference to the item. Its id is qualified as `daoId~source~externalId` if the bare id is not
// unique.
Json item_ref(const ProposalRow& row);
Json item_ref(const TopicRow& row);
// An id, split into its parts if it is qualified.
struct ItemName {
  std::optional<std::string> dao_id, source;
  std::string external_id;
};
ItemName read_item_name(const std::string& text);
// The provider's current name, also for the names that older clients use.
std::string provider_name(const std::string& source);

struct Presenter {
  Database& database;
  std::int64_t now_ms;
  std::string evidence_path;  // pattern with three {parameters}; empty if no route is bound

  [[nodiscard]] Json summary(const ProposalRow& row, const std::vector<Choice>& choices) const;
  [[nodiscard]] Json summary(const ProposalRow& row) const {
    return summary(row, read_choices(database, row.pk));
  }
  [[nodiscard]] Json summary(const TopicRow& row) const;
  [[nodiscard]] std::string evidence_of(const ProposalRow& row) const;
};

// The power that counts towards the quorum; empty if it is not known.
std::optional<std::string> counted_power(const ProposalRow& row,
                                         const std::vector<Choice>& choices);
std::optional<bool> quorum_reached(const ProposalRow& row, const std::vector<Choice>& choices);
Json share_json(const std::optional<std::string>& part, const std::vector<Choice>& choices);

// A JSON array that refuses further items when the reply would come close to reply_bytes_max.
class ItemList {
 public:
  bool add(Json item);
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool full() const { return full_; }
  Json take() { return std::move(items_); }

 private:
  Json items_ = Json::array();
  std::size_t bytes_ = 0;    // at least the length of the items
  bool is_exact_ = false;    // bytes_ is counted instead of estimated
  bool full_ = false;
};

std::string dump(const Json& value);

}  // namespace turnpike::govdata
