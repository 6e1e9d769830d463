#include "status/book.h"

#include "status/book_state.h"
#include "status/fold.h"
#include "status/text_form.h"

namespace turnpike::status {

Book::Book() : state_(std::make_unique<State>()) {}
Book::~Book() = default;
Book::Book(Book&&) noexcept = default;
Book& Book::operator=(Book&&) noexcept = default;

Changes Book::apply(const TargetSet& targets, const RoundHead& head,
                    std::span<const Record> records) {
  return Fold(*state_, targets, head, records).run();
}

std::string Book::hash() const { return hash_of(canonical()); }

std::uint64_t Book::round() const noexcept { return state_->round; }
std::int64_t Book::ended_at_ms() const noexcept { return state_->ended_at_ms; }
std::uint64_t Book::records() const noexcept { return state_->records; }

const ScopeFigures* Book::scope(std::string_view name) const noexcept {
  const auto found = state_->scopes.find(name);
  return found == state_->scopes.end() ? nullptr : &found->second;
}

const TargetFigures* Book::target(std::string_view name) const noexcept {
  const auto found = state_->targets.find(name);
  return found == state_->targets.end() ? nullptr : &found->second.figures;
}

const std::vector<Incident>& Book::incidents() const noexcept { return state_->incidents; }

std::vector<Segment> Book::open_segments() const { return state_->history.open(); }

}  // namespace turnpike::status
