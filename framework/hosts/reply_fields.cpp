#include "hosts/reply_fields.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace turnpike::hosts {

namespace {

char* put(char* at, std::string_view text) noexcept {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

// Writes microseconds as milliseconds with three decimals.
char* put_ms(char* at, std::uint32_t us) noexcept {
  at = std::to_chars(at, at + 10, us / 1000).ptr;
  const std::uint32_t rest = us % 1000;
  *at++ = '.';
  *at++ = static_cast<char>('0' + rest / 100);
  *at++ = static_cast<char>('0' + rest / 10 % 10);
  *at++ = static_cast<char>('0' + rest % 10);
  return at;
}

constexpr std::size_t number_bytes_max = 20;
constexpr std::size_t timing_bytes_max = 64;

}  // namespace

void ReplyFields::add(std::string_view name, std::string_view value) {
  if (overflow_.empty() && count_ < few_.size()) {
    few_[count_++] = {name, value};
    return;
  }
  if (overflow_.empty()) overflow_.assign(few_.begin(), few_.end());
  overflow_.push_back({name, value});
}

std::string_view ReplyFields::keep(std::size_t length) noexcept {
  const std::string_view kept(text_.data() + text_used_, length);
  text_used_ += length;
  return kept;
}

void ReplyFields::add_number(std::string_view name, std::uint64_t value) {
  if (text_.size() - text_used_ < number_bytes_max) return;
  char* begin = text_.data() + text_used_;
  const char* end = std::to_chars(begin, begin + number_bytes_max, value).ptr;
  add(name, keep(static_cast<std::size_t>(end - begin)));
}

void ReplyFields::add_timing(std::uint32_t gateway_us, std::uint32_t upstream_us) {
  if (text_.size() - text_used_ < timing_bytes_max) return;
  char* begin = text_.data() + text_used_;
  char* end = put_ms(put(begin, "gateway;dur="), gateway_us);
  if (upstream_us != 0) end = put_ms(put(end, ", upstream;dur="), upstream_us);
  add("Server-Timing", keep(static_cast<std::size_t>(end - begin)));
}

bool ReplyFields::has(std::string_view name) const noexcept {
  const Headers all = view();
  return std::any_of(all.begin(), all.end(), [name](const HeaderField& field) {
    return same_header_name(field.name, name);
  });
}

}  // namespace turnpike::hosts
