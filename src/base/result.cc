#include "base/result.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace pliant {

namespace {

enum class Fault : uint8_t { Malformed, Other };
struct Row {
  DiagnosticId id;
  Fault fault;
};
constexpr Row kRows[] = {
#define PLIANT_DIAGNOSTIC(name, fault) {name, Fault::fault},
#include "base/diagnostics.def"
#undef PLIANT_DIAGNOSTIC
};

}  // namespace

bool DiagnosticId::is_malformed() const {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.id == *this && row.fault == Fault::Malformed; });
}

std::vector<DiagnosticId> diagnostic_ids() {
  std::vector<DiagnosticId> ids;
  for (const Row& row : kRows) ids.push_back(row.id);
  return ids;
}

std::string format(const Diagnostic& d) {
  std::string text;
  if (!d.where.empty()) text = d.where + ": ";
  text += "error: " + d.message;
  text += " [" + std::string(d.id.name()) + "]";
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
