#include "artifact/file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "artifact/program_bytes.h"
#include "artifact/seal.h"
#include "artifact/sha256.h"
#include "artifact/verify/verify.h"
#include "artifact/verify/verify_test.h"

namespace pliant::artifact {
namespace {

std::vector<std::byte> bytes(size_t n, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::byte> out(n);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

// One of full_program().
DebugTable debug_table() {
  DebugTable d{.sizes = "n = 1"};
  d.provenance = {{"dot4", "template map", "lanes = 8", "vectorize i 8 -> v l t\n"}, {"", "builder transpose", "", ""}};
  for (size_t k = 0; k < full_program().kernels.size(); ++k) d.kernels.push_back({{1, 0}, "n <= 8", 1000 + k});
  return d;
}

struct Written {
  std::vector<std::vector<std::byte>> constants = {bytes(1000, 1), bytes(64, 2), {}, bytes(1000, 1), bytes(70'000, 3)};
  Variant variant{full_program(), {constants.begin(), constants.end()}, debug_table()};
  std::vector<std::byte> file = write_file({&variant, 1});
};

std::string open_error(std::span<const std::byte> file, bool check_digest = true) {
  FileView view;
  std::string error;
  if (!open_file(file, {check_digest, 1}, view, error)) return error;
  for (size_t i = 0; i < view.variants.size(); ++i) {
    Program p;
    DebugTable debug;
    if (!read_program(view, i, p, error) || !read_debug(view, i, p, debug, error)) return error;
    print(debug, p);
  }
  return "";
}

// Makes the digest fit the contents again, so that a test reaches what lies behind it.
void sign(std::vector<std::byte>& file) {
  const Digest d = digest_of(std::span(file).first(file.size() - 32), 1);
  std::memcpy(file.data() + file.size() - 32, d.data(), 32);
}

TEST(file, round_trip) {
  const Written w;
  FileView view;
  std::string error;
  ASSERT_TRUE(open_file(w.file, {}, view, error)) << error;
  ASSERT_EQ(view.variants.size(), 1u);
  EXPECT_EQ(view.variants[0].target, w.variant.program.image.target);
  EXPECT_EQ(view.variants[0].features, w.variant.program.image.features);
  Program p;
  ASSERT_TRUE(read_program(view, 0, p, error)) << error;
  Program expected = w.variant.program;
  expected.constants = p.constants;
  EXPECT_EQ(encode_tables(p), encode_tables(expected));
  EXPECT_EQ(p.image.text, expected.image.text);
  EXPECT_EQ(p.image.rodata, expected.image.rodata);
  EXPECT_EQ(p.image.data, expected.image.data);
  ASSERT_EQ(p.constants.size(), w.constants.size());
  for (size_t i = 0; i < w.constants.size(); ++i) {
    EXPECT_EQ(p.constants[i].offset % kConstantAlignment, 0u);
    const auto got = view.constants.subspan(p.constants[i].offset, p.constants[i].bytes);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), w.constants[i].begin(), w.constants[i].end())) << i;
  }
  EXPECT_EQ(p.constants[0].offset, p.constants[3].offset) << "equal constants are stored once";
  EXPECT_EQ(static_cast<size_t>(view.constants.data() - w.file.data()) % kPageBytes, 0u);
  DebugTable debug;
  ASSERT_TRUE(read_debug(view, 0, p, debug, error)) << error;
  EXPECT_EQ(encode_debug(debug), encode_debug(w.variant.debug));
  EXPECT_NE(print(debug, p).find("  made by: template map\n    rewrite: dot4\n    knobs: lanes = 8\n    vectorize i 8"),
            std::string::npos)
      << print(debug, p);
}

TEST(file, refuses_a_debug_table_of_other_kernels) {
  const Program p = full_program();
  std::string error;
  DebugTable d = debug_table();
  EXPECT_TRUE(verify(d, p, error)) << error;
  d.kernels[0].provenance[1] = 2;
  EXPECT_FALSE(verify(d, p, error));
  EXPECT_EQ(error, "the debug table is malformed: it is not one of these kernels");
  d = debug_table();
  d.kernels[0].provenance.clear();
  EXPECT_FALSE(verify(d, p, error));
  d = debug_table();
  d.kernels.pop_back();
  EXPECT_FALSE(verify(d, p, error));
  d = debug_table();
  d.provenance[0].trace = std::string("\0", 1);
  EXPECT_FALSE(verify(d, p, error));
  EXPECT_EQ(error, "the debug table is malformed: a text is not UTF-8");
}

TEST(file, same_bytes_each_time) {
  const Written w, again;
  EXPECT_EQ(w.file, again.file);
}

TEST(file, several_variants_share_constants) {
  const Written w;
  std::vector<Variant> two = {w.variant, w.variant};
  two[0].program.image.target = "x86-64-v4";
  two[0].program.image.features = {"avx512f"};
  two[1].program.image.text.resize(5000, std::byte{0});
  seal(two[1].program.image);
  const std::vector<std::byte> file = write_file(two);
  FileView view;
  std::string error;
  ASSERT_TRUE(open_file(file, {}, view, error)) << error;
  ASSERT_EQ(view.variants.size(), 2u);
  EXPECT_EQ(view.variants[0].target, "x86-64-v4");
  EXPECT_EQ(view.variants[1].text.size(), 5000u);
  Program a, b;
  ASSERT_TRUE(read_program(view, 0, a, error) && read_program(view, 1, b, error)) << error;
  EXPECT_EQ(a.constants[4].offset, b.constants[4].offset);
  EXPECT_LT(view.constants.size(), 80'000u);
}

TEST(file, refuses_what_is_no_artifact) {
  const Written w;
  EXPECT_EQ(open_error({}), "this is not a .pliant file");
  EXPECT_EQ(open_error(bytes(10'000, 4)), "this is not a .pliant file");
  std::vector<std::byte> other = w.file;
  other[8] = std::byte{9};
  EXPECT_EQ(open_error(other), "the file has format version 9 but this runtime reads version 6; compile the model again");
  std::vector<std::byte> longer = w.file;
  longer.push_back({});
  EXPECT_EQ(open_error(longer), "the file is too long: it has " + std::to_string(longer.size()) + " bytes but should have " +
                                    std::to_string(w.file.size()));
}

TEST(file, refuses_every_cut) {
  const Written w;
  for (size_t n = 0; n < w.file.size(); n += n < 4096 ? 1 : 997) {
    const std::string error = open_error(std::span(w.file).first(n));
    ASSERT_NE(error.find(n < 8 ? "not a .pliant file" : "cut short"), std::string::npos) << n << ": " << error;
  }
}

TEST(file, refuses_flipped_bits) {
  const Written w;
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> file = w.file;
    const size_t at = random() % file.size();
    file[at] ^= static_cast<std::byte>(1u << random() % 8);
    ASSERT_NE(open_error(file), "") << at;
  }
}

// Damage that the digest vouches for reaches the table decoder and the verifier: anything may come out but a crash or a
// hang.
TEST(file, survives_damage_behind_the_digest) {
  const Written w;
  FileView view;
  std::string error;
  ASSERT_TRUE(open_file(w.file, {}, view, error));
  const auto at_of = [&](std::span<const std::byte> s) { return static_cast<size_t>(s.data() - w.file.data()); };
  const VariantView& v = view.variants[0];
  // Tables, the frame, the debug table.
  const std::pair<size_t, size_t> ranges[] = {
      {at_of(v.tables), v.tables.size()}, {0, 64 + 24 * 6}, {at_of(v.debug), v.debug.size()}};
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> file(w.file.begin(), w.file.end());
    const auto& [begin, size] = ranges[i % 3];
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      const size_t at = begin + random() % size;
      file[at] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
    }
    refused += !open_error(file, false).empty();
  }
  EXPECT_GT(refused, 5000);
}

TEST(file, refuses_sections_out_of_place) {
  const Written w;
  std::vector<std::byte> file = w.file;
  const uint64_t far = 1ull << 60;
  std::memcpy(file.data() + 64 + 8, &far, 8);
  sign(file);
  EXPECT_EQ(open_error(file), "section 0 of the file lies outside it");
  file = w.file;
  file[64 + 24] = std::byte{4};
  sign(file);
  EXPECT_EQ(open_error(file), "section 1 of the file is of the wrong kind");
  file = w.file;
  file[12] = std::byte{0xfd};
  file[15] = std::byte{0xff};
  sign(file);
  EXPECT_EQ(open_error(file), "the file has an impossible number of sections, 4278190333");
}

TEST(tables, refuse_cuts_and_leftovers) {
  const std::vector<std::byte> tables = encode_tables(full_program());
  Program p;
  EXPECT_TRUE(decode_tables(tables, p));
  for (size_t n = 0; n < tables.size(); ++n) {
    Program cut;
    ASSERT_FALSE(decode_tables(std::span(tables).first(n), cut)) << n;
  }
  std::vector<std::byte> longer = tables;
  longer.push_back({});
  EXPECT_FALSE(decode_tables(longer, p));
}

TEST(tables, huge_counts_cost_nothing) {
  // A text of 2^63 bytes, where the target stands.
  std::vector<std::byte> tables(9, std::byte{0x80});
  tables.push_back(std::byte{1});
  Program p;
  EXPECT_FALSE(decode_tables(tables, p));
}

}  // namespace
}  // namespace pliant::artifact
