#include "exchange/loop_state.h"

#include <functional>

namespace turnpike::exchange {
namespace {

constexpr std::size_t cells_at_start = 256;

template <class Text>
void empty(Text& text, std::size_t kept_bytes_max) noexcept {
  text.clear();
  if (text.capacity() > kept_bytes_max) Text().swap(text);
}

}  // namespace

AccountCounts::AccountCounts() : cells_(cells_at_start) {}

// The cell of `account`, or the free cell for it.
std::size_t AccountCounts::find(std::uint64_t account) const noexcept {
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = account & mask;
  while (cells_[at].calls != 0 && cells_[at].account != account) at = (at + 1) & mask;
  return at;
}

bool AccountCounts::enter(std::uint64_t account, std::uint32_t calls_max) {
  Cell* cell = &cells_[find(account)];
  if (cell->calls >= calls_max) return false;
  if (cell->calls == 0) {
    if ((used_ + 1) * 2 > cells_.size()) {
      grow();
      cell = &cells_[find(account)];
    }
    cell->account = account;
    ++used_;
  }
  ++cell->calls;
  return true;
}

void AccountCounts::leave(std::uint64_t account) noexcept {
  std::size_t hole = find(account);
  if (--cells_[hole].calls != 0) return;
  --used_;
  // Close the gap: move up entries behind it that probing would no longer find.
  const std::size_t mask = cells_.size() - 1;
  for (std::size_t at = (hole + 1) & mask; cells_[at].calls != 0; at = (at + 1) & mask) {
    const std::size_t home = cells_[at].account & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    cells_[hole] = std::exchange(cells_[at], Cell{});
    hole = at;
  }
}

void AccountCounts::grow() {
  std::vector<Cell> old(cells_.size() * 2);
  old.swap(cells_);
  for (const Cell& cell : old) {
    if (cell.calls != 0) cells_[find(cell.account)] = cell;
  }
}

bool LoopState::Seat::enter(LoopState& loop) {
  if (loop.calls_ >= loop.caps_.calls) return false;
  if (loop.idle_.empty()) {
    scratch_ = std::make_unique<Scratch>();
  } else {
    scratch_ = std::move(loop.idle_.back());
    loop.idle_.pop_back();
  }
  ++loop.calls_;
  loop_ = &loop;
  return true;
}

bool LoopState::Seat::enter_account(std::string_view account_id) {
  account_ = std::hash<std::string_view>{}(account_id);
  has_account_ = loop_->accounts_.enter(account_, loop_->caps_.calls_per_account);
  return has_account_;
}

void LoopState::leave(Seat& seat) noexcept {
  --calls_;
  if (seat.has_account_) accounts_.leave(seat.account_);
  if (idle_.size() >= idle_scratch_max) return;
  empty(seat.scratch_->body, kept_bytes_max);
  empty(seat.scratch_->copy, kept_bytes_max);
  empty(seat.scratch_->header_text, kept_bytes_max);
  empty(seat.scratch_->decoded, kept_bytes_max);
  seat.scratch_->reply_headers.clear();
  seat.scratch_->forwarded.clear();
  seat.scratch_->credentials.clear();
  idle_.push_back(std::move(seat.scratch_));
}

}  // namespace turnpike::exchange
