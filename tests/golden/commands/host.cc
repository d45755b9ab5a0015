// links: pliant_host

// `host`: the canonical text of a host module, which must verify and parse back to itself.
#include "host/host.h"

#include "golden/golden.h"

namespace pliant::golden {

Command command_host() {
  return {"host", [](const Case& c) -> Result<std::string> {
            expr::Context ctx, again;
            const host::Module m = TRY(host::parse(c.input, ctx));
            TRY(host::verify(m, ctx));
            const std::string text = host::print(m, ctx);
            const host::Module n = TRY(host::parse(text, again));
            PLIANT_CHECK(host::print(n, again) == text) << "the text changes when it is parsed again:\n"
                                                        << host::print(n, again);
            return text;
          }};
}

}  // namespace pliant::golden
