#include "ledger/audit/chain.h"

namespace turnpike::ledger {
namespace {

constexpr std::string_view fact_form = "turnpike.fact.1";

// Concatenates the fields' bytes.
class Bytes {
 public:
  explicit Bytes(std::string& out) : out_(out) {}
  void operator()(std::int64_t number) { add(static_cast<std::uint64_t>(number), 8); }
  void operator()(std::string_view text) {
    add(text.size(), 4);
    out_.append(text);
  }
  void count(std::size_t number) { add(number, 4); }

 private:
  void add(std::uint64_t number, int width) {
    char bytes[8];
    for (int at = width - 1; at >= 0; --at, number >>= 8) bytes[at] = static_cast<char>(number);
    out_.append(bytes, static_cast<std::size_t>(width));
  }
  std::string& out_;
};

}  // namespace

crypto::Sha256 fact_hash(const crypto::Sha256& previous, const FactRow& row,
                         std::span<const FactShare> shares, std::string& buffer) {
  buffer.assign(reinterpret_cast<const char*>(previous.data()), previous.size());
  Bytes bytes(buffer);
  bytes(fact_form);
  each_column(row, bytes);
  bytes.count(shares.size());
  for (const FactShare& share : shares) {
    bytes(share.lease_id);
    bytes(share.units);
  }
  return crypto::sha256(buffer);
}

}  // namespace turnpike::ledger
