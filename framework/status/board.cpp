#include "status/board.h"

#include "status/board_documents.h"
#include "status/board_facts.h"
#include "text/brotli.h"

namespace turnpike::status {
namespace {

using Documents = std::map<std::string, BoardDocument, std::less<>>;

const BoardDocument* find_document(const Documents& documents, std::string_view name) noexcept {
  const auto found = documents.find(name);
  return found == documents.end() ? nullptr : &found->second;
}

BoardDocument compressed(BoardDocument document) {
  document.current_brotli = text::brotli_of(document.current);
  document.stale_brotli = text::brotli_of(document.stale);
  return document;
}

}  // namespace

Board::Board(const BoardInput& input) {
  const BoardFacts facts(input);
  origin_ = origin_of(facts);
  status_ = compressed(status_document(facts));
  gateway_ = compressed(gateway_document(facts));
  authority_ = authority_document(facts);
  for (const registry::Route& route : input.program.routes()) {
    operations_.emplace(route.id, operation_document(facts, route));
  }
  for (std::uint32_t at = 0; at < input.program.providers().size(); ++at) {
    const std::string& key = input.program.providers()[at].key;
    providers_.emplace(key, provider_document(facts, at));
    badges_.emplace(key, badge_document(facts, at));
  }
}

const std::string* Board::authority(std::int64_t now_ms) const noexcept {
  return now_ms < authority_.valid_until_ms ? &authority_.current : nullptr;
}

const BoardDocument* Board::operation(std::string_view capability_id) const noexcept {
  return find_document(operations_, capability_id);
}

const BoardDocument* Board::provider(std::string_view key) const noexcept {
  return find_document(providers_, key);
}

const BoardDocument* Board::badge(std::string_view provider_key) const noexcept {
  return find_document(badges_, provider_key);
}

}  // namespace turnpike::status
