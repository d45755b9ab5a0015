// The parser of host modules on any text: an Error, or a module that prints to a text which parses again; the verifier takes
// what parses.
#include "host/host.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pliant;
  expr::Context ctx;
  const Result<host::Module> m = host::parse({reinterpret_cast<const char*>(data), size}, ctx);
  if (!m.ok()) return 0;
  (void)host::verify(m.value(), ctx);
  const std::string once = host::print(m.value(), ctx);
  expr::Context again_ctx;
  const Result<host::Module> again = host::parse(once, again_ctx);
  PLIANT_CHECK(again.ok()) << "printed text does not parse:\n" << once;
  return 0;
}
