// The nest that computes an allocated buffer.
#pragma once
#include "schedule/region.h"

namespace pliant::schedule {

struct Producer {
  StmtPtr alloc;
  StmtPtr nest;
  std::vector<StmtPtr> loops;  // the loop of each dimension of the buffer
  StmtPtr body;                // inside these loops: assigns the element at their variables
};
// The buffer's producer, when it can run elsewhere: it is one nest over all elements, writes nothing else, and what it reads
// does not change while the buffer lives.
Result<Producer> find_producer(const Edit& e, const Buffer& b);

}  // namespace pliant::schedule
