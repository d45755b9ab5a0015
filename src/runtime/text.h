// Short texts for messages, built in place without allocating; what does not fit is cut.
#pragma once
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "artifact/program.h"

namespace pliant::runtime {

class Text {
 public:
  Text() { text_[0] = 0; }
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    const int n = std::vsnprintf(text_ + size_, sizeof text_ - size_, format, args);
    va_end(args);
    if (n > 0) size_ = size_ + static_cast<size_t>(n) < sizeof text_ ? size_ + static_cast<size_t>(n) : sizeof text_ - 1;
  }
  const char* str() const { return text_; }

 private:
  char text_[1024];
  size_t size_ = 0;
};

// `[4, 37]`
Text shape_text(const int64_t* shape, size_t rank);
// `[batch, 3, h, w]`
Text shape_text(const artifact::TensorDesc& tensor);
// A message of the program with its placeholders: {0}, {1} … stand for `values`, {a} and {b} for the first two.
Text fill_message(const std::string& message, std::span<const int64_t> values);

}  // namespace pliant::runtime
