#include "status/verify.h"

#include <charconv>

#include "status/published.h"
#include "status/rules.h"
#include "status/text_form.h"
#include "text/json_text.h"

namespace turnpike::status {
namespace {

constexpr std::string_view set_begin = "{\"hash\":\"";
constexpr std::string_view set_middle = "\",\"set\":";
constexpr std::string_view set_end = ",\"type\":\"targets\"}";
constexpr std::string_view book_begin = "{\"after_round\":";
constexpr std::string_view book_middle = ",\"book\":";
constexpr std::string_view book_end = ",\"type\":\"book\"}";
constexpr std::string_view round_end = ",\"type\":\"round\"}";
constexpr std::string_view pruned_begin = "{\"round\":";
constexpr std::string_view pruned_end = ",\"type\":\"pruned\"}";
constexpr std::size_t hash_bytes = 7 + 64;
constexpr std::size_t days_max = 4'000;

// Reads a whole number from the front of `text` and removes it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || digits == 0 || (text[0] == '0' && digits > 1)) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

// The text between `begin` and `end`; nullopt if they do not enclose it.
std::optional<std::string_view> between(std::string_view text, std::string_view begin,
                                        std::string_view end) {
  if (text.size() < begin.size() + end.size()) return std::nullopt;
  if (!text.starts_with(begin) || !text.ends_with(end)) return std::nullopt;
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

RecordKind record_kind_of(TargetKind kind) noexcept {
  switch (kind) {
    case TargetKind::sentinel: return RecordKind::sentinel;
    case TargetKind::reachability: return RecordKind::probe;
    case TargetKind::contract: return RecordKind::contract;
    case TargetKind::traffic: return RecordKind::traffic;
    case TargetKind::pricing:
    case TargetKind::lane: break;
  }
  return RecordKind::pricing;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace

Verifier::Verifier(std::vector<crypto::Ed25519PublicKey> keys) : keys_(std::move(keys)) {}

bool Verifier::fail(std::string problem) {
  problem_ = std::move(problem);
  is_over_ = true;
  return false;
}

std::string Verifier::at_line() const { return "line " + number(line_); }

std::string Verifier::of_round() const { return "round " + number(open_->round); }

bool Verifier::expect(std::string_view published) {
  nlohmann::json document = text::parse_json(published);
  const auto round = published_after(document);
  if (!round) return false;
  published_round_ = *round;
  published_ = std::move(document);
  return true;
}

bool Verifier::take(std::string_view line) {
  if (is_over_) return false;
  ++line_;
  if (line.size() > evidence_line_bytes_max) return fail(at_line() + " is too long");
  if (open_) return take_record(line);
  if (line.ends_with(round_end)) return take_round(line);
  if (line.ends_with(set_end)) return take_targets(line);
  if (line.ends_with(book_end)) return take_book(line);
  return fail(at_line() + " is neither a round nor a set of targets nor a book" +
              (verified_.last_round == 0
                   ? std::string()
                   : ": round " + number(verified_.last_round) + " has no more records"));
}

bool Verifier::end() {
  if (is_over_) return problem_.empty();
  if (open_) {
    return fail("the evidence ends in " + of_round() + " (line " + number(open_line_) +
                "), which has " + number(open_->count) + " records: " + number(records_.size()) +
                " are there");
  }
  is_over_ = true;
  if (!is_book_proven_) {
    return fail("the book in line " + number(book_line_) +
                " is followed by no round that proves it");
  }
  return true;
}

bool Verifier::take_targets(std::string_view line) {
  const auto parts = between(line, set_begin, set_end);
  if (!parts || parts->size() < hash_bytes + set_middle.size() ||
      parts->substr(hash_bytes, set_middle.size()) != set_middle) {
    return fail(at_line() + " is no set of targets");
  }
  const std::string hash(parts->substr(0, hash_bytes));
  const std::string_view text = parts->substr(hash_bytes + set_middle.size());
  if (hash_of(text) != hash) {
    return fail("the set of targets in " + at_line() + " is not the one that its hash names");
  }
  if (sets_.contains(hash)) return true;
  auto set = read_target_set(text);
  if (!set.ok()) return fail(at_line() + ": " + set.error());
  sets_.emplace(hash, *std::move(set));
  set_order_.push_back(hash);
  if (set_order_.size() > evidence_sets_max) {
    sets_.erase(set_order_.front());
    set_order_.pop_front();
  }
  return true;
}

bool Verifier::take_book(std::string_view line) {
  auto parts = between(line, book_begin, book_end);
  const auto after = parts ? take_number(*parts) : std::nullopt;
  if (!after || !parts->starts_with(book_middle)) return fail(at_line() + " is no book");
  const std::string_view text = parts->substr(book_middle.size());
  const std::string name = "the book after round " + number(*after) + " in " + at_line();
  const bool is_begin = verified_.rounds == 0 && !book_;
  if (!is_begin && *after != verified_.last_round) {
    return fail(name + " stands behind round " + number(verified_.last_round));
  }
  if (!is_begin && hash_of(text) != newest_state_hash_) {
    return fail(name + " is not the one that the round signed");
  }
  if (book_) return true;  // its hash matches, so it equals ours
  auto book = Book::read(text);
  if (!book.ok()) return fail(name + ": " + book.error());
  if (book->round() != *after) {
    return fail(name + " is of round " + number(book->round()));
  }
  if (newest_sequence_ && *newest_sequence_ != book->records()) {
    return fail(name + " counts " + number(book->records()) + " records, and there were " +
                number(*newest_sequence_));
  }
  newest_sequence_ = book->records();
  book_ = *std::move(book);
  is_book_proven_ = !is_begin;
  book_line_ = line_;
  return true;
}

const crypto::Ed25519PublicKey* Verifier::key_of(const std::string& kid) const {
  for (const crypto::Ed25519PublicKey& key : keys_) {
    if (key_id(key) == kid) return &key;
  }
  return nullptr;
}

// True if the round follows the previous one in the chain.
bool Verifier::check_place(const RoundHead& head) {
  const std::string name = "round " + number(head.round) + " in " + at_line();
  const bool is_begin = verified_.rounds == 0;
  const std::uint64_t expected =
      !is_begin ? verified_.last_round + 1 : book_ ? book_->round() + 1 : head.round;
  if (head.round > expected) {
    return fail("round " + number(expected) + " is missing: " + at_line() + " holds round " +
                number(head.round));
  }
  if (head.round < expected) {
    return fail(name + " is out of order: round " + number(expected) + " is the next");
  }
  if (is_begin && head.round == 1 && head.prev != first_prev) {
    return fail(name + " begins the stream and yet names a round before it");
  }
  if (!is_begin && head.prev != verified_.last_head) {
    return fail(name + " does not follow the round before it: its prev is " + head.prev +
                ", and the head is " + verified_.last_head);
  }
  if (!is_begin && head.stream != verified_.stream) {
    return fail(name + " is of the stream " + head.stream + ", the rounds before it of " +
                verified_.stream);
  }
  return true;
}

bool Verifier::take_round(std::string_view line) {
  std::string text(line.substr(0, line.size() - round_end.size()));
  auto round = read_round(text += '}');
  if (!round.ok()) return fail(at_line() + ": " + round.error());
  const RoundHead& head = round->head;
  const std::string name = "round " + number(head.round) + " in " + at_line();
  const crypto::Ed25519PublicKey* const key = key_of(head.kid);
  if (key == nullptr) {
    return fail(name + " was signed by the key " + head.kid + ", which is none of those given");
  }
  if (!is_signed_by(*round, *key)) {
    return fail(name + " was not signed by the key " + head.kid + ", or changed afterwards");
  }
  if (!check_place(head)) return false;
  if (head.rules_hash != rules_hash()) {
    return fail(name + " follows rules that this build does not know: " + head.rules_hash +
                " instead of " + rules_hash());
  }
  if (!sets_.contains(head.expected_targets_hash)) {
    return fail(name + " commits to the set of targets " + head.expected_targets_hash +
                ", which the evidence does not hold");
  }
  verified_.kids.insert(head.kid);
  open_ = std::move(round->head);
  open_line_ = line_;
  records_.clear();
  lines_.clear();
  if (!newest_sequence_ && open_->round == 1) newest_sequence_ = 0;
  if (!book_ && open_->round == 1) book_.emplace();
  return open_->count == 0 ? close_round() : true;
}

bool Verifier::take_pruned(std::string_view line) {
  auto parts = between(line, pruned_begin, pruned_end);
  const auto round = parts ? take_number(*parts) : std::nullopt;
  if (!round || !parts->empty() || *round != open_->round) {
    return fail(at_line() + " is not what stands for the records of " + of_round());
  }
  if (!is_book_proven_) {
    return fail("the book in line " + number(book_line_) +
                " is followed by no round that proves it");
  }
  if (newest_sequence_) *newest_sequence_ += open_->count;
  ++verified_.pruned;
  book_.reset();
  days_.clear();
  newest_state_hash_ = open_->state_hash;
  if (verified_.rounds++ == 0) {
    verified_.first_round = open_->round;
    verified_.started_at_ms = open_->started_at_ms;
  }
  verified_.stream = open_->stream;
  verified_.last_round = open_->round;
  verified_.last_head = open_->head;
  verified_.ended_at_ms = open_->ended_at_ms;
  open_.reset();
  return true;
}

bool Verifier::take_record(std::string_view line) {
  if (records_.empty() && line.ends_with(pruned_end)) return take_pruned(line);
  auto record = read_line(line);
  if (!record.ok()) {
    return fail(at_line() + " does not fit: record " + number(records_.size() + 1) + " of " +
                number(open_->count) + " of " + of_round() + " was expected. " + record.error());
  }
  const std::string name = "record " + number(record->sequence) + " of " + of_round() + " in " +
                           at_line() + " (" + record->target + ")";
  if (newest_sequence_ && record->sequence != *newest_sequence_ + 1) {
    return fail("record " + number(*newest_sequence_ + 1) + " is missing: " + name +
                " is in its place");
  }
  const Target* const target = sets_.at(open_->expected_targets_hash).find(record->target);
  if (target == nullptr) return fail(name + " is of a target that the set does not have");
  if (record->kind != record_kind_of(target->kind)) {
    return fail(name + " is of the kind " + std::string(name_of(record->kind)) +
                ", which its target is not");
  }
  newest_sequence_ = record->sequence;
  lines_.append(line).push_back('\n');
  if (lines_.size() > evidence_round_bytes_max) return fail(of_round() + " is too long");
  records_.push_back(*std::move(record));
  return records_.size() == open_->count ? close_round() : true;
}

bool Verifier::close_round() {
  if (chained_head(open_->prev, lines_) != open_->head) {
    return fail("the records of " + of_round() + " (behind line " + number(open_line_) +
                ") are not those that its head was made of");
  }
  if (!check_state()) return false;
  if (verified_.rounds++ == 0) {
    verified_.first_round = open_->round;
    verified_.started_at_ms = open_->started_at_ms;
  }
  verified_.stream = open_->stream;
  verified_.last_round = open_->round;
  verified_.last_head = open_->head;
  verified_.ended_at_ms = open_->ended_at_ms;
  verified_.records += records_.size();
  newest_state_hash_ = open_->state_hash;
  const bool is_right = compare();
  open_.reset();
  return is_right;
}

bool Verifier::check_state() {
  if (!book_) return true;
  const Changes changes =
      book_->apply(sets_.at(open_->expected_targets_hash), *open_, records_);
  if (book_->hash() != open_->state_hash) {
    return fail(is_book_proven_
                    ? of_round() + " in line " + number(open_line_) +
                          " signs a state that does not follow from the evidence"
                    : "the book in line " + number(book_line_) +
                          " does not lead to the state that " + of_round() + " signs");
  }
  is_book_proven_ = true;
  ++verified_.states;
  for (const Segment& segment : changes.segments) {
    if (segment.scope == "gateway" && segment.length_ms == Segment::day_ms) {
      days_[segment.started_at_ms] = segment;
    }
  }
  while (days_.size() > days_max) days_.erase(days_.begin());
  return true;
}

bool Verifier::compare() {
  if (!published_ || open_->round != published_round_) return true;
  if (!book_) {
    return fail("the state after " + of_round() +
                " is not known, so that what was published cannot be compared");
  }
  was_compared_ = true;
  const auto difference =
      compare_published(*published_, *open_, *book_, sets_.at(open_->expected_targets_hash), days_);
  return difference ? fail(*difference) : true;
}

}  // namespace turnpike::status
