// Scans the Markdown of a page for values and live parts.
#include <algorithm>
#include <string>
#include <string_view>

#include "site/authored.h"

namespace turnpike::site {

namespace {

struct Fence {
  char mark = 0;  // 0: the line opens no fence
  std::size_t length = 0;
  std::string_view info;
};

std::string_view without_indent(std::string_view line) noexcept {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == line.npos || begin > 3 ? std::string_view() : line.substr(begin);
}

std::string_view trimmed_text(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// Fenced code blocks: CommonMark section 4.5.
Fence fence_of(std::string_view line) noexcept {
  const std::string_view text = without_indent(line);
  if (text.empty() || (text.front() != '`' && text.front() != '~')) return {};
  const std::size_t end = std::min(text.find_first_not_of(text.front()), text.size());
  if (end < 3) return {};
  const std::string_view info = trimmed_text(text.substr(end));
  if (text.front() == '`' && info.find('`') != info.npos) return {};
  return {text.front(), end, info};
}

bool closes(std::string_view line, const Fence& open) noexcept {
  const Fence fence = fence_of(line);
  return fence.mark == open.mark && fence.length >= open.length && fence.info.empty();
}

bool is_value_text(std::string_view text) noexcept {
  return !text.empty() && text.find_first_of("{}\n") == text.npos;
}

class Scan {
 public:
  explicit Scan(PieceFiller& filler) : filler_(filler) {}

  std::string run(std::string_view markdown) {
    while (!markdown.empty()) {
      ++line_;
      const std::size_t end = std::min(markdown.find('\n'), markdown.size());
      take_line(markdown.substr(0, end));
      if (end < markdown.size() && !is_in_part_) out_ += '\n';
      markdown.remove_prefix(std::min(end + 1, markdown.size()));
    }
    if (is_in_part_) filler_.fault(part_line_, "the live part is not closed");
    return std::move(out_);
  }

 private:
  void take_line(std::string_view line) {
    if (fence_.mark != 0) return take_fenced(line);
    fence_ = fence_of(line);
    if (fence_.mark != 0) {
      open_code_ = 0;
      const std::size_t end = std::min(fence_.info.find(' '), fence_.info.size());
      is_in_part_ = fence_.info.substr(0, end) == "turnpike";
      if (is_in_part_) return begin_part(trimmed_text(fence_.info.substr(end)));
      return add_values(line, true);
    }
    if (line.find_first_not_of(" \t\r") == line.npos) open_code_ = 0;
    add_text(line);
  }

  void take_fenced(std::string_view line) {
    const bool is_end = closes(line, fence_);
    if (is_end) fence_ = {};
    if (!is_in_part_) return add_values(line, true);
    if (is_end) {
      is_in_part_ = false;
    } else if (line.find_first_not_of(" \t\r") != line.npos) {
      filler_.fault(line_, "a live part has no text of its own: end it with the next line");
    }
  }

  void begin_part(std::string_view text) {
    part_line_ = line_;
    const std::size_t end = std::min(text.find(' '), text.size());
    out_ += filler_.fill({.name = text.substr(0, end),
                          .options = trimmed_text(text.substr(end)),
                          .is_part = true,
                          .line = line_});
  }

  // A code span, between equal numbers of backticks, may continue in the next line of the
  // paragraph.
  void add_text(std::string_view line) {
    while (!line.empty()) {
      const std::size_t tick = line.find('`');
      add_values(line.substr(0, tick), open_code_ != 0);
      if (tick == line.npos) return;
      line.remove_prefix(tick);
      const std::size_t count = std::min(line.find_first_not_of('`'), line.size());
      const bool is_escaped = open_code_ == 0 && out_.ends_with('\\');
      if (open_code_ == count) {
        open_code_ = 0;
      } else if (open_code_ == 0 && !is_escaped) {
        open_code_ = count;
      }
      out_ += line.substr(0, count);
      line.remove_prefix(count);
    }
  }

  void add_values(std::string_view text, bool is_in_code) {
    while (true) {
      const std::size_t begin = text.find("{{");
      if (begin == text.npos) break;
      const std::size_t end = text.find("}}", begin);
      const bool is_kept = begin > 0 && text[begin - 1] == '\\';
      const std::string_view inner =
          end == text.npos ? std::string_view() : text.substr(begin + 2, end - begin - 2);
      out_ += text.substr(0, is_kept ? begin - 1 : begin);
      if (is_kept || !is_value_text(inner)) {
        if (!is_kept) filler_.fault(line_, "`{{` begins no value: write \\{{ for the braces");
        out_ += "{{";
        text.remove_prefix(begin + 2);
        continue;
      }
      const std::size_t colon = std::min(inner.find(':'), inner.size());
      out_ += filler_.fill({.name = trimmed_text(inner.substr(0, colon)),
                            .options = trimmed_text(
                                inner.substr(std::min(colon + 1, inner.size()))),
                            .is_in_code = is_in_code,
                            .line = line_});
      text.remove_prefix(end + 2);
    }
    out_ += text;
  }

  PieceFiller& filler_;
  std::string out_;
  Fence fence_;               // the open fence
  bool is_in_part_ = false;   // the open fence is a live part
  std::size_t open_code_ = 0;  // backticks that opened the code span
  int line_ = 0;
  int part_line_ = 0;
};

}  // namespace

std::string filled(std::string_view markdown, PieceFiller& filler) {
  return Scan(filler).run(markdown);
}

}  // namespace turnpike::site
