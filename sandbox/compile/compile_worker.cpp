// Front end (or cached bitcode), module variables, recipe, backend. All LLVM objects are destroyed with the request's
// context; only options that a recipe sets outlive it, and the pool then ends the worker.
#include "sandbox/compile/compile_worker.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Parallel.h>
#include <llvm/Support/Threading.h>
#include <llvm/Support/raw_ostream.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "core/base/wire.h"
#include "core/compiler/clang_job.h"
#include "core/compiler/model/model_builder.h"
#include "core/compiler/nvjitlink.h"
#include "core/compiler/ptx.h"
#include "core/compiler/recipe_passes.h"
#include "core/compiler/written/written_text.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/nvcc_command.h"
#include "sandbox/compile/admission.h"
#include "sandbox/compile/read_files.h"
#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::sandbox {
namespace {

constexpr int kFatalExit = 71;

class Stopwatch {
 public:
  double lap() {
    auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Keeps the optimiser from folding initial values, because the host may write these variables by cudaMemcpyToSymbol.
void keep_module_variables_writable(llvm::Module& module) {
  constexpr unsigned kGlobal = 1, kConstant = 4;  // NVPTX address spaces.
  for (auto& variable : module.globals()) {
    bool device = variable.getAddressSpace() == kGlobal || variable.getAddressSpace() == kConstant;
    if (!device || variable.isConstant() || variable.isDeclaration()) continue;
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable.setExternallyInitialized(true);
  }
}

CompileReply failed(CompileReply reply, const Error& error, Outcome otherwise) {
  reply.outcome = error.exit == Exit::Refused ? Outcome::Refused : otherwise;
  reply.detail = error.message;
  reply.image.clear();
  return reply;
}

/// As the application's build would compile the file with these flags.
FrontendOptions with_unit_flags(FrontendOptions options, const UnitFlags& flags) {
  if (flags.is_default()) return options;
  std::vector<std::string> command{"nvcc", "-c", "kernel.cu"};
  for (auto& word : flags.nvcc_words()) command.push_back(word);
  auto parsed = parse_compiler_command(command, {}, Dialect::Nvcc);
  KERNELIFT_ASSERT(parsed.ok(), "flags of a closed set are spelled as nvcc takes them");
  for (auto& flag : parsed->frontend_flags()) options.flags.push_back(flag);
  return options;
}

class Compile {
 public:
  Compile(const CompileRequest& request, const FrontendOptions& options, WorkerCell& cell)
      : request_(request), options_(with_unit_flags(options, request.recipe.unit_flags)), cell_(cell) {
    context_.setDiagnosticHandlerCallBack(&Compile::diagnose, this);
  }

  CompileReply run() {
    // Options are set first, because the front end's inliner and the backend's tables read them.
    if (auto set = set_options(request_.recipe); !set.ok()) return failed(reply_, set.error(), Outcome::Refused);
    std::unique_ptr<llvm::Module> module = request_.bitcode.empty() ? parse() : reload();
    if (!module) return reply_;
    reply_.frontend_seconds = watch_.lap();
    Status backend = request_.target == CompileTarget::Cpu     ? to_cpu(std::move(module))
                     : request_.target == CompileTarget::Model ? to_model(*module)
                                                               : to_ptx(*module);
    if (!backend.ok()) return failed(reply_, backend.error(), Outcome::CompileFailed);
    if (request_.target == CompileTarget::Cubin && open_cubin_compiler().ok()) assemble();
    return reply_;
  }

 private:
  /// Drops LLVM's remarks and warnings ("loop not unrolled"), which are not for the user's terminal. An error ends this
  /// worker like a fatal error, because LLVM would continue and make wrong code.
  static void diagnose(const llvm::DiagnosticInfo* info, void* self) {
    if (info->getSeverity() != llvm::DS_Error) return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    static_cast<Compile*>(self)->cell_.set_message(text);
    _exit(kFatalExit);
  }

  void announce(const char* stage, const std::string& item = {}) { cell_.set_stage(stage), cell_.set_item(item); }

  std::unique_ptr<llvm::Module> parse() {
    // Before the front end, which reads the files that the text names.
    announce("admission");
    if (!request_.admit) {
      reply_.findings = OwnText(request_.source).words();
    } else if (std::string refusal =
                   OwnText(request_.own).first_refusal(written_constructs(request_.source), options_.file_name);
               !refusal.empty()) {
      refuse(std::move(refusal));
      return nullptr;
    }
    announce("front end");
    std::vector<AdmissionFinding> findings;
    FrontendOptions options = options_;
    if (!request_.admit) options.leading.clear();  // All files that it reads are noted, for candidates to read.
    options.observer = [&](clang::CompilerInstance& compiler) {
      auto admission = watch_admission(compiler, findings);
      return request_.admit ? std::move(admission) : with_files_read(compiler, std::move(admission), reply_.files);
    };
    auto compiled = compile_to_device_ir(context_, request_.source, options);
    for (auto& finding : findings) reply_.findings.push_back(finding.identity());
    if (request_.admit) {
      std::string refusal = first_refusal(findings, {request_.own.begin(), request_.own.end()});
      if (!refusal.empty()) {
        refuse(std::move(refusal));
        return nullptr;
      }
    }
    if (!compiled.ok()) {
      reply_ = failed(std::move(reply_), compiled.error(), Outcome::CompileFailed);
      return nullptr;
    }
    keep_module_variables_writable(*compiled->module);
    llvm::raw_string_ostream stream(reply_.bitcode);
    llvm::WriteBitcodeToFile(*compiled->module, stream);
    return std::move(compiled->module);
  }

  void refuse(std::string why) {
    reply_.outcome = Outcome::Refused, reply_.stage = Stage::Admit, reply_.detail = std::move(why);
  }

  std::unique_ptr<llvm::Module> reload() {
    announce("reading bitcode");
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(request_.bitcode, "kept"), context_);
    if (module) return std::move(*module);
    reply_.outcome = Outcome::CompileFailed, reply_.detail = llvm::toString(module.takeError());
    return nullptr;
  }

  /// Applies the recipe to device IR. Without a pipeline in the recipe none runs here: the backends optimise.
  Status optimise(llvm::Module& module) {
    announce("fast-math flags");
    KERNELIFT_TRY(add_fast_math(module, request_.recipe));
    // If nothing changes, the image would equal the original's and is not needed.
    if (request_.fusing != Fusing::AsCompiled && fuse(module, request_.fusing) == 0)
      return refused("no sums of products");
    if (request_.blocks_reversed && reverse_block_order(module) == 0)
      return refused("no atomic sums over blocks whose order could be reversed");
    if (request_.partial_sums != PartialSums::None || request_.random_sums != 0) KERNELIFT_TRY(change_sums(module));
    if (!request_.recipe.passes.empty())
      KERNELIFT_TRY(
          run_passes(module, request_.recipe, nullptr, [&](const std::string& item) { announce("pass", item); }));
    return done();
  }

  /// Changes sums after inlining, because a loop may call a function that adds to its sum.
  Status change_sums(llvm::Module& module) {
    Recipe registers;
    registers.passes = "cgscc(inline),function(sroa,early-cse,simplifycfg,loop-simplify)";
    KERNELIFT_TRY(run_passes(module, registers, nullptr, [&](const std::string& item) { announce("pass", item); }));
    int count = 0;
    for (auto& function : module)
      count += request_.random_sums != 0 ? round_sums_at_random(function, request_.random_sums)
                                         : split_sums(function, request_.partial_sums);
    return count > 0 ? done() : refused("no sums");
  }

  Status to_cpu(std::unique_ptr<llvm::Module> module) {
    KERNELIFT_TRY(optimise(*module));
    reply_.passes_seconds = watch_.lap();
    announce("lowering to the CPU");
    cpu::LowerOptions options;
    options.vectorize = request_.recipe.vectorize;
    options.host_level = level();
    options.side_by_side = request_.side_by_side;
    options.variables_apart = true;
    options.checked = request_.checked;
    options.field = request_.field, options.numbers = request_.numbers;
    KERNELIFT_ASSIGN(auto image, cpu::lower(std::move(module), options));
    reply_.image.assign(image.elf.begin(), image.elf.end());
    for (auto& kernel : image.kernels)
      reply_.kernels.push_back({kernel.name, kernel.mode, kernel.mode_reason, kernel.code_bytes});
    reply_.backend_seconds = watch_.lap();
    return done();
  }

  Status to_ptx(llvm::Module& module) {
    announce("libdevice");
    bool fast_math = std::ranges::find(options_.flags, "-fgpu-approx-transcendentals") != options_.flags.end();
    KERNELIFT_TRY(link_libdevice(module, !fast_math));
    keep_kernels_only(module);
    KERNELIFT_TRY(optimise(module));
    announce("optimiser");
    if (request_.recipe.passes.empty()) KERNELIFT_TRY(optimize_for_ptx(module, machine(), level()));
    reply_.passes_seconds = watch_.lap();
    announce("PTX code generation");
    KERNELIFT_ASSIGN(reply_.image, emit_ptx(module, machine()));
    reply_.backend_seconds = watch_.lap();
    return done();
  }

  Status to_model(llvm::Module& module) {
    announce("kernel model");
    std::string kernel = request_.kernel;
    if (!module.getFunction(kernel))
      for (auto& function : module)  // By its name in the source.
        if (!function.isDeclaration() && key_matches(canonical_key(function.getName().str()), kernel))
          kernel = function.getName().str();
    KERNELIFT_ASSIGN(KernelModel model, build_kernel_model(module, kernel, request_.block));
    reply_.image = compact(to_json(model));
    reply_.passes_seconds = watch_.lap();
    return done();
  }

  /// PTX to machine code; ptxas's figures for the kernels go into the reply.
  void assemble() {
    announce("nvJitLink");
    Cubin cubin = compile_cubin(reply_.image, machine(), assembler_options(request_.recipe.unit_flags));
    reply_.outcome = cubin.outcome, reply_.detail = cubin.detail, reply_.image = std::move(cubin.image);
    for (auto& [name, facts] : cubin.kernels) {
      CompiledKernel kernel;
      kernel.name = name, kernel.registers = facts.registers,
      kernel.spill_bytes = facts.spill_stores + facts.spill_loads;
      kernel.stack_bytes = facts.stack_bytes, kernel.shared_bytes = facts.shared_bytes;
      reply_.kernels.push_back(std::move(kernel));
    }
    reply_.backend_seconds += watch_.lap();
  }

  const std::string& machine() const { return options_.machine.empty() ? options_.arch : options_.machine; }

  /// 0..3; Os and Oz become level 2, because the backends have no levels for size.
  int level() const {
    const std::string& name = request_.recipe.level;
    bool digit = name.size() == 2 && name[1] >= '0' && name[1] <= '3';
    return digit ? name[1] - '0' : 2;
  }

  const CompileRequest& request_;
  const FrontendOptions options_;
  WorkerCell& cell_;
  llvm::LLVMContext context_;
  CompileReply reply_;
  Stopwatch watch_;
};

void note_fatal_error(void* cell, const char* reason, bool) {
  static_cast<WorkerCell*>(cell)->set_message(reason);
  _exit(kFatalExit);
}

}  // namespace

CompileReply compile_here(const CompileRequest& request, const FrontendOptions& options, WorkerCell& cell) {
  initialize_llvm_targets();
  return Compile(request, options, cell).run();
}

void warm_up_compiler(const FrontendOptions& options, CompileTarget target) {
  static WorkerCell cell;
  // Opened here, before the jail forbids opening files; if there is none, the driver compiles the PTX.
  if (target == CompileTarget::Cubin) (void)open_cubin_compiler().ok();
  CompileRequest request;
  request.source = "__global__ void kernelift_warm_up(float* data) { data[threadIdx.x] *= 2.0f; }\n";
  request.target = target;
  request.admit = false;
  precompile_headers(options);
  compile_here(request, options, cell);
}

void serve_compiles(Channel& channel, WorkerCell& cell, const FrontendOptions& options, JailSpec jail) {
  report_faults_to(&cell.fault);
  llvm::parallel::strategy = llvm::hardware_concurrency(1);  // A worker has one thread, also in lld.
  llvm::install_fatal_error_handler(note_fatal_error, &cell);
  llvm::install_bad_alloc_error_handler(note_fatal_error, &cell);
  setenv("TMPDIR", jail.writable.c_str(), 1);
  const Frame first = channel.receive();
  if (!first) return;
  for (auto& path : WireReader(first.body).texts()) jail.readable.push_back(path);
  // The linker for CPU images looks for these, and nothing that is opened in the jail may be run.
  for (const char* library : {"libm.so.6", "libmvec.so.1", "libgcc_s.so.1"}) (void)dlopen(library, RTLD_LAZY);
  if (auto confined = enter_jail(jail); !confined.ok()) {
    cell.set_message(confined.error().message);
    return;
  }
  while (Frame frame = channel.receive()) {
    auto request = CompileRequest::decode(frame.body);
    if (!request) return;
    cell.set_message({});
    if (!channel.send(frame.type, encode(compile_here(*request, options, cell)))) return;
  }
}

}  // namespace kernelift::sandbox
