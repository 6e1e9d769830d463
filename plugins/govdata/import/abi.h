// Reads Solidity's ABI encoding from untrusted log data. Every offset and length is checked against
// the data, and dynamic parts must not overlap, so the result is never larger than the input.
// Errors are thrown as AbiError; callers that decode logs or return values catch it. One Thread at
// a time per reader; the functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::govdata {

class AbiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The bytes of hex with or without 0x; empty if `hex` is not hex of whole bytes.
std::optional<std::string> bytes_of_hex(std::string_view hex);
std::string hex_of_bytes(std::string_view bytes);  // with 0x

class AbiReader {
 public:
  // `data` must outlive the reader.
  explicit AbiReader(std::string_view data) : data_(data), budget_(data.size()) {}

  // The functions below read argument `index` of the head.
  [[nodiscard]] std::string number(std::size_t index) const;         // uint256, decimal
  [[nodiscard]] std::int64_t small_number(std::size_t index) const;  // fits into 63 bits
  [[nodiscard]] std::string address(std::size_t index) const;        // 0x, lower case
  std::string bytes(std::size_t index);
  std::vector<std::string> addresses(std::size_t index);
  std::vector<std::string> numbers(std::size_t index);
  std::vector<std::string> byte_lists(std::size_t index);  // string[] or bytes[]

 private:
  [[nodiscard]] std::string_view word(std::size_t offset) const;
  [[nodiscard]] std::size_t length_at(std::size_t offset) const;
  std::string bytes_at(std::size_t offset);
  std::size_t begin_list(std::size_t index, std::size_t& count);
  void spend(std::size_t bytes);

  std::string_view data_;
  std::size_t budget_;
};

}  // namespace turnpike::govdata
