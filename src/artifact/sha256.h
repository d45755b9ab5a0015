// SHA-256, with the CPU's SHA instructions where it has them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pliant::artifact {

using Sha256 = std::array<std::byte, 32>;

Sha256 sha256(std::span<const std::byte> bytes);

// Which block function sha256() uses; Portable can be forced to test one against the other.
enum class Sha256Path { Portable, Instructions };
Sha256Path sha256_path();
void sha256_blocks(Sha256Path path, uint32_t state[8], const std::byte* data, size_t blocks);

// The digest of a file's contents: the SHA-256 of the SHA-256s of consecutive pieces of kDigestPiece bytes (the last may be
// shorter). The pieces are divided over `threads`.
inline constexpr size_t kDigestPiece = 1 << 20;
Sha256 digest_of(std::span<const std::byte> bytes, int threads);
// The hashes of kDigestLanes whole pieces that lie one after the other, side by side in vector registers where the CPU has
// them (has_digest_lanes): without SHA instructions much faster than one by one.
inline constexpr size_t kDigestLanes = 8;
bool has_digest_lanes();
void sha256_lanes(const std::byte* first, Sha256 out[kDigestLanes]);

}  // namespace pliant::artifact
