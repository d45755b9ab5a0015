// links: pliant_schedule

// `schedule`: a loop function, a line `// ---- trace`, then the lines of a trace: the function that the schedule gives. It
// must compute what the first one does, and the schedule's own trace must replay to the same text in a fresh context.
#include "schedule/schedule.h"

#include "golden/golden.h"
#include "schedule/equivalence_test.h"

namespace pliant::golden {

Command command_schedule() {
  return {"schedule", [](const Case& c) -> Result<std::string> {
            const std::string mark = "// ---- trace\n";
            size_t split = c.input.find(mark);
            PLIANT_CHECK(split != std::string::npos) << "there is no line " << mark;
            std::string kernel = c.input.substr(0, split);
            expr::Context ctx, again;
            loop::Function f = TRY(loop::parse(kernel, ctx));
            TRY(loop::verify(f, ctx));
            schedule::Schedule s(f, ctx);
            TRY(s.replay(c.input.substr(split + mark.size())));
            std::string text = loop::print(s.function(), ctx);
            TRY(schedule::check_equivalence(f, s, 1, 40));
            schedule::Schedule second(TRY(loop::parse(kernel, again)), again);
            TRY(second.replay(s.trace()));
            PLIANT_CHECK(loop::print(second.function(), again) == text) << "the trace replays to another function:\n"
                                                                        << loop::print(second.function(), again);
            return text;
          }};
}

}  // namespace pliant::golden
