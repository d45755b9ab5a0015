// The load-time verifier: after it, the VM executes a program without checking indices, slots, code positions or argument
// kinds. Values are checked where they are used: sizes, offsets, counts of tasks.
#pragma once
#include <string>

#include "artifact/program.h"

namespace pliant::artifact {

// Limits that keep every size computed from a program's tables far from overflow.
inline constexpr size_t kMaxCode = 1u << 24;
inline constexpr uint32_t kMaxSlots = 1u << 20;
inline constexpr uint32_t kMaxLists = 1u << 16;
inline constexpr uint32_t kMaxEpochs = 1u << 16;  // of one function
inline constexpr uint32_t kMaxGrows = 1u << 16;
inline constexpr size_t kMaxFailValues = 8;

// Holds when
//   every table index, slot, key slot and code position is in range, those of an instruction within its function's, and the
//   code of a function does not run on into what follows;
//   every key slot is bound, and binds fit their inputs;
//   every slot is computed on every path to each use: by the binds, an instruction, or a shape program that says so;
//   every buffer is used only inside [first, last] and only where its epoch has been planned on every path;
//   copies, runtime functions, kernels and the results of calls write nothing but buffers, outputs, growable blocks and
//   results;
//   code offsets are those of functions that the native code declares (entry.h), of the right kind, called with as many
//   arguments and integers as they read;
//   the native image is the one that was linked (seal.h); its relocations lie in `data`;
//   every text is UTF-8.
// What is left to native code is told in docs/artifact.md.
// `constants_bytes` is the size of the constants section. False with one sentence in `error`.
bool verify(const Program& program, uint64_t constants_bytes, std::string& error);

}  // namespace pliant::artifact
