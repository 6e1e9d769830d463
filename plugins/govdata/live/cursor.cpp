#include "govdata/live/cursor.h"

namespace turnpike::govdata {

nlohmann::json cursor_object(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const bool is_ours = json.is_object() && json.contains("v") && json["v"] == cursor_version;
  return is_ours ? json : nlohmann::json();
}

}  // namespace turnpike::govdata
