// The ONNX importer on any bytes: a module or an Error, never a crash, a hang or an InternalError.
#include "frontend/onnx/import.h"
#include "ops/op.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pliant;
  Result<graph::Module> module = frontend::onnx::import_bytes(data, size, "/nonexistent", "fuzz", {});
  if (!module.ok()) return 0;
  const graph::Function& f = module.value().main();
  PLIANT_CHECK(graph::verify(f, *module.value().ctx).ok()) << "the importer gave an invalid graph";
  return 0;
}
