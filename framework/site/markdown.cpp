#include "site/markdown.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include "site/breaks.h"

namespace turnpike::site {

namespace {

struct FreeNode {
  void operator()(cmark_node* node) const noexcept { cmark_node_free(node); }
};
struct FreeParser {
  void operator()(cmark_parser* parser) const noexcept { cmark_parser_free(parser); }
};
struct FreeIterator {
  void operator()(cmark_iter* iterator) const noexcept { cmark_iter_free(iterator); }
};
using Tree = std::unique_ptr<cmark_node, FreeNode>;
using Parser = std::unique_ptr<cmark_parser, FreeParser>;

constexpr int options = CMARK_OPT_VALIDATE_UTF8;

Parser make_parser() {
  static std::once_flag registered;
  std::call_once(registered, cmark_gfm_core_extensions_ensure_registered);
  Parser parser(cmark_parser_new(options));
  for (const char* const name : {"table", "autolink"}) {
    cmark_parser_attach_syntax_extension(parser.get(), cmark_find_syntax_extension(name));
  }
  return parser;
}

Tree parse(cmark_parser* parser, std::string_view markdown) {
  cmark_parser_feed(parser, markdown.data(), markdown.size());
  return Tree(cmark_parser_finish(parser));
}

// Calls `see` for every node once, parents first.
void visit(cmark_node* root, const std::function<void(cmark_node*)>& see) {
  const std::unique_ptr<cmark_iter, FreeIterator> iterator(cmark_iter_new(root));
  while (true) {
    const cmark_event_type event = cmark_iter_next(iterator.get());
    if (event == CMARK_EVENT_DONE) return;
    if (event == CMARK_EVENT_ENTER) see(cmark_iter_get_node(iterator.get()));
  }
}

std::string text_in(cmark_node* root) {
  std::string text;
  visit(root, [&](cmark_node* node) {
    const cmark_node_type type = cmark_node_get_type(node);
    if (type == CMARK_NODE_SOFTBREAK || type == CMARK_NODE_LINEBREAK) text += ' ';
    if (type != CMARK_NODE_TEXT && type != CMARK_NODE_CODE) return;
    if (const char* const literal = cmark_node_get_literal(node)) text += literal;
  });
  return text;
}

// Lower case, blanks as dashes; of ASCII only characters that every id may have.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ' || c == '-') {
      anchor += '-';
    } else if (c == '_') {
      anchor += c;
    }
  }
  return anchor.empty() ? "section" : anchor;
}

// Unique anchors of one page: the second "limits" is "limits-1".
class Anchors {
 public:
  std::string next(cmark_node* heading) {
    std::string anchor = anchor_of(text_in(heading));
    const int before = seen_[anchor]++;
    return before == 0 ? anchor : anchor + "-" + std::to_string(before);
  }

 private:
  std::map<std::string, int> seen_;
};

std::vector<cmark_node*> nodes_of(cmark_node* root,
                                  const std::function<bool(cmark_node*)>& is_one) {
  std::vector<cmark_node*> nodes;
  visit(root, [&](cmark_node* node) {
    if (is_one(node)) nodes.push_back(node);
  });
  return nodes;
}

bool is_heading(cmark_node* node) { return cmark_node_get_type(node) == CMARK_NODE_HEADING; }
bool is_listing(cmark_node* node) { return cmark_node_get_type(node) == CMARK_NODE_CODE_BLOCK; }
// Node types of extensions are known only by name.
bool is_table(cmark_node* node) {
  return std::string_view(cmark_node_get_type_string(node)) == "table";
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

void put_into_box(cmark_node* node, const char* opening) {
  cmark_node* const box = cmark_node_new(CMARK_NODE_CUSTOM_BLOCK);
  cmark_node_set_on_enter(box, opening);
  cmark_node_set_on_exit(box, "</div>");
  cmark_node_insert_before(node, box);
  cmark_node_append_child(box, node);
}

// Lets long names in code spans break between their parts. Done on the HTML: a table cell accepts
// no inserted node.
void let_names_break(std::string& html) {
  constexpr std::string_view begin = "<code>";
  constexpr std::string_view end = "</code>";
  constexpr std::string_view listing = "<pre>";
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = html.find(begin); at != html.npos; at = html.find(begin, done)) {
    const std::size_t first = at + begin.size();
    const std::size_t last = html.find(end, first);
    const bool is_listing = std::string_view(html).substr(0, at).ends_with(listing);
    out.append(html, done, first - done);
    const std::string_view text = std::string_view(html).substr(first, last - first);
    for (std::size_t place = 0; place < text.size(); ++place) {
      out += text[place];
      if (!is_listing && may_break_behind(text, place)) out += "<wbr>";
    }
    done = last;
  }
  out.append(html, done, html.npos);
  html = std::move(out);
}

}  // namespace

Markup html_of(std::string_view markdown) {
  const Parser parser = make_parser();
  const Tree tree = parse(parser.get(), markdown);
  Anchors anchors;
  for (cmark_node* const heading : nodes_of(tree.get(), is_heading)) {
    cmark_node* const mark = cmark_node_new(CMARK_NODE_CUSTOM_INLINE);
    cmark_node_set_on_enter(mark, ("<span id=\"" + anchors.next(heading) + "\"></span>").c_str());
    cmark_node_prepend_child(heading, mark);
  }
  for (cmark_node* const table : nodes_of(tree.get(), is_table)) {
    put_into_box(table, "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">");
  }
  for (cmark_node* const listing : nodes_of(tree.get(), is_listing)) {
    put_into_box(listing, "<div class=\"listing\" tabindex=\"0\" role=\"group\" "
                          "aria-label=\"Listing\">");
  }
  char* const html =
      cmark_render_html(tree.get(), options, cmark_parser_get_syntax_extensions(parser.get()));
  Markup markup{html};
  std::free(html);
  // The library aligns cells by an obsolete attribute; texts contain no raw quotes at this point.
  replace_all(markup.text, " align=\"right\"", " class=\"number\"");
  replace_all(markup.text, " align=\"left\"", "");
  replace_all(markup.text, " align=\"center\"", " class=\"centre\"");
  let_names_break(markup.text);
  return markup;
}

std::vector<MarkdownLink> links_of(std::string_view markdown) {
  const Parser parser = make_parser();
  const Tree tree = parse(parser.get(), markdown);
  std::vector<MarkdownLink> links;
  int line = 1;  // inline nodes have no line
  visit(tree.get(), [&](cmark_node* node) {
    if (const int start = cmark_node_get_start_line(node); start > 0) line = start;
    const cmark_node_type type = cmark_node_get_type(node);
    if (type != CMARK_NODE_LINK && type != CMARK_NODE_IMAGE) return;
    const char* const url = cmark_node_get_url(node);
    links.push_back({url == nullptr ? "" : url, line});
  });
  return links;
}

std::vector<Heading> headings_of(std::string_view markdown) {
  const Parser parser = make_parser();
  const Tree tree = parse(parser.get(), markdown);
  Anchors anchors;
  std::vector<Heading> all;
  for (cmark_node* const heading : nodes_of(tree.get(), is_heading)) {
    all.push_back({cmark_node_get_heading_level(heading), text_in(heading),
                   anchors.next(heading)});
  }
  return all;
}

std::vector<std::string> anchors_of(std::string_view markdown) {
  std::vector<std::string> anchors;
  for (Heading& heading : headings_of(markdown)) anchors.push_back(std::move(heading.anchor));
  return anchors;
}

namespace {

// Whether the character is special there: everywhere, at the beginning of a line, or in a plain URL
// that GitHub turns into a link.
bool means_something(std::string_view text, std::size_t at) {
  constexpr std::string_view anywhere = "\\`*_{}[]()<>#|~&@";
  const char c = text[at];
  if (anywhere.find(c) != anywhere.npos) return true;
  if (c == ':') return text.substr(at + 1).starts_with("//");
  if (c == '+' || c == '-' || c == '=') return text.find_first_not_of(" \t\r\n") == at;
  if (c != '.') return false;
  const std::string_view before = text.substr(0, at);
  const auto is_digit = [](char one) { return one >= '0' && one <= '9'; };
  const bool is_number = std::all_of(before.begin(), before.end(), [&](char one) {
    return is_digit(one) || one == ' ' || one == '\n' || one == '\r' || one == '\t';
  });
  return is_number || before.ends_with('w') || before.ends_with('W');
}

}  // namespace

std::string escaped_markdown(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
      continue;
    }
    if (means_something(text, at)) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace turnpike::site
