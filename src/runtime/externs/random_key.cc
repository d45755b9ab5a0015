#include <cstring>

#include "runtime/externs.h"

namespace pliant::runtime {

pliant_status extern_random_key(ExternCall& call) {
  PLIANT_TRY(call.require_output(0, DType::U64, 1));
  const uint64_t key = call.random_keys->next();
  std::memcpy(call.outputs[0].data, &key, sizeof key);
  return PLIANT_OK;
}

}  // namespace pliant::runtime
