// The bytes of a .pliant file. All integers are little-endian.
//
//   header    64 bytes: magic, format version, section count, file size
//   table     one entry a section: kind, variant, offset, size
//   sections  Program (tables, as in program_bytes.h), Text, Rodata, Data of each variant; Constants, shared by all; the
//             Debug table (debug.h) of each variant
//   digest    32 bytes, the end of the file
//
// Text, Rodata, Data and Constants begin at multiples of 4096, each constant at a multiple of 64 within its section, so that
// the constants are used where the file is mapped. The digest is the SHA-256 of the SHA-256s of the consecutive 1 MiB pieces
// of everything before it: pieces are checked in parallel. The same variants give the same bytes.
//
// A variant is the whole program compiled for one target; the loader takes the first whose features the CPU has, so writers
// put the most demanding first.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "artifact/debug.h"

namespace pliant::artifact {

inline constexpr uint32_t kFormatVersion = 6;
inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kConstantAlignment = 64;
inline constexpr int kMaxRank = 32;

// What a writer gives: `constants[i]` are the bytes of constant i. The writer places them (equal bytes once) and ignores
// `program.constants`; the spans must stay valid only during the call.
struct Variant {
  Program program;
  std::vector<std::span<const std::byte>> constants;
  DebugTable debug;
};
// The whole file in one block of exactly its size. Variants and their debug tables must pass verify().
std::vector<std::byte> write_file(std::span<const Variant> variants);

inline constexpr uint64_t kDigestBytes = 32;
using Digest = std::array<std::byte, kDigestBytes>;

struct ReadOptions {
  bool check_digest = true;
  int threads = 1;  // for the digest
};
// Where one variant's parts lie in the file.
struct VariantView {
  std::string target;
  std::vector<std::string> features;
  std::span<const std::byte> tables, text, rodata, data, debug;
};
// A file whose header, sections and digest are sound. Borrows the bytes.
struct FileView {
  std::vector<VariantView> variants;
  std::span<const std::byte> constants;
  Digest digest{};
};
// Reads untrusted bytes: false with one sentence in `error` that says what is wrong. Takes time and memory in proportion to
// the bytes given.
bool open_file(std::span<const std::byte> bytes, const ReadOptions& options, FileView& out, std::string& error);
// Decodes and verifies (artifact/verify/verify.h) one variant. Program::image holds copies; ConstantDescs are inside
// view.constants.
bool read_program(const FileView& view, size_t variant, Program& out, std::string& error);
// Decodes and verifies the debug table of one variant, whose program that is.
bool read_debug(const FileView& view, size_t variant, const Program& program, DebugTable& out, std::string& error);

// The first bytes of every .pliant file.
bool has_magic(std::span<const std::byte> bytes);

}  // namespace pliant::artifact
