#include "frontend/onnx/import.h"

#include <filesystem>

#include "frontend/onnx/importer.h"

namespace pliant::frontend::onnx {
namespace {

Result<graph::Module> import_mapped(MappedFile file, const std::string& path, const std::string& directory,
                                    const ImportOptions& options) {
  ModelProto model = TRY(read_model(std::move(file), path, directory));
  return Importer(model, std::make_shared<expr::Context>()).run(options);
}

}  // namespace

Result<graph::Module> import_file(const std::string& path, const ImportOptions& options) {
  std::filesystem::path p(path);
  MappedFile file = TRY(map_file(path));
  auto module = import_mapped(std::move(file), path, p.parent_path().string(), options);
  if (module.ok()) module.value().source = p.filename().string();
  return module;
}

Result<graph::Module> import_bytes(const void* data, size_t size, const std::string& directory, const std::string& name,
                                   const ImportOptions& options) {
  return import_mapped(copy_bytes(data, size), name, directory, options);
}

}  // namespace pliant::frontend::onnx
