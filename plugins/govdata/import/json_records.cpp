#include "govdata/import/json_records.h"

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>

#include "govdata/store/text.h"

namespace turnpike::govdata {
namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t depth_max = 64;
constexpr std::size_t values_max = 1'000'000;

void append_json(std::string& out, const JsonValue& value) {
  switch (value.kind) {
    case Kind::null:
      out += "null";
      return;
    case Kind::boolean:
      out += value.truth ? "true" : "false";
      return;
    case Kind::number:
      out += value.text;
      return;
    case Kind::string:
      out += nlohmann::json(value.text).dump();
      return;
    case Kind::array:
      out += '[';
      for (std::size_t at = 0; at < value.items.size(); ++at) {
        if (at > 0) out += ',';
        append_json(out, value.items[at]);
      }
      out += ']';
      return;
    case Kind::object:
      out += '{';
      for (std::size_t at = 0; at < value.fields.size(); ++at) {
        if (at > 0) out += ',';
        out += nlohmann::json(value.fields[at].name).dump() + ":";
        append_json(out, value.fields[at].value);
      }
      out += '}';
      return;
  }
}

// A value under construction. Only the innermost open container grows, so the pointers to the open
// containers stay valid.
class Tree {
 public:
  void key(std::string name) { key_ = std::move(name); }
  void begin(Kind kind) {
    JsonValue* place = add(kind);
    open_.push_back(place);
  }
  void end() { open_.pop_back(); }
  JsonValue* add(Kind kind) {
    if (++values_ > values_max) throw ImportError("a record has more than a million values");
    JsonValue* place = &root_;
    if (!open_.empty() && open_.back()->kind == Kind::array) {
      place = &open_.back()->items.emplace_back();
    } else if (!open_.empty()) {
      open_.back()->fields.push_back({std::move(key_), JsonValue{}});
      place = &open_.back()->fields.back().value;
    }
    place->kind = kind;
    return place;
  }
  JsonValue take() {
    JsonValue value = std::move(root_);
    *this = Tree();
    return value;
  }

 private:
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
  std::size_t values_ = 0;
};

class RecordSax final : public nlohmann::json_sax<nlohmann::json> {
 public:
  RecordSax(const JsonShape& shape, const std::function<void(std::string_view, JsonValue&&)>& emit,
            const std::function<void()>& record_begins)
      : shape_(shape), emit_(emit), record_begins_(record_begins) {}

  bool null() override { return scalar(Kind::null, {}, false); }
  bool boolean(bool value) override { return scalar(Kind::boolean, {}, value); }
  bool number_integer(number_integer_t value) override {
    return scalar(Kind::number, std::to_string(value), false);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(Kind::number, std::to_string(value), false);
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return scalar(Kind::number, digits, false);
  }
  bool string(string_t& value) override { return scalar(Kind::string, std::move(value), false); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(Kind::object); }
  bool start_array(std::size_t) override { return begin(Kind::array); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    if (record_depth_ == 0 && depth_ < path_.size()) path_[depth_] = name;
    current().key(std::move(name));
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    // The text is "[json.exception...] parse error at line 1, column 1: ", then the reason.
    const std::string_view text = problem.what();
    const std::size_t colon = text.find(": ");
    problem_ = "no JSON at byte " + std::to_string(position) + ": ";
    problem_ += colon == text.npos ? text : text.substr(colon + 2);
    return false;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  Tree& current() { return record_depth_ > 0 ? record_ : document_; }

  [[nodiscard]] bool names_list(bool single) const {
    if (shape_.keyed) return false;
    const bool below_data = (depth_ == 3 || (depth_ == 4 && !single)) && path_[1] == "data";
    if (!below_data && (depth_ != 2 || single)) return false;
    const std::string& name = path_[depth_ - 1];
    return std::any_of(shape_.lists.begin(), shape_.lists.end(), [&](std::string_view list) {
      return name == (single ? list.substr(0, list.size() - 1) : list);
    });
  }

  // Whether the value is a record in an object that is keyed by the records' ids.
  [[nodiscard]] bool is_member() const { return shape_.keyed && depth_ == 2 && list_depth_ == 0; }

  bool begin(Kind kind) {
    if (++depth_ > depth_max) throw ImportError("JSON nested deeper than 64");
    const bool in_list = list_depth_ > 0 && depth_ == list_depth_ + 1;
    if (record_depth_ > 0) {
      record_.begin(kind);
    } else if (in_list || is_member() || (kind == Kind::object && names_list(true))) {
      if (!in_list) list_ = path_[depth_ - 1] + (shape_.keyed ? "" : "s");
      record_depth_ = depth_;
      record_begins_();
      record_.begin(kind);
    } else if (kind == Kind::array && (depth_ == 1 || names_list(false))) {
      list_depth_ = depth_;
      list_ = depth_ == 1 ? "" : path_[depth_ - 1];
      if (depth_ == 1) document_.begin(kind);
    } else {
      document_.begin(kind);
      return true;
    }
    found_list_ = true;
    return true;
  }

  bool end() {
    if (record_depth_ > 0) {
      record_.end();
      if (record_depth_ == depth_) finish_record();
    } else if (list_depth_ == depth_ && depth_ > 1) {
      list_depth_ = 0;
    } else {
      document_.end();
      if (depth_ == 1) finish_document();
    }
    --depth_;
    return true;
  }

  void finish_record() {
    record_depth_ = 0;
    emit_(list_, record_.take());
  }

  // An object without any list is itself a record.
  void finish_document() {
    JsonValue value = document_.take();
    if (!found_list_) emit_({}, std::move(value));
    found_list_ = false;
    list_depth_ = 0;
  }

  bool scalar(Kind kind, std::string text, bool truth) {
    JsonValue value{kind, truth, std::move(text), {}, {}};
    const bool stands_alone =
        depth_ == 0 || (record_depth_ == 0 && list_depth_ > 0 && depth_ == list_depth_);
    if (stands_alone) {
      emit_(list_, std::move(value));
    } else {
      *current().add(kind) = std::move(value);
    }
    return true;
  }

  const JsonShape& shape_;
  const std::function<void(std::string_view, JsonValue&&)>& emit_;
  const std::function<void()>& record_begins_;
  Tree document_, record_;
  std::array<std::string, 4> path_;
  std::string list_;
  std::size_t depth_ = 0;
  std::size_t list_depth_ = 0;    // depth of the open list, 0: none
  std::size_t record_depth_ = 0;  // depth of the open record, 0: none
  bool found_list_ = false;
  std::string problem_;
};

std::string_view line_at(std::string_view text, std::size_t number) {
  for (; number > 0; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return trimmed(text.substr(0, text.find('\n')));
}

bool is_json_object(std::string_view line) {
  return !line.empty() && line[0] == '{' && line.find('\0') == line.npos &&
         nlohmann::json::accept(line.begin(), line.end());
}

bool is_ndjson(std::string_view text) {
  const std::string_view second = line_at(text, 1);
  if (second.empty() || second[0] != '{') return false;
  return is_json_object(line_at(text, 0)) ||
         (is_json_object(second) && is_json_object(line_at(text, 2)));
}

void read_lines(Input& input, const JsonShape& shape,
                const std::function<void(JsonRecord&&)>& on_record,
                const std::function<void(std::string, std::string)>& on_bad) {
  std::string line;
  for (std::uint64_t number = 1; input.line(line); ++number) {
    if (trimmed(line).empty()) continue;
    // The library takes a NUL byte as the end of its input. Replace it by another control byte,
    // which the library refuses.
    std::replace(line.begin(), line.end(), '\0', '\x01');
    const std::string position = "line " + std::to_string(number);
    std::vector<JsonRecord> records;
    const std::function<void(std::string_view, JsonValue &&)> emit = [&](std::string_view,
                                                                         JsonValue&& value) {
      records.push_back({{}, position, std::move(value)});
    };
    const std::function<void()> ignore = [] {};
    const JsonShape line_shape{shape.lists, false};  // a line is a record itself
    RecordSax sax(line_shape, emit, ignore);
    bool whole = false;
    std::string problem;
    try {
      whole = nlohmann::json::sax_parse(line, &sax);
      problem = sax.problem();
    } catch (const ImportError& error) {
      problem = error.what();
    }
    if (!whole) {
      on_bad(position, problem);
      continue;
    }
    for (JsonRecord& record : records) on_record(std::move(record));
  }
}

void read_document(Input& input, const JsonShape& shape,
                   const std::function<void(JsonRecord&&)>& on_record) {
  std::map<std::string, std::uint64_t, std::less<>> counts;
  const std::function<void()> begins = [&] { input.begin_record(); };
  const std::function<void(std::string_view, JsonValue &&)> emit = [&](std::string_view list,
                                                                       JsonValue&& value) {
    if (shape.keyed && !list.empty()) {
      on_record({list, "[\"" + std::string(cut_utf8(list, 80)) + "\"]", std::move(value)});
    } else {
      const std::uint64_t index = counts[std::string(list)]++;
      on_record({list, std::string(list) + "[" + std::to_string(index) + "]", std::move(value)});
    }
    input.begin_record();
  };
  std::istream stream(&input);
  stream.exceptions(std::ios::badbit);  // passes on exceptions of the streambuf
  while (true) {
    int next = input.sgetc();
    while (next == ' ' || next == '\t' || next == '\r' || next == '\n') next = input.snextc();
    if (next == std::char_traits<char>::eof()) return;
    const std::uint64_t start = input.position();
    RecordSax sax(shape, emit, begins);
    if (!nlohmann::json::sax_parse(stream, &sax, nlohmann::json::input_format_t::json, false)) {
      throw ImportError(sax.problem() +
                        (start > 0 ? " (counted from byte " + std::to_string(start) + ")" : ""));
    }
    stream.clear();
  }
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const auto& [field, value] : fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

const JsonValue* JsonValue::get(std::string_view name) const {
  const JsonValue* value = find(name);
  return value != nullptr && value->kind != Kind::null ? value : nullptr;
}

std::string_view JsonValue::scalar(std::string_view name) const {
  const JsonValue* value = find(name);
  return value != nullptr && (value->is(Kind::string) || value->is(Kind::number))
             ? std::string_view(value->text)
             : std::string_view{};
}

std::string JsonValue::dump() const {
  std::string json;
  append_json(json, *this);
  return json;
}

void read_json_records(Input& input, const JsonShape& shape,
                       const std::function<void(JsonRecord&&)>& on_record,
                       const std::function<void(std::string, std::string)>& on_bad) {
  if (is_ndjson(input.look_ahead())) {
    read_lines(input, shape, on_record, on_bad);
  } else {
    read_document(input, shape, on_record);
  }
}

}  // namespace turnpike::govdata
