// links: pliant_graph pliant_ops pliant_emit pliant_artifact

// `emit TARGET`: the bytecode of a module, loops included, without passes. The program passes the load-time verifier.
#include "emit/emit.h"

#include <set>

#include "artifact/disassemble.h"
#include "artifact/entry.h"
#include "artifact/seal.h"
#include "artifact/verify.h"
#include "codegen/codegen.h"
#include "golden/golden.h"
#include "graph/graph.h"

namespace pliant::golden {
namespace {

// Functions of no code, with the records that generated ones would have.
void place_code(emit::Emitted& e) {
  std::vector<std::byte>& text = e.program.image.text;
  text.resize(artifact::kSealBytes);
  auto place = [&](const artifact::Entry& entry) {
    const std::vector<std::byte> record = artifact::encode_entry(entry);
    text.insert(text.end(), record.begin(), record.end());
    const uint64_t offset = text.size();
    text.resize(offset + artifact::kEntryAlignment);
    return offset;
  };
  for (size_t i = 0; i < e.functions.size(); ++i) {
    const loop::Function& f = *e.functions[i];
    artifact::Entry entry;
    entry.args = static_cast<uint32_t>(f.params.size());
    entry.ints = static_cast<uint32_t>(e.kernel_ints[i].size());
    for (const loop::Buffer& b : f.params) entry.writes_to.push_back(b.is_output);
    e.program.kernels[i].code_offset = place(entry);
  }
  for (size_t i = 0; i < e.shapes.size(); ++i) {
    artifact::Entry entry{artifact::Entry::Kind::Shape, 0, 0, {}, {}, {}};
    std::set<uint32_t> reads, writes;
    for (const codegen::Assignment& a : e.shapes[i].assignments) {
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
            const graph::Module module = TRY(graph::parse_module(c.input));
            const codegen::Target* target = codegen::find_target(c.args.at(0));
            PLIANT_CHECK(target != nullptr) << "there is no target " << c.args[0];
            emit::Options options;
            options.native_loops = false;
            emit::Emitted e = TRY(emit::emit(module, *target, options));
            place_code(e);
            // Constants have their places once they are written.
            for (size_t i = 0; i < e.constants.size(); ++i) e.program.constants.push_back({64 * i, 0});
            std::string error;
            if (!artifact::verify(e.program, 64 * e.constants.size(), error)) return error + "\n";
            return artifact::disassemble(e.program);
          }};
}

}  // namespace pliant::golden
