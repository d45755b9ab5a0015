#include "runtime/values/sequence.h"

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/memory/guards.h"

namespace pliant::runtime {
namespace {

bool no_memory(uint64_t bytes) {
  fail(PLIANT_OUT_OF_MEMORY, "no memory for the %" PRIu64 " bytes of a sequence", bytes);
  return false;
}

uint64_t header_bytes(size_t rank) { return round_up(sizeof(ListTensor) + rank * sizeof(int64_t), kAlignment); }

}  // namespace

pliant_buffer* ListTensor::block() const { return reinterpret_cast<pliant_buffer*>(const_cast<ListTensor*>(this)) - 1; }

void TensorRef::retain() {
  if (tensor_ != nullptr) tensor_->block()->references.fetch_add(1, std::memory_order_relaxed);
}

void TensorRef::release() {
  if (tensor_ == nullptr) return;
  pliant_buffer* block = tensor_->block();
  if (block->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (tensor_->account != nullptr) *tensor_->account -= block->capacity;
  block->pool->release(block);
}

TensorRef& TensorRef::operator=(TensorRef other) noexcept {
  std::swap(tensor_, other.tensor_);
  return *this;
}

TensorRef ListMemory::make(DType dtype, std::span<const int64_t> shape, uint64_t bytes, uint64_t room) {
  const uint64_t whole = header_bytes(shape.size()) + (guarded ? Guards::room(room) : room);
  pliant_buffer* block = used > limit || whole > limit - used ? nullptr : blocks->allocate(whole);
  if (block == nullptr) {
    no_memory(whole);
    return TensorRef();
  }
  used += block->capacity;
  auto* t = new (block->data()) ListTensor{nullptr, bytes, &used, dtype, static_cast<uint8_t>(shape.size()), false};
  if (!shape.empty()) std::memcpy(t + 1, shape.data(), shape.size_bytes());
  return TensorRef(t);
}

TensorRef ListMemory::allocate(DType dtype, std::span<const int64_t> shape, std::byte*& data) {
  auto bytes = static_cast<uint64_t>(byte_size(dtype));
  bool empty = false, negative = false, overflow = false;
  for (int64_t d : shape) {
    empty = empty || d == 0;
    negative = negative || d < 0;
    overflow = overflow || __builtin_mul_overflow(bytes, static_cast<uint64_t>(d), &bytes);
  }
  if (empty) bytes = 0;
  if (negative || (!empty && (overflow || bytes > uint64_t{1} << 46))) {
    no_memory(bytes);
    return TensorRef();
  }
  TensorRef t = make(dtype, shape, bytes, bytes);
  if (!t) return t;
  data = reinterpret_cast<std::byte*>(t.get()) + header_bytes(shape.size());
  t->data = data;
  if (guarded) Guards::protect_element(data, bytes);
  return t;
}

TensorRef ListMemory::borrow(DType dtype, std::span<const int64_t> shape, const std::byte* data) {
  auto bytes = static_cast<uint64_t>(byte_size(dtype));
  for (int64_t d : shape) bytes *= static_cast<uint64_t>(d);
  TensorRef t = make(dtype, shape, bytes, 0);
  if (t) t->data = data, t->is_borrowed = true;
  return t;
}

TensorList::TensorList(const TensorList& other) : storage_(other.storage_), size_(other.size_) {
  if (storage_ != nullptr) storage_->references.fetch_add(1, std::memory_order_relaxed);
}

TensorList& TensorList::operator=(TensorList other) noexcept {
  std::swap(storage_, other.storage_);
  std::swap(size_, other.size_);
  return *this;
}

void TensorList::clear() {
  Storage* s = std::exchange(storage_, nullptr);
  if (s == nullptr || s->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (uint64_t i = 0; i < s->used; ++i) s->tensors[i].~TensorRef();
  std::free(s->tensors);
  delete s;
}

pliant_status TensorList::clear(StopFlag flag) {
  constexpr int64_t kWorkOfOneTensor = 64;  // it is far away, and its memory goes back to the heap
  TurnCounter turns(flag);
  while (storage_ != nullptr && storage_->references.load(std::memory_order_acquire) == 1 && storage_->used > 0) {
    if (turns.is_over(kWorkOfOneTensor)) return cancelled();
    storage_->tensors[--storage_->used].~TensorRef();
  }
  clear();
  return PLIANT_OK;
}

TensorList::Storage* TensorList::make_storage(uint64_t capacity) {
  auto* s = new (std::nothrow) Storage{{1}, 0, capacity, nullptr};
  if (s == nullptr) return nullptr;
  if (capacity > 0) s->tensors = static_cast<TensorRef*>(std::malloc(capacity * sizeof(TensorRef)));
  if (capacity > 0 && s->tensors == nullptr) {
    delete s;
    return nullptr;
  }
  return s;
}

// References may be moved as bytes.
bool TensorList::grow(Storage& storage) {
  const uint64_t capacity = storage.capacity < 8 ? 8 : storage.capacity * 2;
  void* moved = std::realloc(static_cast<void*>(storage.tensors), capacity * sizeof(TensorRef));
  if (moved == nullptr) return no_memory(capacity * sizeof(TensorRef));
  storage.tensors = static_cast<TensorRef*>(moved);
  storage.capacity = capacity;
  return true;
}

bool TensorList::make_empty(uint64_t room) {
  clear();
  storage_ = make_storage(room);
  size_ = 0;
  return storage_ != nullptr || no_memory(room * sizeof(TensorRef));
}

// Storage of this list's own that holds its first `count` tensors.
bool TensorList::copy_storage(uint64_t count, uint64_t capacity) {
  Storage* s = make_storage(capacity);
  if (s == nullptr) return no_memory(capacity * sizeof(TensorRef));
  for (; s->used < count; ++s->used) new (s->tensors + s->used) TensorRef(storage_->tensors[s->used]);
  clear();
  storage_ = s;
  size_ = count;
  return true;
}

bool TensorList::append(TensorRef tensor) {
  if (storage_->used != size_) {
    if (storage_->references.load(std::memory_order_acquire) == 1) {
      // Nobody sees what stands behind this version.
      while (storage_->used > size_) storage_->tensors[--storage_->used].~TensorRef();
    } else if (!copy_storage(size_, size_ * 2 + 1)) {
      return false;
    }
  }
  if (storage_->used == storage_->capacity && !grow(*storage_)) return false;
  new (storage_->tensors + storage_->used++) TensorRef(std::move(tensor));
  ++size_;
  return true;
}

bool TensorList::insert(uint64_t position, TensorRef tensor) {
  if (position == size_) return append(std::move(tensor));
  const TensorList old = std::move(*this);
  size_ = 0;
  if (!make_empty(old.size_ + 1)) return false;
  for (uint64_t i = 0; i < old.size_; ++i) {
    if (i == position && !append(std::move(tensor))) return false;
    if (!append(old.storage_->tensors[i])) return false;
  }
  return true;
}

bool TensorList::erase(uint64_t position) {
  if (position + 1 == size_) {
    --size_;
    return true;
  }
  const TensorList old = std::move(*this);
  if (!make_empty(old.size_ - 1)) return false;
  for (uint64_t i = 0; i < old.size_; ++i)
    if (i != position && !append(old.storage_->tensors[i])) return false;
  return true;
}

}  // namespace pliant::runtime
