#include "storage/evidence/status_rows.h"

#include <zlib.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "text/encoding.h"
#include "text/json_text.h"

namespace turnpike::storage {
namespace {

std::string from_stored_hex(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const int high = text::hex_value(hex[2 * at]);
    const int low = text::hex_value(hex[2 * at + 1]);
    bytes[at] = static_cast<char>(high << 4 | low);
  }
  return bytes;
}

template <class Item>
std::vector<Item> stored_list(const std::string& json) {
  try {
    return text::parse_json(json).get<std::vector<Item>>();
  } catch (const nlohmann::json::exception&) {
    refuse_stored("a list", json);
  }
}

}  // namespace

std::string packed(Engine engine, std::string_view text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string bytes(size, '\0');
  // Fails only if memory is exhausted, since the buffer suffices.
  if (compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size()),
                Z_DEFAULT_COMPRESSION) != Z_OK) {
    throw StoreError(StoreError::Kind::unavailable, "no memory is left to deflate evidence");
  }
  bytes.resize(size);
  if (engine == Engine::sqlite) return bytes;
  return text::hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string unpacked(std::string_view hex) {
  std::string bytes = from_stored_hex(hex);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) {
    throw StoreError(StoreError::Kind::unavailable, "no memory is left to inflate evidence");
  }
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  int end = Z_OK;
  while (end == Z_OK) {
    const std::size_t filled = text.size();
    text.resize(filled + std::max<std::size_t>(65'536, filled));
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + filled);
    stream.avail_out = static_cast<uInt>(text.size() - filled);
    end = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (end != Z_STREAM_END) refuse_stored("deflated bytes", "");
  return text;
}

void refuse_stored(std::string_view what, std::string_view text) {
  throw StoreError(StoreError::Kind::fatal, "the tables of the status hold " + std::string(what) +
                                                " that cannot be read: " + std::string(text));
}

std::string list_text(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump();
}

std::string list_text(const std::vector<std::uint32_t>& numbers) {
  return nlohmann::json(numbers).dump();
}

std::vector<std::string> stored_texts(const std::string& json) {
  return stored_list<std::string>(json);
}

std::vector<std::uint32_t> stored_numbers(const std::string& json) {
  return stored_list<std::uint32_t>(json);
}

}  // namespace turnpike::storage
