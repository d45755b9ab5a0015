// The interface of the LLVM part: units of functions in, ELF objects out, objects linked to an image. No LLVM type crosses
// it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace pliant::codegen {

// What an innermost loop of a function keeps in memory for want of registers: instructions that store or load it.
struct Spills {
  std::string function;
  int64_t stores = 0, loads = 0;
};

// A group of functions that is compiled together, with an LLVM context of its own.
class Unit {
 public:
  Unit(const std::string& name, const Target& target, int opt_level);
  ~Unit();
  Unit(Unit&&) noexcept;
  // Building IR reads and extends the expression context, so units are filled one after the other.
  void add_kernel(const KernelSource& source, const std::string& symbol, expr::Context& ctx);
  void add_shape(const ShapeFunction& source, const std::string& symbol, expr::Context& ctx);
  // Optimises and generates code; units may do this at once. With a `dump_dir`, writes NAME.ll and NAME.s there and notes
  // spills. Looks at
  // the thread's stop flag between the passes over a function.
  Status compile(const std::string& dump_dir);
  const std::vector<std::byte>& object() const;
  const std::vector<Spills>& spills() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Lays out the objects' sections, applies relocations among them, and leaves absolute addresses and imports to the loader.
// offsets[i] becomes the place in image.text of the function symbols[i].
void link(const std::vector<const std::vector<std::byte>*>& objects, const std::vector<std::string>& symbols,
          artifact::NativeImage& image, std::vector<uint64_t>& offsets);

}  // namespace pliant::codegen
