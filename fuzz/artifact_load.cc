// The artifact reader and loader on any bytes, the digest left out so that damage reaches the tables: refused or loaded,
// never a crash.
#include <cstdlib>
#include <cstring>

#include "artifact/file.h"
#include "runtime/pliant.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pliant;
  void* bytes = std::aligned_alloc(4096, (size + 4096) / 4096 * 4096);
  std::memcpy(bytes, data, size);
  artifact::FileView view;
  std::string error;
  artifact::ReadOptions options;
  options.check_digest = false;
  if (artifact::open_file({static_cast<const std::byte*>(bytes), size}, options, view, error)) {
    for (size_t v = 0; v < view.variants.size(); ++v) {
      artifact::Program program;
      artifact::DebugTable debug;
      if (artifact::read_program(view, v, program, error) && artifact::read_debug(view, v, program, debug, error))
        artifact::print(debug, program);
    }
  }
  pliant_load_options load{};
  load.struct_size = sizeof(load);
  load.threads = 1;
  load.flags = PLIANT_LOAD_SKIP_DIGEST;
  pliant_model* model = nullptr;
  if (pliant_load_memory(bytes, size, &load, &model) == PLIANT_OK) pliant_release_model(model);
  std::free(bytes);
  return 0;
}
