#include "runtime/load/image.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/load/imports.h"

namespace pliant::runtime {
namespace {

constexpr uint64_t kPage = 4096;

void place(std::byte* to, const std::vector<std::byte>& from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

}  // namespace

pliant_status LoadedImage::load(const artifact::NativeImage& image) {
  const uint64_t text = round_up(image.text.size(), kPage), rodata = round_up(image.rodata.size(), kPage);
  const uint64_t data = round_up(image.data.size(), kPage);
  if (text + rodata + data == 0) return PLIANT_OK;
  PLIANT_TRY(mapping_.map_memory(text + rodata + data));
  std::byte* base = mapping_.data();
  place(base, image.text);
  place(base + text, image.rodata);
  place(base + text + rodata, image.data);
  for (const artifact::Relocation& r : image.relocations) {
    uint64_t value = reinterpret_cast<uint64_t>(base) + r.addend;
    if (r.kind == artifact::Relocation::Kind::Import) {
      const std::string& name = image.imports[r.addend];
      void* function = find_import(name);
      if (function == nullptr)
        return fail(PLIANT_BAD_ARTIFACT, "the code needs a function \"%s\" that this runtime lacks", name.c_str());
      value = reinterpret_cast<uint64_t>(function);
    }
    std::memcpy(base + text + rodata + r.offset, &value, sizeof value);
  }
  if (mprotect(base, text, PROT_READ | PROT_EXEC) != 0 ||
      (rodata + data > 0 && mprotect(base + text, rodata + data, PROT_READ) != 0))
    return fail(PLIANT_OUT_OF_MEMORY, "the system refuses to make the code executable: %s", std::strerror(errno));
  return PLIANT_OK;
}

}  // namespace pliant::runtime
