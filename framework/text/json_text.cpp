#include "text/json_text.h"

namespace turnpike::text {

bool read_json(std::string_view text, nlohmann::json_sax<nlohmann::json>& reader) {
  const std::size_t nul = text.find('\0');
  if (nul == text.npos) return nlohmann::json::sax_parse(text, &reader);
  // A NUL is an error wherever another control byte is; the library reports the latter.
  return nlohmann::json::sax_parse(std::string(text.substr(0, nul)) + '\x01', &reader);
}

nlohmann::json parse_json(std::string_view text) {
  if (text.find('\0') != text.npos) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(text, nullptr, false);
}

std::optional<std::string> text_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

}  // namespace turnpike::text
