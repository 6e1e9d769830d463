#include "substrate/verify/json.h"

#include <utility>
#include <vector>

namespace turnpike::substrate {
namespace {

class BoundedSax final : public nlohmann::json_sax<Json> {
 public:
  explicit BoundedSax(const JsonBounds& bounds) : bounds_(bounds) {}
  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const auto [place, is_new] =
        open_.back()->get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    member_ = &place->second;
    return is_new;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  Json* add(Json value) {
    if (++values_ > bounds_.values_max) return nullptr;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    *member_ = std::move(value);
    return member_;
  }
  bool open(Json value) {
    Json* const added = open_.size() < bounds_.depth_max ? add(std::move(value)) : nullptr;
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonBounds bounds_;
  Json root_;
  std::vector<Json*> open_;  // the containers that are open, from the root down
  Json* member_ = nullptr;   // the place of the innermost object's next value
  std::size_t values_ = 0;
};

}  // namespace

std::optional<Json> read_bounded_json(std::string_view text, const JsonBounds& bounds) {
  BoundedSax reader(bounds);
  if (!Json::sax_parse(text.begin(), text.end(), &reader)) return std::nullopt;
  return reader.take();
}

std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

const Json* member_of(const Json& object, std::string_view name) noexcept {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const std::string* text_member(const Json& object, std::string_view name) noexcept {
  const Json* const member = member_of(object, name);
  return member == nullptr ? nullptr : member->get_ptr<const std::string*>();
}

std::optional<std::uint64_t> natural_of(const Json& value) noexcept {
  const auto* number = value.get_ptr<const Json::number_unsigned_t*>();
  return number == nullptr ? std::nullopt : std::optional<std::uint64_t>(*number);
}

}  // namespace turnpike::substrate
