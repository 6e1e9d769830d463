#include "govdata/import/abi.h"

#include <cstring>

#include "govdata/store/decimal.h"

namespace turnpike::govdata {
namespace {

constexpr std::size_t word_bytes = 32;
constexpr std::size_t abi_items_max = 4096;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decimal_of(std::string_view word) {
  std::uint8_t bytes[word_bytes];
  std::memcpy(bytes, word.data(), word_bytes);
  return decimal_of_word(bytes);
}

std::string address_of(std::string_view word) {
  if (word.substr(0, 12).find_first_not_of('\0') != std::string_view::npos) {
    throw AbiError("an address has more than 20 bytes");
  }
  return hex_of_bytes(word.substr(12));
}

}  // namespace

std::optional<std::string> bytes_of_hex(std::string_view hex) {
  if (hex.substr(0, 2) == "0x" || hex.substr(0, 2) == "0X") hex.remove_prefix(2);
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    const int high = hex_value(hex[at]);
    const int low = hex_value(hex[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string hex_of_bytes(std::string_view bytes) {
  std::string hex = "0x";
  hex.reserve(2 + bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string_view AbiReader::word(std::size_t offset) const {
  if (data_.size() < word_bytes || offset > data_.size() - word_bytes) {
    throw AbiError("the data ends before byte " + std::to_string(offset) + " plus 32");
  }
  return data_.substr(offset, word_bytes);
}

// An offset or a length. Throws if it is greater than the size of the data.
std::size_t AbiReader::length_at(std::size_t offset) const {
  const std::string_view bytes = word(offset);
  std::size_t value = 0;
  for (const char c : bytes) {
    if (value > data_.size()) break;
    value = value << 8 | static_cast<unsigned char>(c);
  }
  if (value > data_.size()) throw AbiError("an offset or length points outside of the data");
  return value;
}

void AbiReader::spend(std::size_t bytes) {
  if (bytes > budget_) throw AbiError("dynamic parts overlap");
  budget_ -= bytes;
}

std::string AbiReader::number(std::size_t index) const {
  return decimal_of(word(index * word_bytes));
}

std::int64_t AbiReader::small_number(std::size_t index) const {
  const std::string_view bytes = word(index * word_bytes);
  std::uint64_t value = 0;
  for (std::size_t at = 0; at < word_bytes; ++at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if ((at < 24 && byte != 0) || (at == 24 && byte > 0x7F)) {
      throw AbiError("a block number, time or type is out of range");
    }
    value = value << 8 | byte;
  }
  return static_cast<std::int64_t>(value);
}

std::string AbiReader::address(std::size_t index) const {
  return address_of(word(index * word_bytes));
}

std::string AbiReader::bytes_at(std::size_t offset) {
  const std::size_t length = length_at(offset);
  const std::size_t begin = offset + word_bytes;
  if (length > data_.size() - begin) throw AbiError("a byte string reaches outside of the data");
  spend(length);
  return std::string(data_.substr(begin, length));
}

std::string AbiReader::bytes(std::size_t index) { return bytes_at(length_at(index * word_bytes)); }

// Returns the offset of the first element.
std::size_t AbiReader::begin_list(std::size_t index, std::size_t& count) {
  const std::size_t offset = length_at(index * word_bytes);
  count = length_at(offset);
  const std::size_t begin = offset + word_bytes;
  if (count > abi_items_max) throw AbiError("a list has more than 4096 items");
  if (count > (data_.size() - begin) / word_bytes) {
    throw AbiError("a list reaches outside of the data");
  }
  spend(count * word_bytes);
  return begin;
}

std::vector<std::string> AbiReader::addresses(std::size_t index) {
  std::size_t count = 0;
  const std::size_t begin = begin_list(index, count);
  std::vector<std::string> list;
  for (std::size_t at = 0; at < count; ++at) {
    list.push_back(address_of(word(begin + at * word_bytes)));
  }
  return list;
}

std::vector<std::string> AbiReader::numbers(std::size_t index) {
  std::size_t count = 0;
  const std::size_t begin = begin_list(index, count);
  std::vector<std::string> list;
  for (std::size_t at = 0; at < count; ++at) {
    list.push_back(decimal_of(word(begin + at * word_bytes)));
  }
  return list;
}

std::vector<std::string> AbiReader::byte_lists(std::size_t index) {
  std::size_t count = 0;
  const std::size_t begin = begin_list(index, count);
  std::vector<std::string> list;
  for (std::size_t at = 0; at < count; ++at) {
    const std::size_t relative = length_at(begin + at * word_bytes);
    if (relative > data_.size() - begin) throw AbiError("an item lies outside of the data");
    list.push_back(bytes_at(begin + relative));
  }
  return list;
}

}  // namespace turnpike::govdata
