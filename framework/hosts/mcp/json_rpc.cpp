#include "hosts/mcp/json_rpc.h"

#include <utility>
#include <vector>

#include "text/canonical_json.h"
#include "text/json_pointer.h"
#include "text/json_text.h"

namespace turnpike::hosts::mcp {
namespace {

// Builds the value and counts its parts; stops at the first part beyond the bounds.
class BoundedReader final : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] Json take() { return std::move(root_); }
  [[nodiscard]] std::string_view problem() const noexcept { return problem_; }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return fail("it is not JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const auto [member, is_new] =
        open_.back()->get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    if (!is_new) return fail("an object in it names a member twice");
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return fail("it is not JSON");
  }

 private:
  bool fail(std::string_view problem) {
    problem_ = problem;
    return false;
  }
  Json* add(Json value) {
    if (++values_ > message_values_max) {
      fail("it has too many values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    *member_ = std::move(value);
    return member_;
  }
  bool open(Json value) {
    if (open_.size() == message_depth_max) return fail("it is nested too deeply");
    Json* const added = add(std::move(value));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // from the root down; open arrays do not reallocate
  Json* member_ = nullptr;   // next value of the innermost object
  std::size_t values_ = 0;
  std::string_view problem_;
};

RpcError error(RpcCode code, std::string message) { return {code, std::move(message), 400}; }

RpcError invalid(std::string message) {
  return error(RpcCode::invalid_request, std::move(message));
}

}  // namespace

Result<Json, RpcError> read_json(std::string_view text) {
  BoundedReader reader;
  if (text::read_json(text, reader)) return reader.take();
  return error(RpcCode::parse_error,
               "The JSON cannot be read: " + std::string(reader.problem()) + ".");
}

std::string_view arguments_of(std::string_view message) noexcept {
  static const auto pointer = text::JsonPointer::parse("/params/arguments").value();
  const auto text = text::text_at(message, pointer);
  return text && text->starts_with('{') ? *text : std::string_view("{}");
}

Result<Message, RpcError> read_message(std::string_view body) {
  auto json = read_json(body);
  if (!json.ok()) return std::move(json).error();
  if (json->is_array()) return invalid("Batches are not part of MCP: send one request per POST.");
  if (!json->is_object()) return invalid("The body is not a JSON-RPC request object.");
  const std::string* const version = find_text(*json, "jsonrpc");
  if (version == nullptr || *version != "2.0") return invalid(R"("jsonrpc" must be "2.0".)");
  const std::string* const method = find_text(*json, "method");
  if (method == nullptr) {
    return invalid(json->contains("method")
                       ? R"("method" must be a string.)"
                       : "The message has no method: responses are not taken.");
  }
  Message message;
  message.text = body;
  message.method = *method;
  if (const Json* const id = find(*json, "id")) {
    if (!id->is_string() && !id->is_number_integer()) {
      return invalid(R"("id" must be a string or an integer of 64 bits.)");
    }
    message.id = text_of(*id);
  }
  message.params = Json::object();
  if (const auto params = json->find("params"); params != json->end() && !params->is_null()) {
    message.params = std::move(*params);
  }
  return message;
}

std::string error_text(std::string_view id, const RpcError& error) {
  std::string out = R"({"jsonrpc":"2.0")";
  if (!id.empty()) out.append(R"(,"id":)").append(id);
  out += R"(,"error":{"code":)";
  text::append_canonical_integer(out, static_cast<std::int32_t>(error.code));
  out += R"(,"message":)";
  out += text_of(error.message);
  if (!error.data.is_null()) out.append(R"(,"data":)").append(text_of(error.data));
  return out += "}}";
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* find(const Json& object, const char* name) noexcept {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

const std::string* find_text(const Json& object, const char* name) noexcept {
  const Json* const found = find(object, name);
  return found == nullptr ? nullptr : found->get_ptr<const std::string*>();
}

}  // namespace turnpike::hosts::mcp
