// Native code in memory: text executable, the rest readable, nothing both writable and executable.
#pragma once
#include "artifact/program.h"
#include "runtime/memory/memory.h"

namespace pliant::runtime {

class LoadedImage {
 public:
  // Maps, relocates and protects a verified image. Its imports must be in the table.
  pliant_status load(const artifact::NativeImage& image);
  template <class Fn>
  Fn at(uint64_t text_offset) const {
    return reinterpret_cast<Fn>(mapping_.data() + text_offset);
  }
  uint64_t size() const { return mapping_.size(); }

 private:
  Mapping mapping_;
};

}  // namespace pliant::runtime
