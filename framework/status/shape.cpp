#include "status/shape.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "status/judge.h"
#include "text/canonical_json.h"
#include "text/json_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;
using registry::JsonKind;

constexpr std::uint8_t bit_of(JsonKind kind) noexcept {
  return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
}
constexpr std::uint8_t null_bit = bit_of(JsonKind::null);
constexpr std::uint8_t object_bit = bit_of(JsonKind::object);

// The first of `kinds`. REQUIRES: `kinds` is not 0.
std::string_view kind_name(std::uint8_t kinds) noexcept {
  return name_of(static_cast<JsonKind>(std::countr_zero(kinds)));
}

// True for a name that a developer gave to a member, false for data such as an address, a date or
// an id. Only words reach public texts.
bool is_word(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (name.empty() || name.size() > Shape::name_bytes_max) return false;
  if (!is_letter(name.front()) && name.front() != '_') return false;
  std::size_t digits = 0;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    digits += is_digit ? 1 : 0;
    if (!is_letter(c) && !is_digit && c != '_' && c != '-') return false;
  }
  return digits <= Shape::name_digits_max;
}

bool is_element(std::string_view pointer) noexcept { return pointer.ends_with("/*"); }

std::string_view parent_of(std::string_view pointer) noexcept {
  return pointer.substr(0, pointer.rfind('/'));
}

}  // namespace

// The shape of one reply. For values at one pointer, such as the elements of a list, it records the
// kinds seen, and in how many of the enclosing objects they were present.
class Shape::Seen final : public nlohmann::json_sax<json> {
 public:
  struct Value {
    std::uint8_t kinds = 0;
    std::uint32_t places = 0;   // objects that contain the member
    std::uint32_t objects = 0;  // how many of the values are objects
    std::uint32_t last_object = 0;
  };

  explicit Seen(std::string_view body) { is_sound_ = text::read_json(body, *this); }

  [[nodiscard]] bool is_sound() const noexcept { return is_sound_; }
  // Some pointers were dropped, so a missing pointer may have been present.
  [[nodiscard]] bool is_partial() const noexcept { return is_partial_; }
  [[nodiscard]] const std::map<std::string, Value, std::less<>>& values() const noexcept {
    return values_;
  }
  [[nodiscard]] const Value* find(std::string_view pointer) const noexcept {
    const auto found = values_.find(pointer);
    return found == values_.end() ? nullptr : &found->second;
  }
  // True if the pointer lies in an object with too many members.
  [[nodiscard]] bool is_hidden(std::string_view pointer) const noexcept {
    return std::any_of(crowded_.begin(), crowded_.end(), [pointer](const std::string& object) {
      return pointer.size() > object.size() && pointer.starts_with(object) &&
             pointer[object.size()] == '/';
    });
  }
  // Removes hidden pointers.
  void settle() {
    std::erase_if(values_, [this](const auto& entry) { return is_hidden(entry.first); });
  }

  bool null() override { return value(JsonKind::null); }
  bool boolean(bool) override { return value(JsonKind::boolean); }
  bool number_integer(number_integer_t) override { return value(JsonKind::number); }
  bool number_unsigned(number_unsigned_t) override { return value(JsonKind::number); }
  bool number_float(number_float_t, const string_t&) override { return value(JsonKind::number); }
  bool string(string_t&) override { return value(JsonKind::string); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(JsonKind::object); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return begin(JsonKind::array); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    if (hidden_levels_ > 0) return true;
    Level& level = levels_.back();
    pointer_.resize(level.pointer_bytes);
    if (++level.members > members_max) {
      if (std::find(crowded_.begin(), crowded_.end(), pointer_) == crowded_.end()) {
        crowded_.push_back(pointer_);
      }
      is_member_shown_ = false;
      return true;
    }
    is_member_shown_ = true;
    pointer_.append("/").append(is_word(name) ? std::string_view(name) : "*");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  struct Level {
    std::size_t pointer_bytes;  // length of the list's or object's pointer
    bool is_list;
    std::size_t members = 0;
    std::uint32_t object = 0;  // number of the object, from 1
  };

  // The entry for the next value; null: the value is ignored.
  Value* place() {
    if (hidden_levels_ > 0) return nullptr;
    if (levels_.empty()) {
      pointer_.clear();
    } else if (levels_.back().is_list) {
      pointer_.resize(levels_.back().pointer_bytes);
      pointer_.append("/*");
    } else if (!is_member_shown_) {
      return nullptr;
    }
    const auto found = values_.find(pointer_);
    if (found != values_.end()) return &found->second;
    if (values_.size() >= pointers_max) {
      is_partial_ = true;
      return nullptr;
    }
    return &values_[pointer_];
  }

  Value* note(JsonKind kind) {
    Value* const at = place();
    if (at == nullptr) return nullptr;
    at->kinds |= bit_of(kind);
    const std::uint32_t object = levels_.empty() || levels_.back().is_list ? 0  //
                                                                           : levels_.back().object;
    // A duplicate member counts once.
    if (object != 0 && at->last_object != object) {
      at->last_object = object;
      ++at->places;
    }
    return at;
  }

  bool value(JsonKind kind) {
    note(kind);
    return true;
  }

  bool begin(JsonKind kind) {
    Value* const at = note(kind);
    if (at == nullptr || levels_.size() >= depth_max) {
      ++hidden_levels_;
      return true;
    }
    const bool is_list = kind == JsonKind::array;
    if (!is_list) {
      ++at->objects;
      ++objects_;
    }
    levels_.push_back({pointer_.size(), is_list, 0, objects_});
    return true;
  }

  bool end() {
    if (hidden_levels_ > 0) {
      --hidden_levels_;
    } else {
      pointer_.resize(levels_.back().pointer_bytes);
      levels_.pop_back();
    }
    return true;
  }

  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> crowded_;
  std::vector<Level> levels_;
  std::string pointer_;
  std::size_t hidden_levels_ = 0;  // enclosing lists and objects that are ignored
  std::uint32_t objects_ = 0;
  bool is_member_shown_ = true;
  bool is_partial_ = false;
  bool is_sound_ = false;
};

std::string Shape::basis_of(const registry::Expectation& expect, std::uint32_t revision) {
  return std::to_string(revision) + " " + expect.hash;
}

bool Shape::is_learned(const Member& member, std::int64_t now_ms) noexcept {
  return member.looks >= looks_to_learn && now_ms - member.since_ms >= learning_ms &&
         std::has_single_bit(member.kinds);
}

std::size_t Shape::learned(std::int64_t now_ms) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(),
                    [now_ms](const auto& entry) { return is_learned(entry.second, now_ms); }));
}

std::string Shape::look(std::string_view body, std::int64_t now_ms) {
  Seen seen(body);
  if (!seen.is_sound()) return "the reply is no JSON";
  seen.settle();
  std::string text = difference(seen, now_ms);
  if (text.empty()) learn(seen, now_ms);
  return text;
}

std::string Shape::difference(const Seen& seen, std::int64_t now_ms) const {
  std::string first;
  std::size_t more = 0;
  for (const auto& [pointer, member] : members_) {
    if (!is_learned(member, now_ms) || seen.is_hidden(pointer)) continue;
    const Seen::Value* const value = seen.find(pointer);
    const Seen::Value* const parent = pointer.empty() ? nullptr : seen.find(parent_of(pointer));
    const bool is_member = parent != nullptr && parent->objects > 0 && !is_element(pointer);
    const std::uint32_t places = value == nullptr ? 0 : value->places;
    std::string_view is;
    if (value != nullptr && (value->kinds & ~(member.kinds | null_bit)) != 0) {
      is = kind_name(static_cast<std::uint8_t>(value->kinds & ~(member.kinds | null_bit)));
    } else if (value != nullptr && (value->kinds & null_bit) != 0 && !member.is_optional) {
      is = name_of(JsonKind::null);
    } else if (is_member && places < parent->objects && !member.is_optional &&
               !seen.is_partial()) {
      is = "missing";
    }
    if (is.empty()) continue;
    if (!first.empty()) {
      ++more;
      continue;
    }
    first = (pointer.empty() ? "the reply" : pointer) + " was " +
            std::string(kind_name(member.kinds)) + ", is " + std::string(is);
  }
  if (more > 0) first += ", and " + std::to_string(more) + " more";
  return first;
}

void Shape::learn(const Seen& seen, std::int64_t now_ms) {
  const auto before = members_;
  for (const auto& [pointer, value] : seen.values()) {
    const auto known = members_.find(pointer);
    const bool is_new = known == members_.end();
    if (is_new && members_.size() >= pointers_max) continue;
    Member& member = is_new ? members_[pointer] : known->second;
    if (is_new) {
      member.since_ms = now_ms;
      // Earlier replies had the parent object without this member.
      const auto parent = before.find(parent_of(pointer));
      member.is_optional = !pointer.empty() && parent != before.end() &&
                           (parent->second.kinds & object_bit) != 0;
    }
    const auto kinds = static_cast<std::uint8_t>(value.kinds & ~null_bit);
    if (kinds != 0 && member.looks < looks_to_learn) ++member.looks;
    member.kinds |= kinds;
    member.is_optional = member.is_optional || (value.kinds & null_bit) != 0;
  }
  for (auto& [pointer, member] : members_) {
    if (pointer.empty() || seen.is_hidden(pointer) || seen.is_partial()) continue;
    const Seen::Value* const parent = seen.find(parent_of(pointer));
    const Seen::Value* const value = seen.find(pointer);
    const std::uint32_t places = value == nullptr ? 0 : value->places;
    if (parent != nullptr && places < parent->objects) member.is_optional = true;
  }
  has_changed_ = has_changed_ || members_ != before;
}

std::string Shape::canonical() const {
  json members = json::array();
  for (const auto& [pointer, member] : members_) {
    json kinds = json::array();
    for (unsigned bit = 0; bit <= static_cast<unsigned>(JsonKind::object); ++bit) {
      const auto kind = static_cast<JsonKind>(bit);
      if ((member.kinds & bit_of(kind)) != 0) kinds.push_back(name_of(kind));
    }
    json entry = {{"kinds", std::move(kinds)},
                  {"looks", member.looks},
                  {"pointer", pointer},
                  {"since_ms", member.since_ms}};
    if (member.is_optional) entry["optional"] = true;
    members.push_back(std::move(entry));
  }
  return text::canonical_json({{"basis", basis_}, {"members", std::move(members)}}).value_or("");
}

Result<Shape, std::string> Shape::read(std::string_view text) {
  const json form = text::parse_json(text);
  const auto basis = form.is_object() ? text::text_member(form, "basis") : std::nullopt;
  if (!basis || !form.contains("members") || !form["members"].is_array()) {
    return std::string("A kept shape is no object with `basis` and `members`.");
  }
  Shape shape(*basis);
  for (const json& entry : form["members"]) {
    const auto pointer = entry.is_object() ? text::text_member(entry, "pointer") : std::nullopt;
    const auto is_count = [&](const char* name) {
      return entry.contains(name) && entry[name].is_number_integer() &&
             entry[name].get<std::int64_t>() >= 0;
    };
    if (!pointer || !is_count("looks") || !is_count("since_ms") || !entry.contains("kinds") ||
        !entry["kinds"].is_array() || shape.members_.size() >= pointers_max) {
      return std::string("A member of a kept shape lacks its pointer, kinds, looks or since_ms.");
    }
    Member member;
    member.looks = static_cast<std::uint32_t>(
        std::min<std::int64_t>(entry["looks"].get<std::int64_t>(), looks_to_learn));
    member.since_ms = entry["since_ms"].get<std::int64_t>();
    member.is_optional = entry.contains("optional") && entry["optional"] == true;
    for (const json& kind : entry["kinds"]) {
      for (unsigned bit = 1; bit <= static_cast<unsigned>(JsonKind::object); ++bit) {
        if (kind == name_of(static_cast<JsonKind>(bit))) member.kinds |= std::uint8_t(1u << bit);
      }
    }
    shape.members_.emplace(*pointer, member);
  }
  return shape;
}

}  // namespace turnpike::status
