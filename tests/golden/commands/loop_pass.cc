// links: pliant_loop

// `loop_pass [lanes=N] [masked] NAME…`: a loop function after the passes of those names, flatten among them, for a machine
// with vector loops of up to N lanes (8), and with masked memory where said, then the remarks. It must verify and do what
// the input does.
#include <charconv>

#include "golden/golden.h"
#include "loop/compare/equivalence.h"
#include "loop/pass/flatten.h"
#include "loop/pass/pass.h"

namespace pliant::golden {

Command command_loop_pass() {
  return {"loop_pass", [](const Case& c) -> Result<std::string> {
            expr::Context ctx;
            const loop::Function before = TRY(loop::parse(c.input, ctx));
            TRY(loop::verify(before, ctx));
            std::string remarks;
            loop::PassOptions options;
            options.most_lanes = 8;
            options.remark = [&](const std::string& text) { remarks += "// remark: " + text + "\n"; };
            loop::Function after = before;
            for (const std::string& arg : c.args) {
              if (arg.starts_with("lanes=")) {
                std::from_chars(arg.data() + 6, arg.data() + arg.size(), options.most_lanes);
                continue;
              }
              if (arg == "masked") {
                options.masked_memory = true;
                continue;
              }
              bool found = false;
              std::vector<loop::Pass> passes(loop::passes().begin(), loop::passes().end());
              passes.push_back({"flatten", [](const loop::Function& f, expr::Context& c, const loop::PassOptions&) {
                                  return loop::flatten(f, c);
                                }});
              for (const loop::Pass& p : passes) {
                if (arg != p.name) continue;
                after = p.run(after, ctx, options);
                TRY(loop::verify(after, ctx));
                const std::string text = loop::print(after, ctx);
                PLIANT_CHECK(loop::print(p.run(after, ctx, options), ctx) == text)
                    << "a second run of " << arg << " changes the function again";
                found = true;
              }
              PLIANT_CHECK(found) << "there is no loop pass " << arg;
            }
            TRY(loop::check_equivalence(before, after, ctx, 1, 40));
            return loop::print(after, ctx) + remarks;
          }};
}

}  // namespace pliant::golden
