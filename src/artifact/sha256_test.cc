#include "artifact/sha256.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace pliant::artifact {
namespace {

std::string hex(const Sha256& h) {
  std::string out;
  for (std::byte b : h) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(b));
    out += two;
  }
  return out;
}
std::string hash(const std::string& s) { return hex(sha256(std::as_bytes(std::span(s)))); }

// The vectors of the standard.
TEST(sha256, known_values) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Around the lengths at which the padding needs another block.
TEST(sha256, every_padding) {
  const std::pair<size_t, const char*> known[] = {
      {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
      {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
      {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
      {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
      {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
      {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
      {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
  };
  for (const auto& [length, expected] : known) EXPECT_EQ(hash(std::string(length, 'x')), expected) << length;
}

TEST(sha256, instructions_agree_with_portable_code) {
  if (sha256_path() != Sha256Path::Instructions) GTEST_SKIP() << "this CPU has no SHA instructions";
  std::vector<std::byte> data(64 * 17);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37 + i / 64);
  uint32_t a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  sha256_blocks(Sha256Path::Portable, a, data.data(), 17);
  sha256_blocks(Sha256Path::Instructions, b, data.data(), 17);
  EXPECT_EQ(std::memcmp(a, b, sizeof a), 0);
}

TEST(sha256, lanes_agree_with_single_messages) {
  if (!has_digest_lanes()) GTEST_SKIP() << "this CPU has no AVX2";
  std::vector<std::byte> data(kDigestLanes * kDigestPiece);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 131 + (i >> 9) * 7 + (i >> 20));
  Sha256 lanes[kDigestLanes];
  sha256_lanes(data.data(), lanes);
  for (size_t i = 0; i < kDigestLanes; ++i)
    EXPECT_EQ(hex(lanes[i]), hex(sha256({data.data() + i * kDigestPiece, kDigestPiece}))) << i;
}

TEST(digest, is_the_hash_of_the_pieces_hashes_on_any_number_of_threads) {
  std::vector<std::byte> data(19 * kDigestPiece + 12345);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 + i / 999);
  std::vector<Sha256> pieces;
  for (size_t at = 0; at < data.size(); at += kDigestPiece)
    pieces.push_back(sha256(std::span(data).subspan(at, std::min(kDigestPiece, data.size() - at))));
  const Sha256 expected = sha256(std::as_bytes(std::span(pieces)));
  EXPECT_EQ(digest_of(data, 1), expected);
  EXPECT_EQ(digest_of(data, 4), expected);
  EXPECT_EQ(digest_of({}, 1), sha256({}));
}

}  // namespace
}  // namespace pliant::artifact
