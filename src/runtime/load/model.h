// A loaded model: the program, its code and constants in memory, and what its runs share.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "artifact/file.h"
#include "artifact/program.h"
#include "runtime/library/library.h"
#include "runtime/load/image.h"
#include "runtime/memory/memory.h"
#include "runtime/threads/pool.h"
#include "runtime/vm/frame.h"
#include "runtime/vm/state.h"

namespace pliant::runtime {

struct LoadOptions {
  int threads = 0;
  bool check_digest = true;
  bool huge_pages = false;             // for constants of any size
  bool choose_pages = false;           // huge ones for constants of 1 MiB to 256 MiB
  uint64_t memory_limit = UINT64_MAX;  // of runs that give none
  bool check_memory = false;           // guards.h
};

// Constant once loaded, but for the pools and what is said to count or to be shared by runs.
struct Model {
  artifact::Program program;
  artifact::Digest digest{};
  Mapping file, copied_constants;
  const std::byte* constants = nullptr;
  LoadedImage image;
  std::vector<artifact::KernelFn> kernels;       // one a KernelDesc
  std::vector<artifact::ShapeFn> shapes;         // one a ShapeProgram; null without code
  std::vector<const LibraryRow*> library_calls;  // one an LibraryCallDesc
  std::vector<uint32_t> first_bind;              // one a key slot: the bind that gives it, others are compared
  // Input axes whose size is a slot that the key does not hold: compared once the slots are known.
  struct UnboundAxis {
    uint32_t input, axis, slot;
  };
  std::vector<UnboundAxis> unbound_axes;
  std::vector<FunctionCode> functions;  // the entry, then one a FunctionDesc
  size_t most_pointers = 0, most_ints = 0;

  struct Description {
    std::vector<int64_t> sizes;
    std::vector<const char*> symbols;
  };
  std::vector<Description> inputs, outputs;

  uint64_t memory_limit = UINT64_MAX;
  bool check_memory = false;
  std::unique_ptr<ThreadPool> pool;
  BlockPool* blocks = BlockPool::create();

  // States of runs in flight and idle ones; the last returned is the first reused, its plans are the warmest.
  std::mutex states_mutex;
  std::vector<std::unique_ptr<State>> states;
  std::vector<State*> idle;
  // Counters for pliant_stats.
  std::atomic<uint64_t> runs{0}, plan_hits{0}, plan_misses{0}, peak_bytes{0};

  ~Model() { blocks->drop(); }
  State& acquire_state(int32_t* stop);
  void release_state(State& state);
  // Makes all runs in flight end.
  void cancel();
  // Committed by the states that are not in flight just now; with states_mutex held.
  uint64_t idle_arena_bytes() const;
};

// `bytes` must stay valid as long as the model when `file` is not given.
pliant_status load_model(std::span<const std::byte> bytes, Mapping file, const LoadOptions& options, Model& model);

}  // namespace pliant::runtime

struct pliant_model : pliant::runtime::Model {};
