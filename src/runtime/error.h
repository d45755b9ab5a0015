// Failures inside the runtime: a status code travels as the return value, the sentence that explains it lies in the thread's
// message, where pliant_last_error finds it.
#pragma once
#include "runtime/pliant.h"

namespace pliant::runtime {

// Sets the thread's message, cut at its size, and gives `status` back.
[[gnu::format(printf, 2, 3)]] pliant_status fail(pliant_status status, const char* format, ...);
pliant_status cancelled();
const char* last_message();

}  // namespace pliant::runtime

// Returns the status of an expression from the enclosing function unless it is PLIANT_OK.
#define PLIANT_TRY(...)                               \
  do {                                                \
    const pliant_status try_status_ = (__VA_ARGS__);  \
    if (try_status_ != PLIANT_OK) return try_status_; \
  } while (0)
