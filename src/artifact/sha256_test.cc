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

TEST(sha256, pieces_give_the_same) {
  const std::string text(1000, 'x');
  for (size_t step : {1, 3, 55, 56, 63, 64, 65, 127, 128, 1000}) {
    Sha256Stream s;
    for (size_t at = 0; at < text.size(); at += step)
      s.update(std::as_bytes(std::span(text)).subspan(at, std::min(step, text.size() - at)));
    EXPECT_EQ(hex(s.finish()), hash(text)) << step;
  }
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

TEST(digest, does_not_depend_on_threads_or_pieces) {
  std::vector<std::byte> data(19 * kDigestPiece + 12345);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 + i / 999);
  const Sha256 expected = digest_of(data, 1);
  EXPECT_EQ(digest_of(data, 4), expected);
  DigestStream s;
  for (size_t at = 0; at < data.size(); at += 777'777)
    s.update(std::span(data).subspan(at, std::min<size_t>(777'777, data.size() - at)));
  EXPECT_EQ(s.finish(), expected);
  DigestStream nothing;
  EXPECT_EQ(nothing.finish(), digest_of({}, 1));
}

}  // namespace
}  // namespace pliant::artifact
