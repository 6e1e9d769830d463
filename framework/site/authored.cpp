#include "site/authored.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <yaml-cpp/yaml.h>

namespace turnpike::site {

namespace {

registry::Problem problem_at(const std::string& place, int line, std::string message) {
  return {"site", place, line, 0, {}, std::move(message)};
}

bool is_date(std::string_view text) noexcept {
  if (text.size() != 10) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_dash = at == 4 || at == 7;
    if (is_dash ? text[at] != '-' : text[at] < '0' || text[at] > '9') return false;
  }
  return true;
}

// Whether the name has only segments of lower-case letters, digits, dots, dashes and underscores.
bool is_fit_for_paths(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == '/';
  });
}

struct Split {
  std::string front;
  std::string markdown;
  int first_line = 0;  // of the Markdown
};

// Nothing: the file has no front matter, or its front matter does not end.
std::optional<Split> split_of(std::string_view text) {
  constexpr std::string_view mark = "---\n";
  if (!text.starts_with(mark)) return std::nullopt;
  const std::size_t end = text.find("\n---\n", mark.size() - 1);
  if (end == text.npos) return std::nullopt;
  Split split;
  split.front = text.substr(mark.size(), end + 1 - mark.size());
  split.markdown = text.substr(end + 5);
  split.first_line = 3 + static_cast<int>(std::count(split.front.begin(), split.front.end(), '\n'));
  return split;
}

// Reads the keys of one front matter into a page.
class FrontMatter {
 public:
  FrontMatter(AuthoredPage& page, Problems& problems) : page_(page), problems_(problems) {}

  void read(const std::string& text) {
    try {
      const YAML::Node root = YAML::Load(text);
      if (!root.IsMap()) return fault(2, "the front matter is no list of `key: value`");
      for (const auto& entry : root) {
        const auto key = entry.first.as<std::string>();
        line_ = entry.first.Mark().line + 2;
        if (!seen_.insert(key).second) fault(line_, "`" + key + "` stands there twice");
        take(key, entry.second);
      }
    } catch (const YAML::Exception& error) {
      fault(error.mark.is_null() ? line_ : error.mark.line + 2, "front matter: " + error.msg);
    }
  }

 private:
  void take(const std::string& key, const YAML::Node& value) {
    if (key == "title") return text(key, value, page_.title);
    if (key == "description") return text(key, value, page_.description);
    if (key == "layout") return text(key, value, page_.layout);
    if (key == "updated") {
      text(key, value, page_.updated);
      if (!is_date(page_.updated)) fault(line_, "`updated` is a day such as 2026-11-24");
      return;
    }
    if (key == "noindex") {
      page_.is_indexed = !value.as<bool>();
      return;
    }
    if (key == "nav") return place(key, value, page_.order, page_.label);
    if (key == "foot") return place(key, value, page_.foot_order, page_.foot_label);
    if (key == "removed") return removed(value);
    fault(line_, "unknown key `" + key +
                     "`; known are title, description, layout, nav, foot, updated, noindex, "
                     "removed");
  }

  void text(const std::string& key, const YAML::Node& value, std::string& out) {
    if (!value.IsScalar() || value.Scalar().empty()) return fault(line_, "`" + key + "` is a text");
    out = value.Scalar();
  }

  void place(const std::string& key, const YAML::Node& value, std::int64_t& order,
             std::string& label) {
    const bool is_whole = value.IsMap() && value.size() == 2 && value["order"] && value["label"];
    if (!is_whole) return fault(line_, "`" + key + "` is {order: NUMBER, label: TEXT}");
    order = value["order"].as<std::int64_t>();
    text(key + ".label", value["label"], label);
  }

  void removed(const YAML::Node& value) {
    const std::string what = value.IsScalar() ? value.Scalar() : "";
    if (what != "page" && what != "all") {
      return fault(line_, "`removed` is page, or all for the pages below it, too");
    }
    page_.removal = what == "all" ? Removal::all : Removal::page;
  }

  void fault(int line, std::string message) {
    problems_.push_back(problem_at(page_.place, line, std::move(message)));
  }

  AuthoredPage& page_;
  Problems& problems_;
  std::set<std::string> seen_;
  int line_ = 2;
};

// Nothing: the file is not a page, or has a mistake.
std::optional<AuthoredPage> read_page(const SiteFile& file, AuthoredPage page, Problems& problems) {
  const std::size_t before = problems.size();
  auto split = split_of(file.text);
  if (!split) {
    problems.push_back(problem_at(
        file.place, 1, "a page begins with front matter: YAML between two lines `---`"));
    return std::nullopt;
  }
  FrontMatter(page, problems).read(split->front);
  if (page.removal != Removal::none) {
    if (split->markdown.find_first_not_of(" \n") != split->markdown.npos) {
      problems.push_back(problem_at(file.place, split->first_line,
                                    "a page that is removed has no text"));
    }
    if (problems.size() > before) return std::nullopt;
    return page;
  }
  const auto need = [&](std::string_view key, bool is_there) {
    if (is_there || problems.size() > before) return;
    problems.push_back(
        problem_at(file.place, 1, "the front matter lacks `" + std::string(key) + "`"));
  };
  need("title", !page.title.empty());
  need("description", !page.description.empty());
  need("updated", !page.is_post || !page.updated.empty());
  page.markdown = std::move(split->markdown);
  page.first_line = split->first_line;
  if (page.markdown.find_first_not_of(" \n") == page.markdown.npos) {
    problems.push_back(problem_at(file.place, page.first_line, "the page has no text"));
  }
  if (problems.size() > before) return std::nullopt;
  return page;
}

// "`developers/index`" becomes "/developers".
std::string path_of(std::string_view name) {
  std::string path = "/" + std::string(name.substr(0, name.size() - 3));
  if (path == "/index") return "/";
  constexpr std::string_view index = "/index";
  if (path.ends_with(index)) path.resize(path.size() - index.size());
  return path;
}

bool is_page_name(std::string_view name) noexcept {
  return name.ends_with(".md") && name != "README.md" && !name.ends_with("/README.md");
}

constexpr std::string_view provider_page_name = "products/_provider.md";

}  // namespace

Authored::Authored(const SiteFiles& pages, const SiteFiles& posts, Problems& problems) {
  for (const auto& [name, file] : pages) {
    if (!is_page_name(name)) continue;
    if (!is_fit_for_paths(name)) {
      problems.push_back(problem_at(file.place, 1,
                                    "the name of a page is made of a-z, 0-9, '-', '_' and '.'"));
      continue;
    }
    AuthoredPage page;
    page.place = file.place;
    const bool is_of_provider = name == provider_page_name;
    if (!is_of_provider) page.path = path_of(name);
    take(file, std::move(page), problems);
  }
  for (const auto& [name, file] : posts) {
    if (!is_page_name(name)) continue;
    AuthoredPage page;
    page.place = file.place;
    page.path = "/blog" + path_of(name);
    page.layout = "post.html";
    page.is_post = true;
    const std::string_view slug = std::string_view(name).substr(0, name.size() - 3);
    if (!is_fit_for_paths(slug) || slug.find('/') != slug.npos) {
      problems.push_back(
          problem_at(file.place, 1, "the name of a post is made of a-z, 0-9, '-', '_' and '.'"));
      continue;
    }
    take(file, std::move(page), problems);
  }
  remove();
  for (const auto& [path, page] : pages_) {
    if (page.is_post) posts_.push_back(&page);
    if (!page.label.empty()) menu_.push_back(&page);
    if (!page.foot_label.empty()) foot_.push_back(&page);
  }
  std::stable_sort(posts_.begin(), posts_.end(), [](const auto* left, const auto* right) {
    return left->updated > right->updated;
  });
  std::stable_sort(menu_.begin(), menu_.end(), [](const auto* left, const auto* right) {
    return left->order < right->order;
  });
  std::stable_sort(foot_.begin(), foot_.end(), [](const auto* left, const auto* right) {
    return left->foot_order < right->foot_order;
  });
}

void Authored::take(const SiteFile& file, AuthoredPage page, Problems& problems) {
  page.is_of_overlay = file.is_of_overlay;
  auto read = read_page(file, std::move(page), problems);
  if (!read) return;
  if (read->removal != Removal::none) {
    // An upgrade may rename or remove the page that the overlay removes. After a rename the page
    // would reappear under its new name, so the dangling removal is reported.
    if (!file.replaces) {
      problems.push_back(problem_at(file.place, 1, "there is no page of this name to remove"));
    } else if (read->path == "/") {
      problems.push_back(problem_at(file.place, 1, "`/` is no page that can be removed"));
    } else {
      removals_.push_back(*std::move(read));
    }
  } else if (read->path.empty()) {
    of_provider_ = *std::move(read);
  } else {
    add(*std::move(read), problems);
  }
}

void Authored::remove() {
  for (const AuthoredPage& removal : removals_) {
    if (removal.path.empty()) continue;  // the common page of providers: never read
    removed_.insert(removal.path);
    if (removal.removal != Removal::all) continue;
    const std::string below = removal.path + "/";
    std::erase_if(pages_, [&](const auto& entry) {
      const bool goes = entry.first.starts_with(below) && !entry.second.is_of_overlay;
      if (goes) removed_.insert(entry.first);
      return goes;
    });
  }
  removals_.clear();
}

void Authored::add(AuthoredPage page, Problems& problems) {
  const auto [known, is_new] = pages_.try_emplace(page.path, page);
  if (is_new) return;
  problems.push_back(problem_at(page.place, 1, "its path " + page.path + " is also the one of " +
                                                   known->second.place));
}

const AuthoredPage* Authored::find(std::string_view path) const noexcept {
  const auto found = pages_.find(path);
  return found == pages_.end() ? nullptr : &found->second;
}

std::vector<Link> Authored::menu(std::string_view path) const {
  std::vector<Link> links;
  for (const AuthoredPage* const page : menu_) {
    const bool is_above = page->path != "/" && path.starts_with(page->path) &&
                          path.substr(page->path.size()).starts_with('/');
    links.push_back({page->label, page->path, path == page->path || is_above});
  }
  return links;
}

std::vector<Link> Authored::foot() const {
  std::vector<Link> links;
  for (const AuthoredPage* const page : foot_) links.push_back({page->foot_label, page->path});
  return links;
}

}  // namespace turnpike::site
