// Optimisation and object emission.
//
// The emitter already vectorises, unrolls and hoists index arithmetic, so the pipeline is short: it cleans up and moves what
// depends on memory. The loop vectoriser, SLP, unrolling and idiom recognition stay out: they would undo what lowering
// chose.
#include "codegen/llvm/backend.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <mutex>
#include <new>

#include "base/output_file.h"
#include "base/stop.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/outline.h"
#include "codegen/llvm/spills.h"

namespace pliant::codegen {

namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Otherwise it ends the process.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // LLVM 23's peephole optimiser folds a masked load into a masked operation; where the two-address pass takes that apart
    // again, the load has lost its mask and touches memory outside the buffer. The pass has no other switch.
    auto option = llvm::cl::getRegisteredOptions().find("disable-peephole");
    PLIANT_CHECK(option != llvm::cl::getRegisteredOptions().end()) << "this LLVM has no option disable-peephole";
    static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
  });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target, int opt_level) {
  initialize_llvm();
  const llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple, error);
  PLIANT_CHECK(t) << error;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  const llvm::CodeGenOptLevel levels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                          llvm::CodeGenOptLevel::Default, llvm::CodeGenOptLevel::Aggressive};
  std::string features;
  for (const std::string& f : target.features) features += (features.empty() ? "+" : ",+") + f;
  return std::unique_ptr<llvm::TargetMachine>(t->createTargetMachine(
      triple, target.cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, levels[opt_level]));
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int opt_level) {
  if (opt_level == 0) return;
  // Once the compilation is to stop, passes are skipped: LLVM cannot be left by an exception.
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([](llvm::StringRef, llvm::Any) { return !is_stopped(); });
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::AAManager aliasing;
  aliasing.registerFunctionAnalysis<llvm::BasicAA>();
  aliasing.registerFunctionAnalysis<llvm::ScopedNoAliasAA>();
  functions.registerPass([&] { return std::move(aliasing); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graphs, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  if (opt_level >= 2) {
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::GVNPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::DSEPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::InstCombinePass());
  }
  passes.addPass(llvm::ADCEPass());
  std::vector<llvm::Function*> defined;
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) defined.push_back(&f);
  for (llvm::Function* f : defined) {
    poll_stop();
    passes.run(*f, functions);
    if (opt_level >= 2) outline_loops(*f);
  }
  poll_stop();
}

// Asked by the passes of code generation that can be left out: as above.
class StopGate : public llvm::OptPassGate {
 public:
  bool shouldRunPass(llvm::StringRef, llvm::StringRef) const override { return !is_stopped(); }
  bool isEnabled() const override { return stop_flag() != nullptr; }
};

std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  const bool unsupported = machine.addPassesToEmitFile(passes, out, nullptr, type);
  PLIANT_CHECK(!unsupported) << "the target cannot emit this file type";
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

struct Unit::Impl {
  std::string name;
  const Target& target;
  int opt_level;
  StopGate gate{};  // outlives the context
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  std::vector<std::byte> object;
  std::vector<Spills> spills;
};

Unit::Unit(const std::string& name, const Target& target, int opt_level)
    : impl_(new Impl{name, target, opt_level, {}, {}, make_machine(target, opt_level), nullptr, {}, {}}) {
  impl_->context.setOptPassGate(impl_->gate);
  impl_->module = std::make_unique<llvm::Module>(name, impl_->context);
  impl_->module->setTargetTriple(llvm::Triple(target.triple));
  impl_->module->setDataLayout(impl_->machine->createDataLayout());
  impl_->module->setPICLevel(llvm::PICLevel::SmallPIC);
}
Unit::~Unit() = default;
Unit::Unit(Unit&&) noexcept = default;

void Unit::add_kernel(const KernelSource& source, const std::string& symbol, expr::Context& ctx) {
  Emitter(*impl_->module, ctx, impl_->target, impl_->opt_level).emit_kernel(source, symbol);
}

void Unit::add_shape(const ShapeFunction& source, const std::string& symbol, expr::Context& ctx) {
  Emitter(*impl_->module, ctx, impl_->target, impl_->opt_level).emit_shape(source, symbol);
}

Status Unit::compile(const std::string& dump_dir) {
  llvm::Module& module = *impl_->module;
  auto print_module = [&](const std::string& suffix) -> Status {
    if (dump_dir.empty()) return ok();
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
    return write_file(dump_dir + "/" + impl_->name + suffix, text);
  };
  TRY(print_module(".ll"));
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
  PLIANT_CHECK(!llvm::verifyModule(module, &broken_out)) << "broken IR: " << broken;
  optimize(module, *impl_->machine, impl_->opt_level);
  if (!dump_dir.empty()) {
    TRY(print_module(".opt.ll"));
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    TRY(write_file(dump_dir + "/" + impl_->name + ".s",
                   emit_file(*copy, *impl_->machine, llvm::CodeGenFileType::AssemblyFile)));
    impl_->context.setDiagnosticHandler(std::make_unique<SpillHandler>(impl_->spills));
  }
  const std::string bytes = emit_file(module, *impl_->machine, llvm::CodeGenFileType::ObjectFile);
  poll_stop();
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  impl_->object.assign(data, data + bytes.size());
  impl_->module.reset();
  impl_->machine.reset();
  return ok();
}

const std::vector<std::byte>& Unit::object() const { return impl_->object; }
const std::vector<Spills>& Unit::spills() const { return impl_->spills; }

}  // namespace pliant::codegen
