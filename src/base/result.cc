#include "base/result.h"

#include <cstring>

namespace pliant {

std::string format(const Diagnostic& d) {
  std::string text;
  if (!d.where.empty()) text = d.where + ": ";
  text += "error: " + d.message;
  if (!d.id.empty()) text += " [" + d.id + "]";
  for (const std::string& note : d.notes) text += "\n  note: " + note;
  return text;
}

std::string Error::text() const {
  std::string text;
  for (const Diagnostic& d : diagnostics) {
    if (!text.empty()) text += "\n";
    text += format(d);
  }
  return text;
}

namespace detail {

CheckStream::CheckStream(const char* file, int line, const char* cond) {
  const char* slash = std::strrchr(file, '/');
  out << (slash ? slash + 1 : file) << ":" << line << ": check failed: " << cond << " ";
}

CheckStream::~CheckStream() noexcept(false) { throw InternalError(out.str()); }

}  // namespace detail
}  // namespace pliant
