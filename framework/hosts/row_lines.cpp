#include "hosts/row_lines.h"

#include <turnpike/helpers/csv.h>

#include "hosts/account_json.h"

namespace turnpike::hosts {

namespace {

using Json = nlohmann::ordered_json;

// Bytes that a caller sent may be in the ledger; invalid UTF-8 among them is replaced.
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json flat(Json row) {
  if (const auto found = row.find("correction"); found != row.end() && found->is_object()) {
    const Json correction = *found;
    row["correctionId"] = correction["correctionId"];
    row["correctionKind"] = correction["kind"];
    row["creditsRestored"] = correction["creditsRestored"];
    row["correctedAt"] = correction["recordedAt"];
  }
  return row;
}

}  // namespace

std::string head_line(LineForm form, std::span<const char* const> columns) {
  if (form == LineForm::ndjson) return {};
  Json header = Json::object();
  for (const char* column : columns) header[column] = column;
  return line_of(form, columns, header);
}

std::string line_of(LineForm form, std::span<const char* const> columns, const Json& row) {
  if (form == LineForm::ndjson) return dumped(row) + '\n';
  const Json fields = flat(row);
  std::string line;
  for (const char* column : columns) {
    if (column != columns.front()) line += ',';
    const auto found = fields.find(column);
    if (found == fields.end() || found->is_null()) continue;
    line += csv_field(found->is_string() ? found->get_ref<const std::string&>() : dumped(*found));
  }
  return line + "\r\n";
}

Json line_json(const ledger::UsageRow& usage) {
  Json row = {{"billingAccountId", usage.account_id}};
  row.update(row_json(usage));
  return row;
}

}  // namespace turnpike::hosts
