#include "artifact/seal.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "artifact/sha256.h"

namespace pliant::artifact {
namespace {

struct Record {
  unsigned char magic[16];
  uint64_t bytes;  // of the text
  uint64_t reserved;
  Sha256 digest;
};
static_assert(sizeof(Record) == kSealBytes);

constexpr unsigned char kMagic[16] = {0x0f, 0x0b, 'P',  'L',  'N', 'T', 0x2d, 0xe1,
                                      0x57, 0x8c, 0xb3, 0x19, 'I', 'M', 0x0f, 0x0b};

Record record_of(const NativeImage& image) {
  // One hash of hashes, so that nothing can move from one part to the next.
  std::vector<std::byte> all;
  auto add = [&](std::span<const std::byte> bytes) {
    const Sha256 h = sha256(bytes);
    all.insert(all.end(), h.begin(), h.end());
  };
  auto text = [](const std::string& s) { return std::as_bytes(std::span(s)); };
  add(std::span(image.text).subspan(kSealBytes));
  add(image.rodata);
  add(image.data);
  std::vector<uint64_t> numbers;
  for (const Relocation& r : image.relocations)
    numbers.insert(numbers.end(), {static_cast<uint64_t>(r.kind), r.offset, r.addend});
  add(std::as_bytes(std::span(numbers)));
  for (const std::string& name : image.imports) add(text(name));
  Record record{};
  std::memcpy(record.magic, kMagic, sizeof kMagic);
  record.bytes = image.text.size();
  record.digest = sha256(all);
  return record;
}

}  // namespace

void seal(NativeImage& image) {
  const Record record = record_of(image);
  std::memcpy(image.text.data(), &record, sizeof record);
}

bool is_sealed(const NativeImage& image) {
  if (image.text.empty())
    return image.rodata.empty() && image.data.empty() && image.relocations.empty() && image.imports.empty();
  if (image.text.size() < kSealBytes) return false;
  const Record record = record_of(image);
  return std::memcmp(image.text.data(), &record, sizeof record) == 0;
}

}  // namespace pliant::artifact
