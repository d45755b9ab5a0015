#include "runtime/error.h"

#include <cstdarg>
#include <cstdio>

namespace pliant::runtime {
namespace {
thread_local char message[2048];
}  // namespace

pliant_status fail(pliant_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return status;
}

pliant_status cancelled() { return fail(PLIANT_CANCELLED, "the run was cancelled"); }

const char* last_message() { return message; }

}  // namespace pliant::runtime
