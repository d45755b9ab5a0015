#include <cstdio>
#include <cstring>
#include <new>

#include "graph/content_hash.h"
#include "graph/graph.h"

namespace pliant::graph {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

std::pair<ConstantPtr, std::byte*> make_blank_constant(DType t, std::vector<int64_t> shape) {
  auto c = std::make_shared<ConstantData>();
  c->dtype = t;
  c->shape = std::move(shape);
  c->bytes = static_cast<size_t>(element_count(*c) * byte_size(t));
  // Never null, so that a constant without elements is told apart from no constant.
  void* memory = ::operator new(c->bytes + 1, kAlignment);
  std::memset(memory, 0, c->bytes + 1);
  c->keep = std::shared_ptr<const void>(memory, [](const void* p) { ::operator delete(const_cast<void*>(p), kAlignment); });
  c->data = static_cast<const std::byte*>(memory);
  return {c, static_cast<std::byte*>(memory)};
}

ConstantPtr make_constant(DType t, std::vector<int64_t> shape, const void* bytes, size_t n) {
  auto [constant, memory] = make_blank_constant(t, std::move(shape));
  PLIANT_CHECK(n == constant->bytes) << n << " bytes for a constant of " << constant->bytes;
  if (n > 0) std::memcpy(memory, bytes, n);
  return constant;
}

int64_t element_count(const ConstantData& c) {
  int64_t n = 1;
  for (int64_t d : c.shape) n *= d;
  return n;
}

std::string hash_of(const ConstantData& c) {
  // The seed covers dtype and shape, so equal bytes of another type are another constant.
  std::vector<int64_t> header{static_cast<int64_t>(c.dtype)};
  header.insert(header.end(), c.shape.begin(), c.shape.end());
  uint64_t seed = content_hash(header.data(), header.size() * sizeof(int64_t), 0).lo;
  Hash128 h = content_hash(c.data, c.bytes, seed);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(h.hi),
                static_cast<unsigned long long>(h.lo));
  return text;
}

}  // namespace pliant::graph
