#include "registry/source.h"

#include <algorithm>
#include <exception>
#include <istream>
#include <streambuf>
#include <utility>

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/limits.h"
#include "text/canonical_json.h"

namespace turnpike::registry {
namespace {

// Thrown out of the parser from within an event; the problem is already reported.
struct Refused : std::exception {};

// Feeds the text to yaml-cpp in pieces. Its scanner looks ahead to the end of a flow collection or
// quoted text before it reports anything, holding some 200 bytes per token; so the stream ends
// early when too much was read since the last event.
class MeteredText final : public std::streambuf {
 public:
  explicit MeteredText(std::string_view text) : rest_(text) {}

  void event() noexcept { unfinished_bytes_ = 0; }
  [[nodiscard]] bool ran_dry() const noexcept { return ran_dry_; }

 private:
  int_type underflow() override {
    if (ran_dry_ || rest_.empty()) return traits_type::eof();
    if (unfinished_bytes_ >= base::limits::registry_unfinished_bytes_max) {
      ran_dry_ = true;
      return traits_type::eof();
    }
    constexpr std::size_t piece_bytes = 2048;
    const std::size_t taken = std::min(piece_bytes, rest_.size());
    // streambuf wants char*; nothing writes through it.
    char* begin = const_cast<char*>(rest_.data());
    setg(begin, begin, begin + taken);
    rest_.remove_prefix(taken);
    unfinished_bytes_ += taken;
    return traits_type::to_int_type(*begin);
  }

  std::string_view rest_;
  std::size_t unfinished_bytes_ = 0;
  bool ran_dry_ = false;
};

// The line with this number, from 1, without its line break.
std::string_view line_of(std::string_view text, std::uint32_t line) noexcept {
  for (; line > 1 && text.find('\n') != text.npos; --line) text.remove_prefix(text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}

// The likely cause behind a message of yaml-cpp's scanner, which only says what it found.
std::string_view hint_for(std::string_view message, std::string_view line) noexcept {
  struct Hint {
    std::string_view message;
    std::string_view hint;
  };
  constexpr std::string_view tab = "; indent with blanks, not with tabs";
  constexpr std::string_view indent = "; is this line indented as the ones above it are?";
  constexpr std::string_view bracket = "; is a comma missing, or a bracket left open?";
  constexpr Hint hints[] = {
      {"illegal tab when looking for indentation", tab},
      {"end of map not found", indent},
      {"end of sequence not found", indent},
      {"end of map flow not found", bracket},
      {"end of sequence flow not found", bracket},
      {"illegal map value", "; text that holds a colon and a blank needs quotes"},
      {"unknown token", "; text that begins with such a mark needs quotes"}};
  if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != line.npos) return tab;
  for (const Hint& known : hints) {
    if (known.message == message) return known.hint;
  }
  return {};
}

// True if the quoted text that begins with `text` has its closing quote.
bool is_closed(std::string_view text) noexcept {
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    const bool is_pair = quote == '\'' && text.substr(at).starts_with("''");
    if (text[at] == quote && !is_pair) return true;
    if (is_pair || (quote == '"' && text[at] == '\\')) ++at;
  }
  return false;
}

void report_bad_utf8(std::string_view text, std::uint32_t file, Problems& problems) {
  std::uint32_t line = 1;
  for (std::string_view rest = text;; ++line) {
    const std::size_t end = rest.find('\n');
    if (!text::is_utf8(rest.substr(0, end)) || end == rest.npos) break;
    rest.remove_prefix(end + 1);
  }
  problems.add(Rule::not_utf8, {file, line, 1}, "", {});
}

bool check_text(const Source& source, std::uint32_t file, Problems& problems) {
  constexpr std::size_t bytes_max = base::limits::registry_file_bytes_max;
  const std::string& text = source.text;
  if (text.size() > bytes_max) {
    problems.add(Rule::file_too_large, {file}, "",
                 {std::to_string(text.size()), std::to_string(bytes_max)});
    return false;
  }
  if (!text::is_utf8(text)) {
    report_bad_utf8(text, file, problems);
    return false;
  }
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == '\n') {
      ++line;
      line_start = at + 1;
    } else if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7F) {
      const char digits[] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      problems.add(Rule::control_character,
                   {file, line, static_cast<std::uint32_t>(at - line_start + 1)}, "",
                   {std::string_view(digits, 2)});
      return false;
    }
  }
  return true;
}

}  // namespace

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(Tree& tree, std::uint32_t file, MeteredText& input, std::size_t& nodes_left,
              Problems& problems)
      : tree_(tree), input_(input), nodes_left_(nodes_left), problems_(problems) {
    tree_.file_ = file;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    input_.event();
    if (++documents_ > 1) refuse(Rule::several_documents, mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(NodeKind::null, mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(Rule::alias, mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse(Rule::alias, mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    check_tag(mark, tag);
    const std::uint32_t index = add(NodeKind::scalar, mark);
    Node& node = tree_.nodes_[index];
    node.quoted = tag == "!";
    if (node.quoted) last_quoted_ = index;
    node.text_offset = static_cast<std::uint32_t>(tree_.text_.size());
    node.text_bytes = static_cast<std::uint32_t>(value.size());
    tree_.text_ += value;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(NodeKind::list, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(NodeKind::map, mark);
  }
  void OnMapEnd() override {
    check_keys(open_.back().node);
    close();
  }

  // yaml-cpp ends an unclosed quote silently at the end of the file, and takes the rest as its
  // text.
  [[nodiscard]] bool check_last_quote(std::string_view text) {
    if (last_quoted_ == no_node) return true;
    const Node& node = tree_.at(last_quoted_);
    const std::string_view line = line_of(text, node.line);
    const auto begin = static_cast<std::size_t>(line.data() - text.data()) + node.column - 1;
    const bool is_quote = begin < text.size() && (text[begin] == '"' || text[begin] == '\'');
    if (!is_quote || is_closed(text.substr(begin))) return true;
    problems_.add(Rule::open_quote, tree_.place(node), "", {});
    return false;
  }

 private:
  struct Open {
    std::uint32_t node;
    std::uint32_t last_child;
    std::uint32_t children;
  };

  [[nodiscard]] Place place(const YAML::Mark& mark) const {
    return {tree_.file_, static_cast<std::uint32_t>(mark.line + 1),
            static_cast<std::uint32_t>(mark.column + 1)};
  }

  [[noreturn]] void refuse(Rule rule, const YAML::Mark& mark,
                           std::initializer_list<std::string_view> arguments = {}) {
    // If the input was cut short, errors in the remainder are not the operator's fault.
    if (!input_.ran_dry()) problems_.add(rule, place(mark), "", arguments);
    throw Refused();
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(Rule::tag, mark);
  }

  std::uint32_t add(NodeKind kind, const YAML::Mark& mark) {
    input_.event();
    if (nodes_left_ == 0) {
      refuse(Rule::too_many_nodes, mark, {std::to_string(base::limits::registry_nodes_max)});
    }
    --nodes_left_;
    const auto index = static_cast<std::uint32_t>(tree_.nodes_.size());
    const Place at = place(mark);
    Node node;
    node.kind = kind;
    node.line = at.line;
    node.column = at.column;
    tree_.nodes_.push_back(node);
    if (!open_.empty()) {
      Open& parent = open_.back();
      const bool is_key =
          tree_.nodes_[parent.node].kind == NodeKind::map && parent.children % 2 == 0;
      if (is_key && kind != NodeKind::scalar) refuse(Rule::complex_key, mark);
      if (parent.children == 0) {
        tree_.nodes_[parent.node].first_child = index;
      } else {
        tree_.nodes_[parent.last_child].next = index;
      }
      parent.last_child = index;
      ++parent.children;
    }
    return index;
  }

  void open(NodeKind kind, const YAML::Mark& mark) {
    if (open_.size() >= base::limits::registry_depth_max) {
      refuse(Rule::too_deep, mark, {std::to_string(base::limits::registry_depth_max)});
    }
    open_.push_back({add(kind, mark), no_node, 0});
  }
  void close() { open_.pop_back(); }

  // Reports all duplicate keys of a map, in the time of a sort.
  void check_keys(std::uint32_t map) {
    keys_.clear();
    for (std::uint32_t key = tree_.at(map).first_child; key != no_node;) {
      keys_.push_back(key);
      if (!tree_.at(key).quoted && tree_.text(tree_.at(key)) == "<<") {
        problems_.add(Rule::merge_key, tree_.place(tree_.at(key)), "", {});
      }
      key = tree_.at(tree_.at(key).next).next;
    }
    std::sort(keys_.begin(), keys_.end(), [this](std::uint32_t left, std::uint32_t right) {
      const int order = tree_.text(tree_.at(left)).compare(tree_.text(tree_.at(right)));
      return order != 0 ? order < 0 : left < right;
    });
    for (std::size_t at = 1, first = 0; at < keys_.size(); ++at) {
      const std::string_view text = tree_.text(tree_.at(keys_[at]));
      if (text != tree_.text(tree_.at(keys_[first]))) {
        first = at;
        continue;
      }
      problems_.add(Rule::duplicate_key, tree_.place(tree_.at(keys_[at])), "",
                    {text, std::to_string(tree_.at(keys_[first]).line)});
    }
  }

  Tree& tree_;
  MeteredText& input_;
  std::size_t& nodes_left_;
  Problems& problems_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> keys_;
  std::uint32_t last_quoted_ = no_node;
  int documents_ = 0;
};

Tree read_tree(const Source& source, std::uint32_t file, std::size_t& nodes_left,
               Problems& problems) {
  Tree tree;
  if (!check_text(source, file, problems)) return tree;
  MeteredText input(source.text);
  TreeBuilder builder(tree, file, input, nodes_left, problems);
  bool whole = false;
  try {
    std::istream stream(&input);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    whole = !input.ran_dry();
  } catch (const Refused&) {
    if (!input.ran_dry()) return Tree();
  } catch (const YAML::Exception& problem) {
    if (!input.ran_dry()) {
      const YAML::Mark& mark = problem.mark;
      const bool known = !mark.is_null();
      problems.add(Rule::yaml_syntax,
                   {file, known ? static_cast<std::uint32_t>(mark.line + 1) : 0,
                    known ? static_cast<std::uint32_t>(mark.column + 1) : 0},
                   "", {problem.msg, hint_for(problem.msg, line_of(source.text, mark.line + 1))});
      return Tree();
    }
  }
  if (!whole) {
    const auto last = static_cast<std::uint32_t>(tree.size() - 1);
    const std::uint32_t line = tree.empty() ? 1 : tree.at(last).line;
    problems.add(Rule::run_too_long, {file, line, 1}, "",
                 {std::to_string(base::limits::registry_unfinished_bytes_max)});
    return Tree();
  }
  return builder.check_last_quote(source.text) ? std::move(tree) : Tree();
}

}  // namespace turnpike::registry
