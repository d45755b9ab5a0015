#include "runtime/load/imports.h"

// Declared without their types, under names of our own that the linker reads as the C ones: only the addresses matter, and
// C++ overloads of the same names would be ambiguous.
#define PLIANT_IMPORT(name, type) extern "C" void pliant_import_##name() __asm__(#name);
#include "runtime/load/imports.def"
#undef PLIANT_IMPORT

namespace pliant::runtime {

void* find_import(std::string_view name) {
  struct Row {
    std::string_view name;
    void (*function)();
  };
  static constexpr Row rows[] = {
#define PLIANT_IMPORT(name, type) {#name, &pliant_import_##name},
#include "runtime/load/imports.def"
#undef PLIANT_IMPORT
  };
  for (const Row& row : rows)
    if (row.name == name) return reinterpret_cast<void*>(row.function);
  return nullptr;
}

}  // namespace pliant::runtime
