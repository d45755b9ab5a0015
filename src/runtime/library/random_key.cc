#include <cstring>

#include "runtime/library/library.h"

namespace pliant::runtime {

pliant_status library_random_key(LibraryCall& call) {
  PLIANT_TRY(call.require_output(0, DType::U64, 1));
  const uint64_t key = call.random_keys->next();
  std::memcpy(call.outputs[0].data, &key, sizeof key);
  return PLIANT_OK;
}

}  // namespace pliant::runtime
