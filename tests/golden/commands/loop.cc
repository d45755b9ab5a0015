// links: pliant_loop

// `loop`: the canonical text of a loop function, which must verify and parse back to itself.
#include "loop/loop.h"

#include "golden/golden.h"

namespace pliant::golden {

Command command_loop() {
  return {"loop", [](const Case& c) -> Result<std::string> {
            expr::Context ctx, again;
            loop::Function f = TRY(loop::parse(c.input, ctx));
            TRY(loop::verify(f, ctx));
            std::string text = loop::print(f, ctx);
            loop::Function g = TRY(loop::parse(text, again));
            PLIANT_CHECK(loop::print(g, again) == text) << "the text changes when it is parsed again:\n"
                                                        << loop::print(g, again);
            return text;
          }};
}

}  // namespace pliant::golden
