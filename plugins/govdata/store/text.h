// Text rules of the store: what counts as UTF-8, how titles are compared, how a forum post becomes
// an excerpt, how a title is found in Markdown. Pure functions; safe on any Thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::govdata {

bool is_utf8(std::string_view text);

// The first `bytes_max` bytes or fewer, never cutting a code point.
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);
// The first `count` code points.
std::string_view cut_code_points(std::string_view text, std::size_t count);
std::size_t code_points(std::string_view text);

std::string lower_ascii(std::string_view text);
std::string_view trimmed(std::string_view text);

// NFKC and case folding; runs of anything but letters, marks and digits become one blank, so the
// text of bracket tags stays. Empty when nothing is left. REQUIRES: UTF-8.
std::string normal_title(std::string_view title);

// Tags stripped, entities resolved, blanks collapsed.
std::string text_of_html(std::string_view html);

// At most `count` code points of Markdown or text on one line, cut at a blank, with an ellipsis.
std::string one_line(std::string_view text, std::size_t count);

// First Markdown heading or first line with a letter or digit; empty when there is none.
std::string title_of_markdown(std::string_view markdown);

// 1 to 128 of a-z, 0-9, '-', '_' and '.'.
bool is_dao_id(std::string_view id);
// The id of a DAO that is known by a Snapshot space alone: "aavedao.eth" -> "aavedao-eth". It may
// be none, see is_dao_id().
std::string minted_dao_id(std::string_view space);

// Absolute http(s) addresses in Markdown or HTML, in order, at most `count`.
std::vector<std::string> urls_in(std::string_view text, std::size_t count);

}  // namespace turnpike::govdata
