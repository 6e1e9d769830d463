#include "substrate/chain/facts.h"

#include <algorithm>
#include <charconv>

#include "substrate/codec/digest.h"
#include "substrate/codec/scale.h"

namespace turnpike::substrate {
namespace {

constexpr std::size_t logs_max = 64;
constexpr std::size_t spec_name_bytes_max = 256;
constexpr std::uint8_t environment_updated = 0x08;

// Reads a number such as "0x1a", which need not be padded to whole bytes.
std::optional<std::uint32_t> read_quantity(const Json* value) noexcept {
  const auto* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with("0x") || text->size() > 10) return std::nullopt;
  std::uint32_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data() + 2, end, number, 16);
  return problem == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

std::optional<Hash> hash_member(const Json& object, const char* name) noexcept {
  const Json* const member = member_of(object, name);
  return member == nullptr ? std::nullopt : read_hash(*member);
}

std::optional<std::uint32_t> u32_member(const Json& object, const char* name) noexcept {
  const Json* const member = member_of(object, name);
  const auto value = member == nullptr ? std::nullopt : natural_of(*member);
  if (!value || *value > 0xFFFF'FFFF) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

bool Header::replaced_code() const noexcept {
  return std::any_of(logs.begin(), logs.end(), [](const Bytes& log) {
    return log.size() == 1 && log.front() == environment_updated;
  });
}

std::optional<Hash> read_hash(const Json& value) noexcept {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || !text->starts_with("0x")) return std::nullopt;
  return hash_of_hex(*text);
}

std::optional<Header> read_header(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  const auto parent = hash_member(value, "parentHash");
  const auto number = read_quantity(member_of(value, "number"));
  const auto state_root = hash_member(value, "stateRoot");
  const auto extrinsics_root = hash_member(value, "extrinsicsRoot");
  const Json* const digest = member_of(value, "digest");
  const Json* const logs = digest == nullptr ? nullptr : member_of(*digest, "logs");
  if (!parent || !number || !state_root || !extrinsics_root || logs == nullptr ||
      !logs->is_array() || logs->size() > logs_max) {
    return std::nullopt;
  }
  Header header{*parent, *number, *state_root, *extrinsics_root, {}};
  for (const Json& log : *logs) {
    const auto* text = log.get_ptr<const std::string*>();
    auto bytes = text == nullptr ? std::nullopt : bytes_of_hex(*text);
    if (!bytes) return std::nullopt;
    header.logs.push_back(*std::move(bytes));
  }
  return header;
}

Hash hash_of_header(const Header& header) {
  Blake2Stream stream;
  stream.add(header.parent);
  stream.add(compact_of(header.number));
  stream.add(header.state_root);
  stream.add(header.extrinsics_root);
  stream.add(compact_of(static_cast<std::uint32_t>(header.logs.size())));
  for (const Bytes& log : header.logs) stream.add(log);
  return stream.finish();
}

std::optional<RuntimeVersion> read_rpc_version(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  const std::string* const spec_name = text_member(value, "specName");
  const std::string* const impl_name = text_member(value, "implName");
  const auto spec_version = u32_member(value, "specVersion");
  const bool has_name = spec_name != nullptr && spec_name->size() <= spec_name_bytes_max;
  if (!has_name || !spec_version) return std::nullopt;
  RuntimeVersion version;
  version.spec_name = *spec_name;
  if (impl_name != nullptr && impl_name->size() <= spec_name_bytes_max) {
    version.impl_name = *impl_name;
  }
  version.spec_version = *spec_version;
  version.authoring_version = u32_member(value, "authoringVersion").value_or(0);
  version.impl_version = u32_member(value, "implVersion").value_or(0);
  version.transaction_version = u32_member(value, "transactionVersion");
  version.state_version = u32_member(value, "stateVersion");
  // Newer nodes may use the name that newer runtimes have for it.
  if (!version.state_version) version.state_version = u32_member(value, "systemVersion");
  return version;
}

std::optional<Authorization> read_authorization(ByteView value) {
  ScaleReader reader(value);
  Authorization authorization;
  authorization.is_present = true;
  authorization.code_hash = reader.hash();
  authorization.check_version = reader.boolean();
  if (reader.failed() || !reader.rest().empty()) return std::nullopt;
  return authorization;
}

std::optional<LastUpgrade> read_last_upgrade(ByteView value) {
  ScaleReader reader(value);
  LastUpgrade last;
  last.spec_version = reader.compact().value_or(0);
  last.spec_name = reader.text(spec_name_bytes_max).value_or("");
  if (reader.failed()) return std::nullopt;
  return last;
}

std::optional<GoAhead> read_go_ahead(ByteView value) {
  if (value.size() != 2 || value[0] != 1 || value[1] > 1) return std::nullopt;
  return value[1] == 0 ? GoAhead::abort : GoAhead::go;
}

}  // namespace turnpike::substrate
