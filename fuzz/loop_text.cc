// The loop parser on any text: an Error, or a function that prints to a text which parses again; the verifier takes what
// parses.
#include "loop/loop.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pliant;
  expr::Context ctx;
  Result<loop::Function> f = loop::parse({reinterpret_cast<const char*>(data), size}, ctx);
  if (!f.ok()) return 0;
  (void)loop::verify(f.value(), ctx);
  (void)loop::free_symbols(f.value());
  std::string once = loop::print(f.value(), ctx);
  expr::Context again_ctx;
  Result<loop::Function> again = loop::parse(once, again_ctx);
  PLIANT_CHECK(again.ok()) << "printed text does not parse:\n" << once;
  return 0;
}
