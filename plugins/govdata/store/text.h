// Text rules of the store: checking UTF-8, comparing titles, making excerpts of forum posts,
// finding titles in Markdown. Pure functions; any Thread may call them.
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

// The title after NFKC and case folding, with each run of characters other than letters, marks and
// digits replaced by one blank. So the text of bracket tags stays. Empty if nothing is left.
// `title` must be UTF-8.
std::string normal_title(std::string_view title);

// The text without tags, with entities resolved and blanks collapsed.
std::string text_of_html(std::string_view html);

// Text or Markdown as one line of at most `count` code points. A longer one is cut at a blank and
// ends with an ellipsis.
std::string one_line(std::string_view text, std::size_t count);

// The first Markdown heading, otherwise the first line with a letter or digit; empty if there is
// none.
std::string title_of_markdown(std::string_view markdown);

// Whether `id` is 1 to 128 characters of a-z, 0-9, '-', '_' and '.'.
bool is_dao_id(std::string_view id);
// The id of a DAO that is known only by its Snapshot space: "aavedao.eth" -> "aavedao-eth". The
// result may not be a valid id: check is_dao_id().
std::string minted_dao_id(std::string_view space);

// The absolute http and https addresses in Markdown or HTML, in order, at most `count`.
std::vector<std::string> urls_in(std::string_view text, std::size_t count);

}  // namespace turnpike::govdata
