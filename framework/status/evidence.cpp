#include "status/evidence.h"

#include "status/text_form.h"

namespace turnpike::status {

void append_round(std::string& out, const StoredRound& round) {
  // "type" sorts after all signed fields in canonical JSON.
  std::string text = text_of(round.round);
  text.pop_back();
  out += text;
  out += ",\"type\":\"round\"}\n";
  if (round.lines) {
    out += *round.lines;
    return;
  }
  ObjectText(out)
      .integer("round", static_cast<std::int64_t>(round.round.head.round))
      .text("type", "pruned")
      .end();
  out += '\n';
}

void append_targets(std::string& out, std::string_view canonical_set) {
  ObjectText(out)
      .text("hash", hash_of(canonical_set))
      .raw("set", canonical_set)
      .text("type", "targets")
      .end();
  out += '\n';
}

void append_book(std::string& out, std::uint64_t after_round, std::string_view canonical_book) {
  ObjectText(out)
      .integer("after_round", static_cast<std::int64_t>(after_round))
      .raw("book", canonical_book)
      .text("type", "book")
      .end();
  out += '\n';
}

}  // namespace turnpike::status
