// Templates: the layouts of pages, and the values that they show. A layout is HTML with marks:
// {{NAME}} is a value, {{#NAME}}...{{/NAME}} a section that is shown once for each row added to it,
// {{>NAME}} another layout. Every value is escaped by its context: text, attribute, URL. Values
// whose names end in _HTML or _SVG are trusted markup, and only they may occur as {{NAME:none}}.
//
// Templates are made at start or reload, immutable; any Thread. Slots and a Sheet belong to one
// Thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace ctemplate {
class TemplateCache;
class TemplateDictionary;
}  // namespace ctemplate

namespace turnpike::site {

// Markup made by our code, so it is not escaped.
struct Markup {
  std::string text;
};

// The values of one template, or of one row of a section. A handle: valid as long as the Sheet. A
// value missing in a row is taken from the enclosing rows; an included template sees only its own.
class Slots {
 public:
  explicit Slots(ctemplate::TemplateDictionary* values) noexcept : values_(values) {}

  void set(std::string_view name, std::string_view text);
  void set(std::string_view name, const char* text) { set(name, std::string_view(text)); }
  void set(std::string_view name, std::int64_t number);
  // REQUIRES: `name` ends in _HTML or _SVG.
  void set(std::string_view name, const Markup& markup);
  // Sets the value, and NAME_HTML to the same text with chances to break a line (breaks.h).
  void set_long_name(std::string_view name, std::string_view text);
  // Sets a value for all templates of the page, including included ones.
  void set_everywhere(std::string_view name, std::string_view text);
  // Sets the value and shows the section NAME_IS_SET (unless the text is empty).
  void set_if(std::string_view name, std::string_view text);

  // Adds a row to a section.
  Slots add(std::string_view section);
  // Shows a section that needs no values of its own.
  void show(std::string_view section);
  void show_if(bool is_shown, std::string_view section) {
    if (is_shown) show(section);
  }
  // Returns the values of the layout that is included at {{>MARK}}: "dashboard/calls.html".
  Slots include(std::string_view mark, std::string_view layout);

 private:
  ctemplate::TemplateDictionary* values_;
};

// The values of a whole page.
class Sheet {
 public:
  Sheet();
  ~Sheet();
  Sheet(Sheet&&) noexcept;
  Sheet(const Sheet&) = delete;
  Sheet& operator=(const Sheet&) = delete;

  [[nodiscard]] Slots slots() noexcept { return Slots(values_.get()); }

 private:
  friend class Templates;
  std::unique_ptr<ctemplate::TemplateDictionary> values_;
};

class Templates {
 public:
  // Compiles layouts by their names below layouts/, such as "people/login.html". The error names
  // the layout and the mistake.
  static Result<Templates, std::string> compile(const std::map<std::string, std::string>& layouts);
  ~Templates();
  Templates(Templates&&) noexcept;

  [[nodiscard]] bool has(std::string_view layout) const noexcept;
  // Throws std::logic_error if the layout, or an included one, is missing: a defect.
  [[nodiscard]] std::string render(std::string_view layout, const Sheet& sheet) const;

 private:
  Templates();
  std::unique_ptr<ctemplate::TemplateCache> cache_;
  std::vector<std::string> names_;  // sorted
};

}  // namespace turnpike::site
