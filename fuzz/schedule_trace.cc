// A loop function and a trace, any text: every line is applied or refused, and a refused one leaves the function as it was.
// Input as in tests/golden/schedule, without the first line.
#include "schedule/schedule.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pliant;
  constexpr std::string_view kMark = "// ---- trace\n";
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t split = text.find(kMark);
  if (split == std::string_view::npos) return 0;
  expr::Context ctx;
  Result<loop::Function> f = loop::parse(text.substr(0, split), ctx);
  if (!f.ok() || !loop::verify(f.value(), ctx).ok()) return 0;
  schedule::Schedule s(f.take(), ctx);
  std::string_view trace = text.substr(split + kMark.size());
  while (!trace.empty()) {
    size_t end = std::min(trace.find('\n'), trace.size() - 1);
    std::string before = loop::print(s.function(), ctx);
    if (before.size() > 50000) break;
    if (!s.replay(trace.substr(0, end + 1)).ok())
      PLIANT_CHECK(loop::print(s.function(), ctx) == before) << "a refused line changed the function";
    trace.remove_prefix(end + 1);
  }
  PLIANT_CHECK(loop::verify(s.function(), ctx).ok()) << "the schedule gave a malformed function";
  return 0;
}
