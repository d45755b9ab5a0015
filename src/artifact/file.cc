#include "artifact/file.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "artifact/program_bytes.h"
#include "artifact/sha256.h"
#include "artifact/verify/verify.h"

namespace pliant::artifact {
namespace {

constexpr unsigned char kMagic[8] = {0x89, 'P', 'L', 'N', 'T', '\r', '\n', 0x1a};

struct Header {
  unsigned char magic[8];
  uint32_t version;
  uint32_t sections;
  uint64_t file_bytes;
  uint8_t reserved[40];
};
static_assert(sizeof(Header) == 64);

enum class SectionKind : uint32_t { Tables, Text, Rodata, Data, Constants, Debug };
constexpr size_t kSectionsOfVariant = 5;  // besides Constants
constexpr uint64_t kTableAlignment = 8;
struct Section {
  SectionKind kind;
  uint32_t variant;
  uint64_t offset;
  uint64_t bytes;
};
static_assert(sizeof(Section) == 24);

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

using Bytes = std::span<const std::byte>;

// Where the constants of all variants go: equal bytes share one place.
struct ConstantPlaces {
  std::vector<std::vector<ConstantDesc>> of;         // [variant][constant]
  std::vector<std::pair<uint64_t, Bytes>> contents;  // offset, bytes; ascending
  uint64_t bytes = 0;
};

ConstantPlaces place_constants(std::span<const Variant> variants) {
  ConstantPlaces out;
  // What may be equal: the same size and the same beginning. Most others are told apart without reading them.
  std::map<std::pair<size_t, Sha256>, std::vector<std::pair<uint64_t, Bytes>>> alike;
  for (const Variant& v : variants) {
    auto& descs = out.of.emplace_back();
    for (Bytes c : v.constants) {
      auto& candidates = alike[{c.size(), sha256(c.first(std::min<size_t>(c.size(), 256)))}];
      auto same = std::find_if(candidates.begin(), candidates.end(), [&](const auto& other) {
        return c.empty() || std::memcmp(other.second.data(), c.data(), c.size()) == 0;
      });
      if (same == candidates.end()) {
        const uint64_t offset = round_up(out.bytes, kConstantAlignment);
        candidates.emplace_back(offset, c);
        out.contents.emplace_back(offset, c);
        out.bytes = offset + c.size();
        same = candidates.end() - 1;
      }
      descs.push_back({same->first, c.size()});
    }
  }
  return out;
}

struct Plan {
  Header header{};
  std::vector<Section> sections;
  std::vector<std::vector<std::byte>> tables, debug;
  ConstantPlaces constants;
};

Plan plan_file(std::span<const Variant> variants) {
  Plan plan;
  plan.constants = place_constants(variants);
  uint64_t at = sizeof(Header) + sizeof(Section) * (kSectionsOfVariant * variants.size() + 1);
  auto add = [&](SectionKind kind, size_t variant, uint64_t bytes, uint64_t alignment) {
    at = round_up(at, alignment);
    plan.sections.push_back({kind, static_cast<uint32_t>(variant), at, bytes});
    at += bytes;
  };
  for (size_t i = 0; i < variants.size(); ++i) {
    Program tables = variants[i].program;
    tables.constants = plan.constants.of[i];
    plan.tables.push_back(encode_tables(tables));
    add(SectionKind::Tables, i, plan.tables[i].size(), kTableAlignment);
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    const NativeImage& image = variants[i].program.image;
    add(SectionKind::Text, i, image.text.size(), kPageBytes);
    add(SectionKind::Rodata, i, image.rodata.size(), kPageBytes);
    add(SectionKind::Data, i, image.data.size(), kPageBytes);
  }
  add(SectionKind::Constants, 0, plan.constants.bytes, kPageBytes);
  for (size_t i = 0; i < variants.size(); ++i) {
    plan.debug.push_back(encode_debug(variants[i].debug));
    add(SectionKind::Debug, i, plan.debug[i].size(), kTableAlignment);
  }
  std::memcpy(plan.header.magic, kMagic, sizeof kMagic);
  plan.header.version = kFormatVersion;
  plan.header.sections = static_cast<uint32_t>(plan.sections.size());
  plan.header.file_bytes = at + kDigestBytes;
  return plan;
}

bool fail(std::string& error, std::string text) {
  error = std::move(text);
  return false;
}

// Header, size and digest.
bool check_frame(Bytes bytes, const ReadOptions& options, Header& header, Digest& digest, std::string& error) {
  if (!has_magic(bytes)) return fail(error, "this is not a .pliant file");
  if (bytes.size() < sizeof(Header) + kDigestBytes)
    return fail(error, "the file is cut short: " + std::to_string(bytes.size()) + " bytes cannot hold its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kFormatVersion)
    return fail(error, "the file has format version " + std::to_string(header.version) + " but this runtime reads version " +
                           std::to_string(kFormatVersion) + "; compile the model again");
  if (header.file_bytes != bytes.size())
    return fail(error,
                (header.file_bytes > bytes.size() ? "the file is cut short: it has " : "the file is too long: it has ") +
                    std::to_string(bytes.size()) + " bytes but should have " + std::to_string(header.file_bytes));
  std::memcpy(digest.data(), bytes.data() + bytes.size() - kDigestBytes, kDigestBytes);
  if (options.check_digest && digest_of(bytes.first(bytes.size() - kDigestBytes), options.threads) != digest)
    return fail(error, "the file is damaged: its contents do not match its digest");
  return true;
}

// The section table: kinds as the writer orders them, ascending, aligned, inside the file.
bool check_sections(std::span<const Section> sections, uint64_t end, std::string& error) {
  const size_t variants = sections.size() / kSectionsOfVariant, constants = 4 * variants;
  uint64_t at = sizeof(Header) + sections.size_bytes();
  for (size_t i = 0; i < sections.size(); ++i) {
    const Section& s = sections[i];
    const bool tables = i < variants;
    const bool debug = i > constants;
    const auto kind = tables           ? SectionKind::Tables
                      : i == constants ? SectionKind::Constants
                      : debug          ? SectionKind::Debug
                                       : static_cast<SectionKind>(1 + (i - variants) % 3);
    const size_t variant = tables ? i : i == constants ? 0 : debug ? i - constants - 1 : (i - variants) / 3;
    if (s.kind != kind || s.variant != variant)
      return fail(error, "section " + std::to_string(i) + " of the file is of the wrong kind");
    if (s.offset < at || s.offset > end || s.bytes > end - s.offset ||
        s.offset % (tables || debug ? kTableAlignment : kPageBytes) != 0)
      return fail(error, "section " + std::to_string(i) + " of the file lies outside it");
    at = s.offset + s.bytes;
  }
  return true;
}

}  // namespace

bool has_magic(Bytes bytes) {
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

std::vector<std::byte> write_file(std::span<const Variant> variants) {
  const Plan plan = plan_file(variants);
  std::vector<std::byte> out(plan.header.file_bytes);
  auto put = [&](uint64_t at, Bytes bytes) {
    std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<ptrdiff_t>(at));
  };
  put(0, std::as_bytes(std::span(&plan.header, 1)));
  put(sizeof(Header), std::as_bytes(std::span(plan.sections)));
  for (const Section& s : plan.sections) {
    const NativeImage& image = variants[s.variant].program.image;
    switch (s.kind) {
      case SectionKind::Tables: put(s.offset, plan.tables[s.variant]); break;
      case SectionKind::Text: put(s.offset, image.text); break;
      case SectionKind::Rodata: put(s.offset, image.rodata); break;
      case SectionKind::Data: put(s.offset, image.data); break;
      case SectionKind::Debug: put(s.offset, plan.debug[s.variant]); break;
      case SectionKind::Constants:
        for (const auto& [offset, bytes] : plan.constants.contents) put(s.offset + offset, bytes);
        break;
    }
  }
  const uint64_t end = out.size() - kDigestBytes;
  put(end, digest_of(Bytes(out).first(end), 1));
  return out;
}

bool open_file(Bytes bytes, const ReadOptions& options, FileView& out, std::string& error) {
  Header header;
  if (!check_frame(bytes, options, header, out.digest, error)) return false;
  const uint64_t end = bytes.size() - kDigestBytes;
  const uint64_t count = header.sections;
  if (count <= kSectionsOfVariant || count % kSectionsOfVariant != 1 || count > (end - sizeof(Header)) / sizeof(Section))
    return fail(error, "the file has an impossible number of sections, " + std::to_string(count));
  std::vector<Section> sections(count);
  std::memcpy(sections.data(), bytes.data() + sizeof(Header), count * sizeof(Section));
  if (!check_sections(sections, end, error)) return false;
  auto part = [&](size_t i) { return bytes.subspan(sections[i].offset, sections[i].bytes); };
  const size_t variants = count / kSectionsOfVariant;
  out.variants.clear();
  for (size_t v = 0; v < variants; ++v) {
    size_t image = variants + 3 * v;
    VariantView& view = out.variants.emplace_back();
    view.tables = part(v);
    view.text = part(image);
    view.rodata = part(image + 1);
    view.data = part(image + 2);
    view.debug = part(4 * variants + 1 + v);
    if (!decode_target(view.tables, view.target, view.features))
      return fail(error, "the tables of variant " + std::to_string(v) + " are malformed");
  }
  out.constants = part(4 * variants);
  return true;
}

bool read_program(const FileView& view, size_t variant, Program& out, std::string& error) {
  const VariantView& v = view.variants[variant];
  if (!decode_tables(v.tables, out))
    return fail(error, "the tables of variant " + std::to_string(variant) + " are malformed");
  out.image.text.assign(v.text.begin(), v.text.end());
  out.image.rodata.assign(v.rodata.begin(), v.rodata.end());
  out.image.data.assign(v.data.begin(), v.data.end());
  return verify(out, view.constants.size(), error);
}

bool read_debug(const FileView& view, size_t variant, const Program& program, DebugTable& out, std::string& error) {
  if (!decode_debug(view.variants[variant].debug, out))
    return fail(error, "the debug table of variant " + std::to_string(variant) + " is malformed");
  return verify(out, program, error);
}

}  // namespace pliant::artifact
