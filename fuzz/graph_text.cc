// The graph parser on any text: an Error, or a function that prints to a text which parses and prints the same.
#include "graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pliant;
  expr::Context ctx;
  Result<graph::FunctionPtr> f = graph::parse_function({reinterpret_cast<const char*>(data), size}, ctx);
  if (!f.ok()) return 0;
  std::string once = graph::print(*f.value(), ctx);
  expr::Context again_ctx;
  Result<graph::FunctionPtr> again = graph::parse_function(once, again_ctx, graph::constants_of(*f.value()));
  PLIANT_CHECK(again.ok()) << "printed text does not parse:\n" << once;
  PLIANT_CHECK(graph::print(*again.value(), again_ctx) == once) << "print, parse, print gives another text:\n" << once;
  return 0;
}
