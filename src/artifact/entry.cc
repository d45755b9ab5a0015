#include "artifact/entry.h"

#include <cstring>

namespace pliant::artifact {
namespace {

// The end of a record: words of what it lists stand before it, and bytes that fill it up to the alignment before these.
struct Header {
  unsigned char magic[16];
  uint32_t kind;
  uint32_t first, second;  // args and ints, or the counts of reads and writes
  uint32_t reserved;
};
static_assert(sizeof(Header) == 32);

constexpr unsigned char kMagic[16] = {0x0f, 0x0b, 'P',  'L',  'N', 'T', 0xf7, 0x3c,
                                      0x91, 0xd5, 0x68, 0xa2, 'E', 'N', 0x0f, 0x0b};

uint64_t mask_words(uint64_t args) { return (args + 31) / 32; }

}  // namespace

std::vector<std::byte> encode_entry(const Entry& entry) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.kind = static_cast<uint32_t>(entry.kind);
  std::vector<uint32_t> words;
  if (entry.kind == Entry::Kind::Kernel) {
    header.first = entry.args;
    header.second = entry.ints;
    words.resize(mask_words(entry.args));
    for (uint32_t i = 0; i < entry.args && i < entry.writes_to.size(); ++i)
      words[i / 32] |= uint32_t{entry.writes_to[i]} << i % 32;
  } else {
    header.first = static_cast<uint32_t>(entry.reads.size());
    header.second = static_cast<uint32_t>(entry.writes.size());
    words = entry.reads;
    words.insert(words.end(), entry.writes.begin(), entry.writes.end());
  }
  const uint64_t used = words.size() * sizeof(uint32_t) + sizeof header;
  std::vector<std::byte> out((used + kEntryAlignment - 1) / kEntryAlignment * kEntryAlignment, std::byte{0xcc});
  std::byte* at = out.data() + (out.size() - used);
  if (!words.empty()) std::memcpy(at, words.data(), words.size() * sizeof(uint32_t));
  std::memcpy(out.data() + (out.size() - sizeof header), &header, sizeof header);
  return out;
}

bool find_entry(std::span<const std::byte> text, uint64_t offset, Entry& out) {
  if (offset >= text.size() || offset % kEntryAlignment != 0 || offset < sizeof(Header)) return false;
  Header header;
  std::memcpy(&header, text.data() + (offset - sizeof header), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return false;
  const bool is_kernel = header.kind == static_cast<uint32_t>(Entry::Kind::Kernel);
  if (!is_kernel && header.kind != static_cast<uint32_t>(Entry::Kind::Shape)) return false;
  const uint64_t count = is_kernel ? mask_words(header.first) : uint64_t{header.first} + header.second;
  const uint64_t room = (offset - sizeof header) / sizeof(uint32_t);
  if (count > room) return false;
  std::vector<uint32_t> words(count);
  if (count > 0)
    std::memcpy(words.data(), text.data() + (offset - sizeof header - count * sizeof(uint32_t)), count * sizeof(uint32_t));
  out = {};
  out.kind = static_cast<Entry::Kind>(header.kind);
  if (is_kernel) {
    out.args = header.first;
    out.ints = header.second;
    out.writes_to.resize(header.first);
    for (uint32_t i = 0; i < header.first; ++i) out.writes_to[i] = (words[i / 32] >> i % 32 & 1) != 0;
  } else {
    const auto middle = words.begin() + header.first;
    out.reads.assign(words.begin(), middle);
    out.writes.assign(middle, words.end());
  }
  return true;
}

}  // namespace pliant::artifact
