#include "plugin/elf.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace turnpike::plugin {

namespace {

using Bytes = std::span<const std::uint8_t>;

#if defined(__x86_64__)
constexpr std::uint16_t own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t own_machine = EM_AARCH64;
#else
#error "plugins are loaded on x86-64 and AArch64 only"
#endif

constexpr std::size_t segments_max = 64;  // linkers create four or five

// The record at `offset`, copied since the file promises no alignment.
template <class Record>
std::optional<Record> read(Bytes bytes, std::uint64_t offset) noexcept {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof(Record));
  return record;
}

// The NUL-terminated text at `offset`, if its end is inside too.
std::optional<std::string_view> text_at(Bytes bytes, std::uint64_t offset) noexcept {
  if (offset >= bytes.size()) return std::nullopt;
  const auto* begin = reinterpret_cast<const char*>(bytes.data()) + offset;
  const void* end = std::memchr(begin, 0, bytes.size() - offset);
  if (end == nullptr) return std::nullopt;
  return std::string_view(begin, static_cast<const char*>(end) - begin);
}

}  // namespace

// Fills an ElfImage, table after table; each step returns the fault of the file, if any.
class ElfReader {
 public:
  explicit ElfReader(Bytes file) { image_.file_ = file; }

  std::string run() {
    for (auto step :
         {&ElfReader::read_header, &ElfReader::read_segments, &ElfReader::read_dynamic_section,
          &ElfReader::read_strings, &ElfReader::read_symbols}) {
      std::string problem = (this->*step)();
      if (!problem.empty()) return problem;
    }
    return {};
  }
  ElfImage take() { return std::move(image_); }

 private:
  static std::string damaged(std::string_view what) {
    return "is damaged (" + std::string(what) + "); build or copy it again";
  }

  std::string read_header() {
    const Bytes file = image_.file_;
    if (file.size() < EI_NIDENT || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
      return "is not an ELF file; plugins are shared objects built with turnpike_add_plugin()";
    }
    constexpr std::uint8_t own_order =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (file[EI_CLASS] != ELFCLASS64 || file[EI_DATA] != own_order) return other_machine();
    const auto header = read<Elf64_Ehdr>(file, 0);
    if (!header) return damaged("its header is cut short");
    header_ = *header;
    if (header_.e_machine != own_machine) return other_machine();
    if (header_.e_type != ET_DYN) {
      return "is no shared object; build it with turnpike_add_plugin()";
    }
    return {};
  }

  static std::string other_machine() {
    return "is built for another kind of machine than this gateway; build it on this platform";
  }

  std::string read_segments() {
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return damaged("its program headers are odd");
    for (std::uint64_t at = 0; at < header_.e_phnum; ++at) {
      const std::uint64_t distance = at * sizeof(Elf64_Phdr);
      if (header_.e_phoff > image_.file_.size()) return damaged("its program headers are missing");
      const auto segment = read<Elf64_Phdr>(image_.file_, header_.e_phoff + distance);
      if (!segment) return damaged("its program headers are cut short");
      if (segment->p_type != PT_LOAD && segment->p_type != PT_DYNAMIC) continue;
      const std::uint64_t size = segment->p_filesz;
      if (segment->p_offset > image_.file_.size() ||
          size > image_.file_.size() - segment->p_offset) {
        return damaged("a segment ends after the file");
      }
      if (segment->p_type == PT_LOAD) {
        if (image_.segments_.size() == segments_max) return damaged("it has too many segments");
        image_.segments_.push_back({segment->p_vaddr, segment->p_offset, size});
      } else {
        dynamic_ = image_.file_.subspan(segment->p_offset, size);
      }
    }
    return dynamic_.empty() ? damaged("it has no dynamic section") : std::string();
  }

  std::string read_dynamic_section() {
    for (std::uint64_t offset = 0;; offset += sizeof(Elf64_Dyn)) {
      const auto entry = read<Elf64_Dyn>(dynamic_, offset);
      if (!entry) return damaged("its dynamic section has no end");
      switch (entry->d_tag) {
        case DT_NULL:
          return {};
        case DT_NEEDED:
          needed_offsets_.push_back(entry->d_un.d_val);
          break;
        case DT_STRTAB:
          strings_address_ = entry->d_un.d_ptr;
          break;
        case DT_STRSZ:
          strings_size_ = entry->d_un.d_val;
          break;
        case DT_SYMTAB:
          symbols_address_ = entry->d_un.d_ptr;
          break;
        case DT_SYMENT:
          symbol_size_ = entry->d_un.d_val;
          break;
        case DT_HASH:
          hash_address_ = entry->d_un.d_ptr;
          break;
        case DT_GNU_HASH:
          gnu_hash_address_ = entry->d_un.d_ptr;
          break;
        default:
          break;
      }
    }
  }

  std::string read_strings() {
    const auto strings = image_.bytes_at(strings_address_, strings_size_);
    if (!strings) return damaged("its string table is missing");
    strings_ = *strings;
    for (const std::uint64_t offset : needed_offsets_) {
      const auto name = text_at(strings_, offset);
      if (!name) return damaged("the name of a needed library is missing");
      image_.needed_libraries_.push_back(*name);
    }
    return {};
  }

  std::string read_symbols() {
    if (symbol_size_ != sizeof(Elf64_Sym)) return damaged("its symbol table is odd");
    const auto count = symbol_count();
    if (!count) return damaged("its symbol hash table is missing or inconsistent");
    const auto table = image_.bytes_at(symbols_address_, *count * sizeof(Elf64_Sym));
    if (!table) return damaged("its symbol table is cut short");
    std::uint64_t name_bytes = 0;
    for (std::uint64_t at = 1; at < *count; ++at) {  // the first one is reserved
      const auto symbol = read<Elf64_Sym>(*table, at * sizeof(Elf64_Sym));
      const auto name = text_at(strings_, symbol->st_name);
      if (!name) return damaged("the name of a symbol is missing");
      // Names may overlap; without this check a hostile file could cause work quadratic in its
      // size.
      name_bytes += name->size();
      if (name_bytes > 16 * image_.file_.size()) return damaged("its symbol names overlap");
      if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) continue;
      image_.symbols_.push_back({*name, symbol->st_value, symbol->st_shndx != SHN_UNDEF});
    }
    return {};
  }

  // The dynamic section lacks the length of the symbol table; the hash tables have it.
  std::optional<std::uint64_t> symbol_count() const noexcept {
    const std::uint64_t possible = image_.file_.size() / sizeof(Elf64_Sym);
    std::optional<std::uint64_t> count;
    if (hash_address_ != 0) {
      const auto head = image_.bytes_at(hash_address_, 2 * sizeof(std::uint32_t));
      if (head) count = *read<std::uint32_t>(*head, sizeof(std::uint32_t));
    } else if (gnu_hash_address_ != 0) {
      count = count_by_gnu_hash(possible);
    }
    if (count && *count > possible) return std::nullopt;
    return count;
  }

  // Layout: bucket count, index of the first hashed symbol, bloom words, bloom shift; bloom words
  // of 8 bytes; buckets; chains, whose last link has its lowest bit set.
  std::optional<std::uint64_t> count_by_gnu_hash(std::uint64_t possible) const noexcept {
    const auto head = image_.bytes_at(gnu_hash_address_, 4 * sizeof(std::uint32_t));
    if (!head) return std::nullopt;
    const std::uint64_t buckets = *read<std::uint32_t>(*head, 0);
    const std::uint64_t first = *read<std::uint32_t>(*head, 4);
    const std::uint64_t bloom_words = *read<std::uint32_t>(*head, 8);
    const std::uint64_t table = gnu_hash_address_ + 16 + bloom_words * 8;
    const auto starts = image_.bytes_at(table, buckets * sizeof(std::uint32_t));
    if (!starts) return std::nullopt;
    std::uint64_t last = 0;
    for (std::uint64_t at = 0; at < buckets; ++at) {
      last = std::max<std::uint64_t>(last, *read<std::uint32_t>(*starts, at * 4));
    }
    if (last == 0) return first;  // no exported symbols
    if (last < first) return std::nullopt;
    const std::uint64_t chains = table + buckets * 4;
    for (; last < possible; ++last) {
      const auto link = image_.bytes_at(chains + (last - first) * 4, 4);
      if (!link) return std::nullopt;
      if ((*read<std::uint32_t>(*link, 0) & 1) != 0) return last + 1;
    }
    return std::nullopt;
  }

  ElfImage image_;
  Elf64_Ehdr header_{};
  Bytes dynamic_;
  Bytes strings_;
  std::vector<std::uint64_t> needed_offsets_;
  std::uint64_t strings_address_ = 0;
  std::uint64_t strings_size_ = 0;
  std::uint64_t symbols_address_ = 0;
  std::uint64_t symbol_size_ = 0;
  std::uint64_t hash_address_ = 0;
  std::uint64_t gnu_hash_address_ = 0;
};

Result<ElfImage, std::string> ElfImage::parse(std::span<const std::uint8_t> file) {
  ElfReader reader(file);
  std::string problem = reader.run();
  if (!problem.empty()) return problem;
  return reader.take();
}

const ElfSymbol* ElfImage::find(std::string_view name) const noexcept {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(),
                                  [name](const ElfSymbol& symbol) { return symbol.name == name; });
  return found == symbols_.end() ? nullptr : &*found;
}

std::optional<std::span<const std::uint8_t>> ElfImage::bytes_at(std::uint64_t address,
                                                                std::uint64_t size) const noexcept {
  for (const Segment& segment : segments_) {
    if (address < segment.address) continue;
    const std::uint64_t distance = address - segment.address;
    if (distance > segment.size || size > segment.size - distance) continue;
    return file_.subspan(segment.offset + distance, size);
  }
  return std::nullopt;
}

}  // namespace turnpike::plugin
