#include "runtime/load/model.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "artifact/verify/verify_code.h"
#include "machine/cores.h"
#include "machine/cpu.h"

namespace pliant::runtime {
namespace {

using artifact::Opcode;
using artifact::Program;

// The first variant that the CPU can run.
pliant_status choose_variant(const artifact::FileView& view, size_t& chosen) {
  std::string missing;
  for (size_t i = 0; i < view.variants.size(); ++i) {
    const std::string lacks = machine::missing_features(view.variants[i].features);
    if (lacks.empty() && machine::enable_features(view.variants[i].features)) {
      chosen = i;
      return PLIANT_OK;
    }
    missing += (i > 0 ? "; " : "") + view.variants[i].target + " needs " +
               (lacks.empty() ? "AMX, which the system refuses" : lacks);
  }
  return fail(PLIANT_UNSUPPORTED_CPU, "this CPU lacks what the artifact needs: %s; compile it for this machine's target",
              missing.c_str());
}

pliant_status resolve_library_calls(Model& m) {
  for (size_t i = 0; i < m.program.library_calls.size(); ++i) {
    const artifact::LibraryCallDesc& e = m.program.library_calls[i];
    const LibraryRow* row = find_library_function(e.symbol);
    if (row == nullptr)
      return fail(PLIANT_BAD_ARTIFACT, "the artifact needs a function \"%s\" that this runtime lacks", e.symbol.c_str());
    auto within = [](size_t n, int least, int most) {
      return n >= static_cast<size_t>(least) && n <= static_cast<size_t>(most);
    };
    if (!within(e.inputs.size(), row->min_inputs, row->max_inputs) ||
        !within(e.outputs.size(), row->min_outputs, row->max_outputs) ||
        !within(e.ints.size(), row->min_ints, row->max_ints) || !within(e.result_slots.size(), 0, row->results) ||
        e.list_inputs.size() != row->list_inputs || e.list_outputs.size() != row->list_outputs)
      return fail(PLIANT_BAD_ARTIFACT, "the artifact calls the function \"%s\" with the wrong number of arguments",
                  e.symbol.c_str());
    m.library_calls.push_back(row);
  }
  return PLIANT_OK;
}

void describe_lives(const Program& p, FunctionCode& f) {
  f.lives.resize(f.epochs.size());
  f.last_of_group.resize(f.epochs.size() / FunctionCode::kLivesOfGroup + 1);
  for (size_t e = 0; e < f.epochs.size(); ++e) {
    FunctionCode::Life& life = f.lives[e];
    for (uint32_t b : f.epochs[e]) {
      life.first = std::min(life.first, p.buffers[f.first_buffer + b].first);
      life.last = std::max(life.last, p.buffers[f.first_buffer + b].last);
    }
    uint32_t& last = f.last_of_group[e / FunctionCode::kLivesOfGroup];
    last = std::max(last, life.last);
  }
}

FunctionCode describe_code(const Program& p, const artifact::CodeScope& scope) {
  FunctionCode f;
  f.first = scope.first;
  f.slot_count = scope.slot_count;
  f.grow_count = scope.grow_count;
  f.first_buffer = scope.first_buffer;
  f.buffer_count = scope.buffer_count;
  f.param_count = scope.param_count;
  f.result_count = scope.result_count;
  for (uint32_t at = scope.first; at <= scope.last; ++at)
    if (p.code[at].op == Opcode::Plan && p.code[at].a >= f.epochs.size()) f.epochs.resize(p.code[at].a + size_t{1});
  for (uint32_t b = 0; b < f.buffer_count; ++b) {
    const uint32_t epoch = p.buffers[f.first_buffer + b].epoch;
    if (epoch < f.epochs.size()) f.epochs[epoch].push_back(b);
  }
  describe_lives(p, f);
  f.list_count = scope.list_count;
  f.frame_bytes = round_up(sizeof(Frame) + sizeof(int64_t) * f.slot_count + sizeof(Placement) * f.buffer_count +
                               sizeof(uint64_t) * f.epochs.size() + sizeof(GrowBlock*) * f.grow_count +
                               sizeof(Operand) * (f.param_count + f.result_count) + sizeof(TensorList) * f.list_count,
                           kAlignment);
  return f;
}

// Input axes whose size is a slot that no bind of the axis gives: a key slot makes one more bind, others are compared once
// they are known.
void complete_binds(Model& m) {
  Program& p = m.program;
  for (uint32_t i = 0; i < p.inputs.size(); ++i)
    for (uint32_t a = 0; a < p.inputs[i].axes.size(); ++a) {
      const artifact::Int& size = p.inputs[i].axes[a].size;
      const bool bound = std::any_of(p.binds.begin(), p.binds.end(), [&](const artifact::Bind& b) {
        return !b.is_element && b.input == i && b.axis == a && b.slot == size.value;
      });
      if (!size.is_slot || bound) continue;
      const auto slot = static_cast<uint32_t>(size.value);
      if (slot < p.key_slots)
        p.binds.push_back({i, a, slot, false, p.slot_names[slot], INT64_MIN, INT64_MAX, 1});
      else
        m.unbound_axes.push_back({i, a, slot});
    }
  m.first_bind.assign(p.key_slots, UINT32_MAX);
  for (uint32_t i = 0; i < p.binds.size(); ++i) m.first_bind[p.binds[i].slot] = std::min(m.first_bind[p.binds[i].slot], i);
}

// How much one instruction's PreparedList can hold, so that it is never grown during a run.
void measure_steps(Model& m) {
  for (const artifact::CallDesc& c : m.program.calls) {
    m.most_pointers = std::max(m.most_pointers, c.args.size());
    m.most_ints = std::max(m.most_ints, c.ints.size());
  }
  for (const artifact::LibraryCallDesc& e : m.program.library_calls) {
    size_t ints = e.ints.size() + e.outputs.size();
    for (const auto& shape : e.input_shapes) ints += shape.size();
    m.most_pointers = std::max(m.most_pointers, e.inputs.size() + e.outputs.size());
    m.most_ints = std::max(m.most_ints, ints);
  }
  m.most_pointers = std::max<size_t>(m.most_pointers, 2);
}

std::vector<Model::Description> describe(const std::vector<artifact::TensorDesc>& tensors) {
  std::vector<Model::Description> out;
  for (const artifact::TensorDesc& t : tensors) {
    Model::Description& d = out.emplace_back();
    for (const artifact::Axis& a : t.axes) {
      d.sizes.push_back(a.size.is_slot ? artifact::kAnySize : a.size.value);
      d.symbols.push_back(a.text.c_str());
    }
  }
  return out;
}

}  // namespace

State& Model::acquire_state(int32_t* stop) {
  std::lock_guard<std::mutex> lock(states_mutex);
  State* s;
  if (idle.empty()) {
    states.push_back(std::make_unique<State>(*this));
    idle.reserve(states.size());
    s = states.back().get();
  } else {
    s = idle.back();
    idle.pop_back();
  }
  s->own_stop = 0;
  s->stop = stop != nullptr ? stop : &s->own_stop;
  return *s;
}

void Model::release_state(State& state) {
  state.trim();
  std::lock_guard<std::mutex> lock(states_mutex);
  state.stop = &state.own_stop;
  idle.push_back(&state);
}

void Model::cancel() {
  std::lock_guard<std::mutex> lock(states_mutex);
  for (const auto& s : states)
    if (std::find(idle.begin(), idle.end(), s.get()) == idle.end()) __atomic_store_n(s->stop, 1, __ATOMIC_RELAXED);
}

uint64_t Model::idle_arena_bytes() const {
  uint64_t bytes = 0;
  for (const State* s : idle)
    bytes += s->arena.committed() + s->scratch.committed() + s->workspace.committed() + s->frames.committed();
  return bytes;
}

// Constants of a size that gains from huge pages and that a process may have to itself.
bool is_chosen(uint64_t bytes) { return bytes >= (1u << 20) && bytes <= (256u << 20); }

pliant_status load_model(std::span<const std::byte> bytes, Mapping file, const LoadOptions& options, Model& model) {
  const int threads = std::min(options.threads > 0 ? options.threads : machine::default_threads(), 1024);
  artifact::FileView view;
  std::string error;
  if (!artifact::open_file(bytes, {options.check_digest, threads}, view, error))
    return fail(PLIANT_BAD_ARTIFACT, "%s", error.c_str());
  size_t variant = 0;
  PLIANT_TRY(choose_variant(view, variant));
  if (!artifact::read_program(view, variant, model.program, error)) return fail(PLIANT_BAD_ARTIFACT, "%s", error.c_str());
  model.digest = view.digest;
  model.constants = view.constants.data();
  const bool aligned = reinterpret_cast<uintptr_t>(model.constants) % artifact::kConstantAlignment == 0;
  const bool huge = options.huge_pages || (options.choose_pages && is_chosen(view.constants.size()));
  if (!view.constants.empty() && (huge || !aligned || options.check_memory)) {
    PLIANT_TRY(model.copied_constants.map_memory(view.constants.size()));
    std::memcpy(model.copied_constants.data(), view.constants.data(), view.constants.size());
    model.constants = model.copied_constants.data();
    if (options.check_memory) PLIANT_TRY(model.copied_constants.make_read_only());
  }
  model.file = std::move(file);
  PLIANT_TRY(model.image.load(model.program.image));
  for (const artifact::KernelDesc& k : model.program.kernels)
    model.kernels.push_back(model.image.at<artifact::KernelFn>(k.code_offset));
  for (const artifact::ShapeProgram& s : model.program.shape_programs)
    model.shapes.push_back(s.has_code ? model.image.at<artifact::ShapeFn>(s.code_offset) : nullptr);
  PLIANT_TRY(resolve_library_calls(model));
  complete_binds(model);
  for (const artifact::CodeScope& scope : artifact::code_scopes(model.program))
    model.functions.push_back(describe_code(model.program, scope));
  model.memory_limit = options.memory_limit;
  model.check_memory = options.check_memory;
  measure_steps(model);
  model.inputs = describe(model.program.inputs);
  model.outputs = describe(model.program.outputs);
  model.pool = std::make_unique<ThreadPool>(threads);
  return PLIANT_OK;
}

}  // namespace pliant::runtime
