#include "runtime/text.h"

#include <cinttypes>

namespace pliant::runtime {

Text shape_text(const int64_t* shape, size_t rank) {
  Text t;
  t.add("[");
  for (size_t i = 0; i < rank; ++i) t.add(i > 0 ? ", %" PRId64 : "%" PRId64, shape[i]);
  t.add("]");
  return t;
}

Text shape_text(const artifact::TensorDesc& tensor) {
  Text t;
  t.add("[");
  for (size_t i = 0; i < tensor.axes.size(); ++i) t.add(i > 0 ? ", %s" : "%s", tensor.axes[i].text.c_str());
  t.add("]");
  return t;
}

Text fill_message(const std::string& message, std::span<const int64_t> values) {
  Text t;
  for (size_t i = 0; i < message.size(); ++i) {
    if (message[i] == '{' && i + 2 < message.size() && message[i + 2] == '}') {
      const char c = message[i + 1];
      const size_t index = c >= '0' && c <= '9' ? static_cast<size_t>(c - '0')
                           : c == 'a'           ? 0u
                           : c == 'b'           ? 1u
                                                : values.size();
      if (index < values.size()) {
        t.add("%" PRId64, values[index]);
        i += 2;
        continue;
      }
    }
    t.add("%c", message[i]);
  }
  return t;
}

}  // namespace pliant::runtime
