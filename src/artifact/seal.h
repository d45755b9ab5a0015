// The record at the start of the text that holds an image together: what the sections of its file and its tables say is
// native code is what was linked, or nothing.
#pragma once
#include <cstdint>

#include "artifact/program.h"

namespace pliant::artifact {

// Of every text that is not empty the first bytes, room for the record; functions come after it.
inline constexpr uint64_t kSealBytes = 64;
// Fills the record: the digest of the rest of the text, the other parts, the relocations and the imports. The last thing
// that is done to an image.
void seal(NativeImage& image);
// Whether the record is that of this image; an image of nothing at all needs none.
bool is_sealed(const NativeImage& image);

}  // namespace pliant::artifact
