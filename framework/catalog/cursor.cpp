#include "catalog/cursor.h"

#include <nlohmann/json.hpp>

#include "crypto/digest.h"
#include "crypto/signed_text.h"
#include "text/canonical_json.h"
#include "text/json_text.h"

namespace turnpike::catalog {

namespace {

using nlohmann::json;

// Separates these signatures from other uses of the same key.
constexpr std::string_view signature_context = "turnpike capability cursor";

base::Error invalid(std::string problem) {
  base::Error error;
  error.code = base::ErrorCode::catalog_cursor_invalid;
  error.message = "The cursor is not one that this list gave out for this filter.";
  error.fields.push_back({"query.cursor", std::move(problem),
                          "Pass next_cursor unchanged, with the same provider_key, method and q, "
                          "or leave cursor out to start from the first page."});
  return error;
}

base::Error stale(std::string what) {
  base::Error error;
  error.code = base::ErrorCode::catalog_cursor_stale;
  error.message = "The catalog changed since this cursor was made: restart paging.";
  error.fields.push_back({"query.cursor", "it belongs to another " + std::move(what),
                          "Leave cursor out to start from the first page."});
  return error;
}

const std::string* text_member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

}  // namespace

std::string filter_digest(std::string_view provider_key, std::string_view method,
                          std::string_view search) {
  // The provider key may be any bytes, but the method contains no newline, so the join is
  // unambiguous.
  std::string digest =
      crypto::sha256_hex(std::string(method) + "\n" + std::string(provider_key)).substr(0, 32);
  // A search may be any bytes as well; without a search, cursors keep their earlier form.
  if (search.empty()) return digest;
  return crypto::sha256_hex((digest += "\n").append(search)).substr(0, 32);
}

std::string make_cursor(const CursorBinding& binding, std::string_view after,
                        std::string_view key) {
  const json fields = {{"v", 5},
                       {"generation", binding.generation},
                       {"projection", binding.projection},
                       {"filter", binding.filter},
                       {"after", after}};
  const std::string payload = text::canonical_json(fields).value();  // ASCII only
  return crypto::sign_text(payload, signature_context, key);
}

Result<std::string, base::Error> read_cursor(std::string_view cursor, const CursorBinding& binding,
                                             std::string_view key) {
  const auto payload = crypto::verified_text(cursor, signature_context, key);
  if (!payload) return invalid("its signature does not hold");
  const json fields = text::parse_json(*payload);
  if (!fields.is_object()) return invalid("its content is not an object");
  const auto version = fields.find("v");
  const std::string* generation = text_member(fields, "generation");
  const std::string* projection = text_member(fields, "projection");
  const std::string* filter = text_member(fields, "filter");
  const std::string* after = text_member(fields, "after");
  if (version == fields.end() || !version->is_number_integer() || !generation || !after) {
    return invalid("its content is incomplete");
  }
  const auto number = version->get<std::int64_t>();
  if (number < 3 || number > 5) return invalid("its version is not one of 3, 4 and 5");
  if (number >= 4 && !projection) return invalid("it names no projection");
  if (number >= 5 && !filter) return invalid("it names no filter");
  if (filter && *filter != binding.filter) return invalid("it was made under another filter");
  if (*generation != binding.generation) return stale("generation");
  if (projection && *projection != binding.projection) return stale("projection");
  return *after;
}

}  // namespace turnpike::catalog
