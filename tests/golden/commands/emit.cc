// links: pliant_emit pliant_artifact

// `emit`: the bytecode of a host module. The program passes the load-time verifier.
#include "emit/emit.h"

#include <set>

#include "artifact/disassemble.h"
#include "artifact/entry.h"
#include "artifact/seal.h"
#include "artifact/verify/verify.h"
#include "golden/golden.h"

namespace pliant::golden {
namespace {

// Functions of no code, with the records that generated ones would have.
void place_code(const host::Module& module, emit::Emitted& e) {
  std::vector<std::byte>& text = e.program.image.text;
  text.resize(artifact::kSealBytes);
  auto place = [&](const artifact::Entry& entry) {
    const std::vector<std::byte> record = artifact::encode_entry(entry);
    text.insert(text.end(), record.begin(), record.end());
    const uint64_t offset = text.size();
    text.resize(offset + artifact::kEntryAlignment);
    return offset;
  };
  for (size_t i = 0; i < module.kernels.size(); ++i) {
    const host::Kernel& k = module.kernels[i];
    artifact::Entry entry;
    entry.args = static_cast<uint32_t>(k.params.size());
    entry.ints = static_cast<uint32_t>(k.ints.size());
    for (const host::Kernel::Param& p : k.params) entry.writes_to.push_back(p.is_output);
    e.program.kernels[i].code_offset = place(entry);
  }
  for (size_t i = 0; i < e.shapes.size(); ++i) {
    artifact::Entry entry{artifact::Entry::Kind::Shape, 0, 0, {}, {}, {}};
    std::set<uint32_t> reads, writes;
    for (const loop::Assignment& a : e.shapes[i].assignments) {
      for (expr::SymbolId s : expr::symbols_of(a.value))
        if (const uint32_t from = e.shapes[i].symbol_slots.at(s); writes.count(from) == 0) reads.insert(from);
      writes.insert(a.slot);
    }
    entry.reads.assign(reads.begin(), reads.end());
    entry.writes.assign(writes.begin(), writes.end());
    e.program.shape_programs[i].code_offset = place(entry);
  }
  artifact::seal(e.program.image);
}

}  // namespace

Command command_emit() {
  return {"emit", [](const Case& c) -> Result<std::string> {
            expr::Context ctx;
            const host::Module module = TRY(host::parse(c.input, ctx));
            TRY(host::verify(module, ctx));
            emit::Emitted e = TRY(emit::emit(module, c.path));
            place_code(module, e);
            // Constants have their places once they are written.
            uint64_t constants = 0;
            for (int64_t bytes : module.constants) {
              e.program.constants.push_back({constants, static_cast<uint64_t>(bytes)});
              constants += (static_cast<uint64_t>(bytes) + 63) / 64 * 64;
            }
            std::string error;
            if (!artifact::verify(e.program, constants, error)) return error + "\n";
            return artifact::disassemble(e.program);
          }};
}

}  // namespace pliant::golden
