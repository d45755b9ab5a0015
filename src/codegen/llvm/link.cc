// The linker: ELF objects of one compilation to an image of text, read-only data and data.
//
// Code and read-only data reach each other relative to themselves: the three parts are mapped one after the other, each at a
// multiple of a page, so such references are final here. An absolute address in data is the loader's (Relocation Image);
// a function that no object defines is an import, called through a stub `jmp *slot(%rip)` whose slot the loader fills.
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <map>

#include "artifact/seal.h"
#include "codegen/llvm/backend.h"

namespace pliant::codegen {

namespace {

using llvm::object::ELF64LEObjectFile;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

constexpr uint64_t kPage = 4096;

enum class Part : uint8_t { Text, Rodata, Data };

struct Place {
  Part part;
  uint64_t offset;
};

template <class T>
T take(llvm::Expected<T> value) {
  PLIANT_CHECK(static_cast<bool>(value)) << llvm::toString(value.takeError());
  return std::move(*value);
}

class Linker {
 public:
  explicit Linker(artifact::NativeImage& image) : image_(image) { image_.text.resize(artifact::kSealBytes); }

  void add(const std::vector<std::byte>& object) {
    llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
    auto file = take(llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "unit")));
    auto* elf = llvm::dyn_cast<ELF64LEObjectFile>(file.get());
    PLIANT_CHECK(elf) << "the object is not 64-bit little-endian ELF";
    file.release();
    objects_.emplace_back(elf);
    const size_t number = objects_.size() - 1;
    for (const auto& section : elf->sections()) {
      const llvm::object::ELFSectionRef s(section);
      if (!(s.getFlags() & llvm::ELF::SHF_ALLOC) || section.getSize() == 0) continue;
      const bool is_text = s.getFlags() & llvm::ELF::SHF_EXECINSTR;
      const Part part = is_text ? Part::Text : s.getFlags() & llvm::ELF::SHF_WRITE ? Part::Data : Part::Rodata;
      std::vector<std::byte>& into = bytes_of(part);
      align(into, section.getAlignment().value(), is_text ? std::byte{0xcc} : std::byte{0});
      places_[{number, section.getIndex()}] = {part, into.size()};
      if (section.isBSS()) {
        into.resize(into.size() + section.getSize());
      } else {
        const llvm::StringRef contents = take(section.getContents());
        const auto* data = reinterpret_cast<const std::byte*>(contents.data());
        into.insert(into.end(), data, data + contents.size());
      }
    }
    for (const auto& symbol : elf->symbols()) {
      if (take(symbol.getFlags()) & SymbolRef::SF_Undefined) continue;
      auto section = take(symbol.getSection());
      if (section == elf->section_end()) continue;
      auto it = places_.find({number, section->getIndex()});
      if (it == places_.end() || !(take(symbol.getFlags()) & SymbolRef::SF_Global)) continue;
      const std::string name = take(symbol.getName()).str();
      PLIANT_CHECK(globals_.try_emplace(name, Place{it->second.part, it->second.offset + take(symbol.getValue())}).second)
          << "symbol " << name << " is defined twice";
    }
  }

  void resolve() {
    // Stubs come first: they are part of the text whose size places the rest.
    for (size_t i = 0; i < objects_.size(); ++i) {
      for_each_relocation(i, [&](const Place&, const llvm::object::ELFRelocationRef& r) {
        const std::string name = undefined_name(r);
        if (!name.empty()) stub(name);
      });
    }
    for (const std::string& name : image_.imports) stubs_[name] = make_stub();
    base_[static_cast<int>(Part::Rodata)] = round_up(image_.text.size());
    base_[static_cast<int>(Part::Data)] = base_[1] + round_up(image_.rodata.size());
    for (size_t k = 0; k < image_.imports.size(); ++k) {
      const Place slot{Part::Data, slot_offset(k)};
      const Place& code = stubs_[image_.imports[k]];
      patch32(Place{Part::Text, code.offset + 2}, address(slot) - (address(code) + 6));
    }
    for (size_t i = 0; i < objects_.size(); ++i) {
      for_each_relocation(i, [&](const Place& at, const llvm::object::ELFRelocationRef& r) { apply(i, at, r); });
    }
  }

  const Place& find(const std::string& symbol) const {
    auto it = globals_.find(symbol);
    PLIANT_CHECK(it != globals_.end() && it->second.part == Part::Text) << "function " << symbol << " was not generated";
    return it->second;
  }

 private:
  std::vector<std::byte>& bytes_of(Part p) {
    return p == Part::Text ? image_.text : p == Part::Rodata ? image_.rodata : image_.data;
  }
  static void align(std::vector<std::byte>& bytes, uint64_t to, std::byte fill) {
    bytes.resize((bytes.size() + to - 1) / to * to, fill);
  }
  static uint64_t round_up(uint64_t n) { return (n + kPage - 1) / kPage * kPage; }
  int64_t address(const Place& p) const { return static_cast<int64_t>(base_[static_cast<int>(p.part)] + p.offset); }

  template <class F>
  void for_each_relocation(size_t object, F&& f) {
    for (const auto& section : objects_[object]->sections()) {
      auto target = take(section.getRelocatedSection());
      if (target == objects_[object]->section_end()) continue;
      auto place = places_.find({object, target->getIndex()});
      if (place == places_.end()) continue;
      for (const auto& r : section.relocations()) {
        const Place at{place->second.part, place->second.offset + r.getOffset()};
        f(at, llvm::object::ELFRelocationRef(r));
      }
    }
  }

  std::string undefined_name(const llvm::object::ELFRelocationRef& r) {
    auto symbol = r.getSymbol();
    const std::string name = take(symbol->getName()).str();
    const bool undefined = take(symbol->getFlags()) & SymbolRef::SF_Undefined;
    return undefined && !globals_.count(name) ? name : "";
  }

  void stub(const std::string& name) {
    if (!stubs_.try_emplace(name, Place{}).second) return;
    const uint64_t number = image_.imports.size();
    image_.imports.push_back(name);
    if (number == 0) {
      align(image_.data, 8, std::byte{0});
      first_slot_ = image_.data.size();
    }
    image_.relocations.push_back({artifact::Relocation::Kind::Import, slot_offset(number), number});
    image_.data.resize(image_.data.size() + 8);
  }
  uint64_t slot_offset(uint64_t number) const { return first_slot_ + 8 * number; }

  Place make_stub() {
    align(image_.text, 16, std::byte{0xcc});
    const Place p{Part::Text, image_.text.size()};
    for (int b : {0xff, 0x25, 0, 0, 0, 0}) image_.text.push_back(static_cast<std::byte>(b));  // jmp *disp(%rip)
    return p;
  }

  void patch32(const Place& at, int64_t value) {
    PLIANT_CHECK(value == static_cast<int32_t>(value)) << "the image is too large for relative addresses";
    const int32_t v = static_cast<int32_t>(value);
    std::memcpy(bytes_of(at.part).data() + at.offset, &v, 4);
  }

  Place place_of(size_t object, const SymbolRef& symbol) {
    const std::string name = take(symbol.getName()).str();
    if (auto it = stubs_.find(name); it != stubs_.end() && (take(symbol.getFlags()) & SymbolRef::SF_Undefined))
      return it->second;
    if (take(symbol.getFlags()) & SymbolRef::SF_Undefined) return globals_.at(name);
    const auto section = take(symbol.getSection());
    const Place& p = places_.at({object, section->getIndex()});
    return {p.part, p.offset + take(symbol.getValue())};
  }

  void apply(size_t object, const Place& at, const llvm::object::ELFRelocationRef& r) {
    const Place target = place_of(object, *r.getSymbol());
    const int64_t addend = take(r.getAddend());
    switch (r.getType()) {
      case llvm::ELF::R_X86_64_PC32:
      case llvm::ELF::R_X86_64_PLT32: return patch32(at, address(target) + addend - address(at));
      case llvm::ELF::R_X86_64_PC64: {
        const int64_t v = address(target) + addend - address(at);
        std::memcpy(bytes_of(at.part).data() + at.offset, &v, 8);
        return;
      }
      case llvm::ELF::R_X86_64_64:
        PLIANT_CHECK(at.part == Part::Data) << "an absolute address outside the data";
        image_.relocations.push_back(
            {artifact::Relocation::Kind::Image, at.offset, static_cast<uint64_t>(address(target) + addend)});
        return;
      default: PLIANT_CHECK(false) << "relocation type " << r.getType() << " is not supported";
    }
  }

  artifact::NativeImage& image_;
  std::vector<std::unique_ptr<ELF64LEObjectFile>> objects_;
  std::map<std::pair<size_t, uint64_t>, Place> places_;  // (object, section index)
  std::map<std::string, Place> globals_;
  std::map<std::string, Place> stubs_;
  uint64_t first_slot_ = 0;
  uint64_t base_[3] = {0, 0, 0};
};

}  // namespace

void link(const std::vector<const std::vector<std::byte>*>& objects, const std::vector<std::string>& symbols,
          artifact::NativeImage& image, std::vector<uint64_t>& offsets) {
  Linker linker(image);
  for (const auto* object : objects) linker.add(*object);
  linker.resolve();
  offsets.clear();
  for (const std::string& s : symbols) offsets.push_back(linker.find(s).offset);
  artifact::seal(image);
}

}  // namespace pliant::codegen
