// What bufferizing one loop keeps: where its carried and scan values lie, and the slots of their sizes.
#pragma once
#include "bufferize/bufferizer.h"

namespace pliant::bufferize {

struct LoopState {
  struct Carried {
    Storage storage;
    bool grows = false;
    // Axes of the param's type that are symbols of their own: their slots, and what the yields give them.
    struct FreshAxis {
      expr::SymbolId symbol;
      uint32_t slot;
      size_t axis;
    };
    std::vector<FreshAxis> axes;
  };
  struct Scan {
    Storage storage;  // of the first iteration's value
    bool grows = false;
    // Axes of the output's type that the values of the iterations agree on.
    struct FreshAxis {
      expr::SymbolId symbol;
      uint32_t slot;
      size_t axis;  // of the value
    };
    std::vector<FreshAxis> axes;
  };
  std::vector<Carried> carried;
  std::vector<Scan> scans;
  uint32_t index = 0;  // slot
};

}  // namespace pliant::bufferize
