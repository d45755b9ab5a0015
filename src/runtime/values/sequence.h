// Sequences and optionals at run time: persistent lists of tensors. A list is a prefix of shared storage: an append to the
// longest version writes behind it and leaves the older ones as they were, an append to an older one copies the references.
// Tensors never change once they are in a list.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "artifact/dtype.h"
#include "runtime/memory/memory.h"
#include "runtime/threads/turns.h"

namespace pliant::runtime {

// One tensor, at the start of the data of a block that it shares with its elements.
struct ListTensor {
  const std::byte* data;
  uint64_t bytes;
  // Where the memory of a run's lists is counted; null once the run has handed the tensor out.
  uint64_t* account;
  DType dtype;
  uint8_t rank;
  bool is_borrowed;  // the elements are the caller's, alive as long as the run
  std::span<const int64_t> shape() const { return {reinterpret_cast<const int64_t*>(this + 1), rank}; }
  pliant_buffer* block() const;
};

// A counted reference.
class TensorRef {
 public:
  TensorRef() = default;
  explicit TensorRef(ListTensor* owned) : tensor_(owned) {}
  TensorRef(const TensorRef& other) : tensor_(other.tensor_) { retain(); }
  TensorRef(TensorRef&& other) noexcept : tensor_(other.tensor_) { other.tensor_ = nullptr; }
  TensorRef& operator=(TensorRef other) noexcept;
  ~TensorRef() { release(); }
  ListTensor* get() const { return tensor_; }
  ListTensor* operator->() const { return tensor_; }
  explicit operator bool() const { return tensor_ != nullptr; }

 private:
  void retain();
  void release();
  ListTensor* tensor_ = nullptr;
};

// Where the tensors of a run's lists come from, and what they may use.
struct ListMemory {
  BlockPool* blocks = nullptr;
  uint64_t limit = UINT64_MAX;
  uint64_t used = 0;
  bool guarded = false;  // a zone behind the elements of each tensor (guards.h)
  // Elements for the caller to fill through `data`; null, with a message, when there is no memory.
  TensorRef allocate(DType dtype, std::span<const int64_t> shape, std::byte*& data);
  // The caller's elements, which stay where they are.
  TensorRef borrow(DType dtype, std::span<const int64_t> shape, const std::byte* data);

 private:
  TensorRef make(DType dtype, std::span<const int64_t> shape, uint64_t bytes, uint64_t room);
};

// A sequence or an optional. Absent is an optional without a value; an optional tensor is a list of one.
class TensorList {
 public:
  TensorList() = default;
  TensorList(const TensorList& other);
  TensorList(TensorList&& other) noexcept : storage_(other.storage_), size_(other.size_) { other.storage_ = nullptr; }
  TensorList& operator=(TensorList other) noexcept;
  ~TensorList() { clear(); }
  bool is_present() const { return storage_ != nullptr; }
  uint64_t size() const { return storage_ == nullptr ? 0 : size_; }
  const ListTensor& operator[](uint64_t i) const { return *storage_->tensors[i].get(); }
  TensorRef share(uint64_t i) const { return storage_->tensors[i]; }
  void clear();  // becomes absent
  // The same in turns: releases tensors that no other version of the list holds, from the last on, until none is left.
  pliant_status clear(StopFlag flag);
  // Each false, with a message, when there is no memory. `room` is a hint.
  bool make_empty(uint64_t room = 0);
  bool append(TensorRef tensor);
  bool insert(uint64_t position, TensorRef tensor);
  bool erase(uint64_t position);

 private:
  struct Storage {
    std::atomic<uint32_t> references;
    uint64_t used, capacity;
    TensorRef* tensors;
  };
  static Storage* make_storage(uint64_t capacity);
  static bool grow(Storage& storage);
  bool copy_storage(uint64_t count, uint64_t capacity);
  Storage* storage_ = nullptr;
  uint64_t size_ = 0;  // of the storage's tensors, how many are in this version
};

}  // namespace pliant::runtime
