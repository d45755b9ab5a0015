#include "artifact/sha256.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace pliant::artifact {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const std::byte* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return __builtin_bswap32(v);
}

// The rounds below are written for one message (T is uint32_t) and for several side by side (T is a vector of uint32_t).
#define PLIANT_INLINE [[gnu::always_inline]] inline

template <int N, class T>
PLIANT_INLINE void rotate_xor(T& sum, const T& x) {
  sum ^= x >> N | x << (32 - N);
}
template <class T>
PLIANT_INLINE void one_round(const T& a, const T& b, const T& c, T& d, const T& e, const T& f, const T& g, T& h,
                             const T& word, uint32_t constant) {
  T sum1 = e ^ e, sum0 = sum1;
  rotate_xor<6>(sum1, e), rotate_xor<11>(sum1, e), rotate_xor<25>(sum1, e);
  rotate_xor<2>(sum0, a), rotate_xor<13>(sum0, a), rotate_xor<22>(sum0, a);
  h += sum1 + (g ^ (e & (f ^ g))) + (word + constant);
  d += h;
  h += sum0 + ((a & b) | (c & (a | b)));
}
// One block of 16 words, which are used up.
template <class T>
PLIANT_INLINE void one_block(T* state, T* w) {
  T a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; i += 16) {
    if (i > 0) {
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) {
        const T &x = w[(k + 1) & 15], &y = w[(k + 14) & 15];
        T sum = x >> 3, other = y >> 10;
        rotate_xor<7>(sum, x), rotate_xor<18>(sum, x);
        rotate_xor<17>(other, y), rotate_xor<19>(other, y);
        w[k] += sum + w[(k + 9) & 15] + other;
      }
    }
#pragma GCC unroll 2
    for (int k = 0; k < 16; k += 8) {
      const uint32_t* constant = kRound + i + k;
      one_round(a, b, c, d, e, f, g, h, w[k], constant[0]);
      one_round(h, a, b, c, d, e, f, g, w[k + 1], constant[1]);
      one_round(g, h, a, b, c, d, e, f, w[k + 2], constant[2]);
      one_round(f, g, h, a, b, c, d, e, w[k + 3], constant[3]);
      one_round(e, f, g, h, a, b, c, d, w[k + 4], constant[4]);
      one_round(d, e, f, g, h, a, b, c, w[k + 5], constant[5]);
      one_round(c, d, e, f, g, h, a, b, w[k + 6], constant[6]);
      one_round(b, c, d, e, f, g, h, a, w[k + 7], constant[7]);
    }
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void portable_block(uint32_t state[8], const std::byte* data) {
  uint32_t w[16];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(data + 4 * i);
  one_block(state, w);
}

#if defined(__x86_64__)
bool has_sha_instructions() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b >> 29 & 1)) return false;
  return __get_cpuid(1, &a, &b, &c, &d) && (c >> 19 & 1);  // SSE4.1, for the blends and shuffles around them
}

// Four rounds at a time: the instructions keep the state as the halves (a b e f) and (c d g h).
__attribute__((target("sha,sse4.1,ssse3"))) void instruction_blocks(uint32_t state[8], const std::byte* data,
                                                                    size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
  __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 16; ++i) {
      __m128i& now = w[i & 3];
      if (i < 4) {
        now = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data + 16 * i)), swap);
      } else {
        const __m128i last = w[(i + 3) & 3], before = w[(i + 2) & 3];
        now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) & 3]), _mm_alignr_epi8(last, before, 4));
        now = _mm_sha256msg2_epu32(now, last);
      }
      __m128i sum = _mm_add_epi32(now, _mm_load_si128(reinterpret_cast<const __m128i*>(kRound + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

// Eight messages of the same length at once, for CPUs that have wide vectors but no SHA instructions.
typedef uint32_t Lanes __attribute__((vector_size(32)));
__attribute__((target("avx2"))) void lane_blocks(Lanes state[8], const std::byte* first, size_t stride, size_t blocks) {
  for (; blocks > 0; --blocks, first += 64) {
    Lanes w[16];
    for (int i = 0; i < 16; ++i) {
      const std::byte* p = first + 4 * i;
      for (size_t lane = 0; lane < 8; ++lane) w[i][lane] = big_endian(p + lane * stride);
    }
    one_block(state, w);
  }
}
#endif

constexpr uint32_t kInitial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

Sha256 to_bytes(const uint32_t state[8]) {
  Sha256 out;
  for (size_t i = 0; i < 8; ++i) {
    const uint32_t v = __builtin_bswap32(state[i]);
    std::memcpy(out.data() + 4 * i, &v, 4);
  }
  return out;
}

}  // namespace

Sha256Path sha256_path() {
#if defined(__x86_64__)
  static const bool instructions = has_sha_instructions();
  if (instructions) return Sha256Path::Instructions;
#endif
  return Sha256Path::Portable;
}

void sha256_blocks(Sha256Path path, uint32_t state[8], const std::byte* data, size_t blocks) {
#if defined(__x86_64__)
  if (path == Sha256Path::Instructions) return instruction_blocks(state, data, blocks);
#endif
  (void)path;
  for (; blocks > 0; --blocks, data += 64) portable_block(state, data);
}

Sha256 sha256(std::span<const std::byte> bytes) {
  const Sha256Path path = sha256_path();
  uint32_t state[8];
  std::memcpy(state, kInitial, sizeof state);
  sha256_blocks(path, state, bytes.data(), bytes.size() / 64);
  // The rest, a one bit, zeros and the number of bits: one block or two.
  std::byte tail[128] = {};
  const size_t rest = bytes.size() % 64, end = rest < 56 ? 64 : 128;
  if (rest > 0) std::memcpy(tail, bytes.data() + bytes.size() - rest, rest);
  tail[rest] = std::byte{0x80};
  const uint64_t bits = __builtin_bswap64(bytes.size() * 8);
  std::memcpy(tail + end - 8, &bits, 8);
  sha256_blocks(path, state, tail, end / 64);
  return to_bytes(state);
}

bool has_digest_lanes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

void sha256_lanes(const std::byte* first, Sha256 out[kDigestLanes]) {
#if defined(__x86_64__)
  Lanes state[8];
  for (int i = 0; i < 8; ++i) state[i] = Lanes{} + kInitial[i];
  lane_blocks(state, first, kDigestPiece, kDigestPiece / 64);
  // Every message ends in the same block: its length, all others being full.
  alignas(64) std::byte last[64] = {std::byte{0x80}};
  const uint64_t bits = __builtin_bswap64(kDigestPiece * 8);
  std::memcpy(last + 56, &bits, 8);
  lane_blocks(state, last, 0, 1);
  for (size_t lane = 0; lane < kDigestLanes; ++lane) {
    uint32_t one[8];
    for (int i = 0; i < 8; ++i) one[i] = state[i][lane];
    out[lane] = to_bytes(one);
  }
#else
  for (size_t lane = 0; lane < kDigestLanes; ++lane) out[lane] = sha256({first + lane * kDigestPiece, kDigestPiece});
#endif
}

namespace {
struct Pieces {
  std::span<const std::byte> bytes;
  bool in_lanes;
  std::vector<Sha256> each;
  std::atomic<size_t> next{0};
};
// Takes kDigestLanes pieces at a time.
void* hash_pieces(void* argument) {
  Pieces& p = *static_cast<Pieces*>(argument);
  for (size_t i; (i = p.next.fetch_add(kDigestLanes, std::memory_order_relaxed)) < p.each.size();) {
    const size_t begin = i * kDigestPiece;
    if (p.in_lanes && p.bytes.size() - begin >= kDigestLanes * kDigestPiece) {
      sha256_lanes(p.bytes.data() + begin, &p.each[i]);
      continue;
    }
    for (size_t k = i; k < std::min(i + kDigestLanes, p.each.size()); ++k)
      p.each[k] = sha256(p.bytes.subspan(k * kDigestPiece, std::min(kDigestPiece, p.bytes.size() - k * kDigestPiece)));
  }
  return nullptr;
}
}  // namespace

Sha256 digest_of(std::span<const std::byte> bytes, int threads) {
  Pieces pieces{bytes, sha256_path() == Sha256Path::Portable && has_digest_lanes(),
                std::vector<Sha256>((bytes.size() + kDigestPiece - 1) / kDigestPiece)};
  // A thread costs about as much as hashing a few pieces. One that cannot be started is done without.
  size_t helpers = std::min(static_cast<size_t>(threads > 1 ? threads - 1 : 0), pieces.each.size() / kDigestLanes);
  std::vector<pthread_t> others;
  for (size_t i = 0; i < helpers; ++i) {
    pthread_t t;
    if (pthread_create(&t, nullptr, &hash_pieces, &pieces) == 0) others.push_back(t);
  }
  hash_pieces(&pieces);
  for (pthread_t t : others) pthread_join(t, nullptr);
  return sha256(std::as_bytes(std::span(pieces.each)));
}

}  // namespace pliant::artifact
