// non-temporal stores.
#pragma once
#include <set>

#include "graph/graph.h"
#include "loop/loop.h"

namespace pliant::lower {

// Whether the value is a result of the function that nothing in it reads: what is written there is next read by somebody
// else, if at all.
bool escapes(const graph::Function& f, graph::ValueId v);

// Loops over elements inside a While that fill a part of some of `buffers` with whole vectors get a second form, which runs
// where those have `least_bytes` or more and writes there by non-temporal stores: the memory is then not read before it is
// written, and what the caches hold stays there. Buffers that the body reads are left alone.
loop::StmtPtr make_non_temporal(const loop::StmtPtr& body, const std::vector<loop::Buffer>& buffers, int64_t least_bytes,
                                expr::Context& ctx);

}  // namespace pliant::lower
