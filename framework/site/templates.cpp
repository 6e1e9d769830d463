#include "site/templates.h"

#include <algorithm>
#include <stdexcept>

#include <ctemplate/template.h>
#include <ctemplate/template_cache.h>
#include <ctemplate/template_dictionary.h>

#include "site/breaks.h"
#include "text/xml_text.h"

namespace turnpike::site {

namespace {

ctemplate::TemplateString view_of(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

bool is_markup_name(std::string_view name) noexcept {
  return name.ends_with("_HTML") || name.ends_with("_SVG");
}

// Returns a value that is not escaped although its name does not mark it as markup; empty: there is
// none.
std::string unescaped_value(std::string_view layout) {
  constexpr std::string_view none = ":none}}";
  for (std::size_t at = layout.find(none); at != layout.npos; at = layout.find(none, at + 1)) {
    const std::size_t begin = layout.rfind("{{", at);
    if (begin == layout.npos) continue;
    const std::string_view name = layout.substr(begin + 2, at - begin - 2);
    if (!is_markup_name(name)) return std::string(name);
  }
  return {};
}

}  // namespace

void Slots::set(std::string_view name, std::string_view text) {
  if (is_markup_name(name)) throw std::logic_error("a text is no markup: " + std::string(name));
  values_->SetValue(view_of(name), view_of(text));
}

void Slots::set(std::string_view name, std::int64_t number) {
  values_->SetIntValue(view_of(name), static_cast<long>(number));
}

void Slots::set(std::string_view name, const Markup& markup) {
  if (!is_markup_name(name)) throw std::logic_error("no name of markup: " + std::string(name));
  values_->SetValue(view_of(name), view_of(markup.text));
}

void Slots::set_long_name(std::string_view name, std::string_view text) {
  set(name, text);
  Markup markup;
  std::size_t done = 0;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (!may_break_behind(text, at)) continue;
    text::append_xml(markup.text, text.substr(done, at + 1 - done));
    markup.text += "<wbr>";
    done = at + 1;
  }
  text::append_xml(markup.text, text.substr(done));
  set(std::string(name) + "_HTML", markup);
}

void Slots::set_everywhere(std::string_view name, std::string_view text) {
  if (is_markup_name(name)) throw std::logic_error("a text is no markup: " + std::string(name));
  values_->SetTemplateGlobalValue(view_of(name), view_of(text));
}

void Slots::set_if(std::string_view name, std::string_view text) {
  if (text.empty()) return;
  set(name, text);
  show(std::string(name) + "_IS_SET");
}

Slots Slots::add(std::string_view section) {
  return Slots(values_->AddSectionDictionary(view_of(section)));
}

void Slots::show(std::string_view section) { values_->ShowSection(view_of(section)); }

Slots Slots::include(std::string_view mark, std::string_view layout) {
  ctemplate::TemplateDictionary* const values = values_->AddIncludeDictionary(view_of(mark));
  values->SetFilename(view_of(layout));
  return Slots(values);
}

Sheet::Sheet() : values_(std::make_unique<ctemplate::TemplateDictionary>("page")) {}
Sheet::~Sheet() = default;
Sheet::Sheet(Sheet&&) noexcept = default;

Templates::Templates() : cache_(std::make_unique<ctemplate::TemplateCache>()) {}
Templates::~Templates() = default;
Templates::Templates(Templates&&) noexcept = default;

Result<Templates, std::string> Templates::compile(
    const std::map<std::string, std::string>& layouts) {
  Templates templates;
  for (const auto& [name, text] : layouts) {
    if (const std::string value = unescaped_value(text); !value.empty()) {
      return "layouts/" + name + ": {{" + value +
             ":none}} would show a text without escaping it; only values of which the name ends in "
             "_HTML or _SVG may stand so";
    }
    const std::string escaping = "{{%AUTOESCAPE context=\"HTML\"}}" + text;
    // The library prints the mistake, with its line, to standard error.
    if (!templates.cache_->StringToTemplateCache(name, escaping, ctemplate::STRIP_BLANK_LINES)) {
      return "layouts/" + name + ": it cannot be read as a layout (the lines above say where): a " +
             "section is not closed, or a value stands where it cannot be escaped, such as in an " +
             "attribute without quotes";
    }
    templates.names_.push_back(name);
  }
  templates.cache_->Freeze();
  return templates;
}

bool Templates::has(std::string_view layout) const noexcept {
  return std::binary_search(names_.begin(), names_.end(), layout);
}

std::string Templates::render(std::string_view layout, const Sheet& sheet) const {
  std::string out;
  if (!cache_->ExpandNoLoad(view_of(layout), ctemplate::STRIP_BLANK_LINES, sheet.values_.get(),
                            nullptr, &out)) {
    throw std::logic_error("the layout " + std::string(layout) +
                           ", or one within it, is not there");
  }
  return out;
}

}  // namespace turnpike::site
