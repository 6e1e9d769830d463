// The JSON shapes that several routes share: references, summaries, times, lists that stop before a
// reply grows too large. Reads choices where a summary needs them. One Thread per Database.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "govdata/serve/query.h"
#include "govdata/serve/read.h"

namespace turnpike::govdata {

inline constexpr std::size_t reply_bytes_max = 2 << 20;

template <class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json iso_or_null(const MaybeTime& time_ms);
// A title as replies give it: of bounded length.
std::string shown_title(const std::string& title);

// `daoId~source~externalId` where the bare id would not find it.
Json item_ref(const ProposalRow& row);
Json item_ref(const TopicRow& row);
// Split into its parts when it is qualified.
struct ItemName {
  std::optional<std::string> dao_id, source;
  std::string external_id;
};
ItemName read_item_name(const std::string& text);
// Provider names that older clients use.
std::string provider_name(const std::string& source);

struct Presenter {
  Database& database;
  std::int64_t now_ms;
  std::string evidence_path;  // pattern with three {parameters}; empty when no route is bound

  [[nodiscard]] Json summary(const ProposalRow& row, const std::vector<Choice>& choices) const;
  [[nodiscard]] Json summary(const ProposalRow& row) const {
    return summary(row, read_choices(database, row.pk));
  }
  [[nodiscard]] Json summary(const TopicRow& row) const;
  [[nodiscard]] std::string evidence_of(const ProposalRow& row) const;
};

// Power that counts towards the quorum, where the source's rule is known.
std::optional<std::string> counted_power(const ProposalRow& row,
                                         const std::vector<Choice>& choices);
std::optional<bool> quorum_reached(const ProposalRow& row, const std::vector<Choice>& choices);
Json share_json(const std::optional<std::string>& part, const std::vector<Choice>& choices);

// A JSON array that refuses items once the reply would come near its bound.
class ItemList {
 public:
  bool add(Json item);
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool full() const { return full_; }
  Json take() { return std::move(items_); }

 private:
  Json items_ = Json::array();
  std::size_t bytes_ = 0;    // no fewer than the items take
  bool is_exact_ = false;    // bytes_ was counted, not estimated
  bool full_ = false;
};

std::string dump(const Json& value);

}  // namespace turnpike::govdata
