// Source text to unoptimised device IR.
//
// Nearly all of the time for a CUDA translation unit goes into headers: a kernel of ten lines takes 10 ms, <cmath> and
// our lean headers 100 to 150 ms (the toolkit's 1.3 s). So the headers are precompiled, in memory, per set of flags:
// the first compile with a set of flags parses them, the second precompiles them, and all later ones reuse the result.
// Who knows that there will be many precompiles them before the first (precompile_headers).
// Tuning compiles one kernel's variants with the same flags thousands of times. Nothing is written to disk, so a
// confined worker can precompile, and workers that are forked later inherit their parent's precompiled headers.
#include "core/compiler/frontend.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Mangle.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/compiler/clang_job.h"
#include "core/compiler/model/parameter_members.h"
#include "core/compiler/paths.h"
#include "core/compiler/precompiled.h"

namespace kernelift {
namespace fs = std::filesystem;

namespace {

/// nvcc's own macros, which sources test. kNvccIdentity is for our lean headers only: with it the toolkit's headers
/// would take clang for nvcc, and clang's wrapper header sets __CUDACC__ as they need it.
const char* const kNvccIdentity[] = {"-D__NVCC__", "-D__CUDACC__"};
const char* const kNvccDefines[] = {"-D__CUDACC_VER_MAJOR__=13",      "-D__CUDACC_VER_MINOR__=0",
                                    "-D__CUDACC_VER_BUILD__=88",      "-D__CUDACC_EXTENDED_LAMBDA__",
                                    "-D__CUDACC_RELAXED_CONSTEXPR__", "-D__CUDA_API_VER_MAJOR__=13"};

/// Constructs that are errors for clang, and for nvcc at most a warning.
const char* const kNvccTolerates[] = {"-Wno-register"};

std::string toolkit_prelude() { return (lean_headers() / "kernelift" / "toolkit_prelude.h").string(); }

/// The folder of GCC's own headers, for those that clang's installation lacks, such as omp.h (the runtime is libgomp).
/// Empty if there is none.
const std::string& gcc_headers() {
  static const std::string found = [] {
    std::string best;
    int newest = 0;
    std::error_code ignored;
    for (fs::directory_iterator at("/usr/lib/gcc/x86_64-linux-gnu", ignored), end; !ignored && at != end;
         at.increment(ignored)) {
      int version = std::atoi(at->path().filename().c_str());
      if (version <= newest || !fs::exists(at->path() / "include" / "omp.h", ignored)) continue;
      newest = version, best = (at->path() / "include").string();
    }
    return best;
  }();
  return found;
}

/// The headers that this process has precompiled.
KeptByFlags<Precompiled>& precompiled() {
  static KeptByFlags<Precompiled> all;
  return all;
}

/// Shows its heirs each declaration outside of functions, those in namespaces and extern "C" among them.
class EachDeclaration : public clang::ASTConsumer {
 public:
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* declaration : group) walk(declaration);
    return true;
  }

 private:
  virtual void examine(clang::Decl* declaration) = 0;

  void walk(clang::Decl* declaration) {
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration))
      for (auto* inner : llvm::cast<clang::DeclContext>(declaration)->decls()) walk(inner);
    else examine(declaration);
  }
};

/// Names of __constant__ variables that are not const in the source. clang makes every __constant__ variable a constant
/// of the module, so that optimisation would replace a static one by its initial value, although the host may write it
/// by cudaMemcpyToSymbol.
class HostWritten : public EachDeclaration {
 public:
  explicit HostWritten(std::vector<std::string>& names) : names_(names) {}
  void HandleCXXStaticMemberVarInstantiation(clang::VarDecl* variable) override { examine(variable); }

 private:
  void examine(clang::Decl* declaration) override {
    auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (!variable || !variable->hasAttr<clang::CUDAConstantAttr>() || variable->isConstexpr() ||
        variable->getType().isConstQualified() || variable->getDeclContext()->isDependentContext() ||
        variable->getDescribedVarTemplate())
      return;
    names_.push_back(clang::ASTNameGenerator(variable->getASTContext()).getName(variable));
  }
  std::vector<std::string>& names_;
};

/// What parameter_members.h keeps of each kernel.
class KernelParameters : public EachDeclaration {
 public:
  explicit KernelParameters(std::vector<ParameterMembers>& all) : all_(all) {}
  void HandleCXXImplicitFunctionInstantiation(clang::FunctionDecl* function) override { examine(function); }

 private:
  void examine(clang::Decl* declaration) override {
    auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (!function || !function->hasAttr<clang::CUDAGlobalAttr>() || function->isDependentContext() ||
        function->isInvalidDecl())
      return;
    if (auto members = ParameterMembers::of(*function); !members.empty()) all_.push_back(std::move(members));
  }
  std::vector<ParameterMembers>& all_;
};

/// Code generation after the caller's observer, if there is one.
class ObservedEmission : public clang::EmitLLVMOnlyAction {
 public:
  ObservedEmission(llvm::LLVMContext* context, const decltype(FrontendOptions::observer)& observer)
      : EmitLLVMOnlyAction(context), observer_(observer) {}
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        clang::StringRef file) override {
    auto generator = EmitLLVMOnlyAction::CreateASTConsumer(compiler, file);
    if (!generator) return generator;
    std::vector<std::unique_ptr<clang::ASTConsumer>> all;
    if (observer_) all.push_back(observer_(compiler));
    all.push_back(std::make_unique<HostWritten>(host_written_));
    all.push_back(std::make_unique<KernelParameters>(members_));
    all.push_back(std::move(generator));
    return std::make_unique<clang::MultiplexConsumer>(std::move(all));
  }
  void make_host_written_variable(llvm::Module& module) const {
    for (auto& name : host_written_)
      if (auto* variable = module.getNamedGlobal(name)) variable->setConstant(false);
  }
  void attach_members(llvm::Module& module) const {
    for (auto& kernel : members_) kernel.attach(module);
  }

 private:
  const decltype(FrontendOptions::observer)& observer_;
  std::vector<ParameterMembers> members_;
  std::vector<std::string> host_written_;
};

/// The source's path in the cc1 job: the driver's last input, made absolute as LLVM does it. In a folder that is
/// reached through a symbolic link this path contains the link's name.
std::string absolute_path(const FrontendOptions& options) {
  llvm::SmallString<256> here;
  if (options.folder.empty()) (void)llvm::sys::fs::current_path(here);
  fs::path folder = options.folder.empty() ? fs::path(here.str().str()) : fs::path(options.folder);
  return (folder / options.file_name).lexically_normal().string();
}

/// With relocatable code, a static that the host uses too is renamed X__static__<cuid> (kernels: X__intern__<cuid>).
/// clang renames it when it finds the host's use; device code that it emitted before still uses X, which then has no
/// definition. Replaces X by the renamed one.
void join_renamed_statics(llvm::Module& module) {
  std::vector<std::pair<llvm::GlobalValue*, llvm::GlobalValue*>> pairs;
  for (llvm::GlobalValue& value : module.global_values())
    for (const char* mark : {"__static__", "__intern__"}) {
      size_t at = value.getName().find(mark);
      if (at == llvm::StringRef::npos) continue;
      llvm::GlobalValue* old = module.getNamedValue(value.getName().substr(0, at));
      if (old && old->isDeclaration() && old->getType() == value.getType()) pairs.emplace_back(old, &value);
    }
  for (auto [old, value] : pairs) {
    old->replaceAllUsesWith(value);
    old->eraseFromParent();
  }
}

/// clang's header reads surfaces by assembly that may be moved over writes: a thread that reads what it wrote would get
/// what was there before. nvcc keeps the order.
void keep_surface_reads_in_order(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !call->isInlineAsm()) continue;
      auto* assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      if (assembly->hasSideEffects() || !assembly->getAsmString().starts_with("suld.")) continue;
      call->setCalledOperand(llvm::InlineAsm::get(assembly->getFunctionType(), assembly->getAsmString(),
                                                  assembly->getConstraintString(), /*hasSideEffects=*/true));
      call->removeFnAttr(llvm::Attribute::Memory);
    }
}

/// nvcc's -prec-div=false, and with it -use_fast_math, is about floats; clang's -freciprocal-math about all types.
void divide_only_floats_by_reciprocals(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (llvm::isa<llvm::FPMathOperator>(instruction) && !instruction.getType()->getScalarType()->isFloatTy())
        instruction.setHasAllowReciprocal(false);
}

/// With -use_fast_math clang's headers replace sinf, cosf, sincosf, logf and log2f; nvcc replaces these functions too.
void use_fast_functions(llvm::Module& module) {
  for (const char* name : {"tanf", "expf", "exp10f", "log10f", "powf"}) {
    llvm::Function* precise = module.getFunction(std::string("__nv_") + name);
    if (!precise || !precise->isDeclaration()) continue;
    auto fast = module.getOrInsertFunction(std::string("__nv_fast_") + name, precise->getFunctionType(),
                                           precise->getAttributes());
    precise->replaceAllUsesWith(fast.getCallee());
    precise->eraseFromParent();
  }
}

}  // namespace

std::vector<std::string> frontend_arguments(const FrontendOptions& options) {
  std::vector<std::string> arguments{
      "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + options.arch, "-nocudalib", "-Wno-unknown-cuda-version",
      "-Wno-unknown-pragmas", "-Xclang", "-target-sdk-version=12.9", "-resource-dir", clang_resource_folder().string(),
      // Without a toolkit clang falls back to PTX 4.2, which supports no GPU of this decade.
      "--cuda-feature=+ptx88"};
  arguments.insert(arguments.end(), std::begin(kNvccTolerates), std::end(kNvccTolerates));
  arguments.insert(arguments.end(), std::begin(kNvccDefines), std::end(kNvccDefines));
  if (options.headers == HeaderSet::Lean) {
    arguments.insert(arguments.end(), std::begin(kNvccIdentity), std::end(kNvccIdentity));
    arguments.insert(arguments.end(),
                     {"-nocudainc", "-isystem", lean_headers().string(), "-include", "cuda_runtime.h"});
    // thrust, cub and libcu++ compile with our headers, except their NVTX ranges for profilers.
    if (auto libraries = cuda_cxx_libraries())
      arguments.insert(arguments.end(), {"-idirafter", libraries->string(), "-DCCCL_DISABLE_NVTX"});
    // Our curand_kernel.h includes the toolkit's by path. Its folder is not searched, so that the toolkit's other
    // headers stay missing and are reported by name.
    if (auto toolkit = cuda_toolkit(); toolkit && fs::exists(*toolkit / "include" / "curand_kernel.h"))
      for (const char* name : {"curand_kernel", "curand_mtgp32_kernel"})
        arguments.push_back("-DKERNELIFT_" + std::string(name) + "=\"" + (*toolkit / "include" / name).string() +
                            ".h\"");
  } else if (auto toolkit = cuda_toolkit()) {
    arguments.insert(arguments.end(),
                     {"--cuda-path=" + toolkit->string(), "-isystem", (*toolkit / "include").string(), "-isystem",
                      (*toolkit / "include" / "cccl").string(), "-include", toolkit_prelude()});
  }
  if (!gcc_headers().empty()) arguments.insert(arguments.end(), {"-idirafter", gcc_headers()});
  if (options.language == "hip") {
    // HIP's header is ours even beside a toolkit: it maps HIP's names to CUDA's.
    if (options.headers == HeaderSet::Toolkit)
      arguments.insert(arguments.end(), {"-idirafter", lean_headers().string()});
    // The runtime's header is included implicitly, as rocThrust's users expect.
    arguments.insert(arguments.end(), {"-D__HIP__=1", "-D__HIPCC__=1", "-include", "hip/hip_runtime.h"});
  }
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  return arguments;
}

namespace {

/// The cc1 line for a source.
Result<std::vector<std::string>> job_for(const FrontendOptions& options) {
  std::vector<std::string> arguments = frontend_arguments(options);
  // -O2 without LLVM's passes: the IR has lifetime markers and TBAA, and no function is optnone.
  arguments.insert(arguments.end(), {"-O2", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "-o", "-"});
  if (options.debug_lines) arguments.push_back("-gline-tables-only");
  if (!options.folder.empty()) arguments.push_back("-working-directory=" + options.folder);
  arguments.push_back(options.file_name);
  KERNELIFT_ASSIGN(auto jobs, clang_jobs(arguments));
  return jobs.front();
}

}  // namespace

namespace {

/// With the leading headers, too; without bytes if one has a __constant__ variable that the host may write, which is
/// marked where it is parsed (HostWritten), or has no guard against being included once more, by the source.
Precompiled precompile_leading(const std::vector<std::string>& job, const FrontendOptions& options) {
  std::vector<std::string> host_written;
  PrecompileWatch watch;
  watch.observer = [&](clang::CompilerInstance&) { return std::make_unique<HostWritten>(host_written); };
  Precompiled made = precompile(job, forced_headers(options), watch, including(options.leading));
  if (made.bytes.empty() || !host_written.empty()) return {};
  std::vector<VirtualFile> files{{absolute_path(options), made.source}};
  for (auto& file : made.files()) files.push_back(file);
  auto again = run_clang_job(with_precompiled(job, forced_headers(options)), files, [](auto& compiler) {
    clang::SyntaxOnlyAction action;
    return compiler.ExecuteAction(action);
  });
  return again.ok() ? made : Precompiled{};
}

/// Of a set of flags and of further headers behind it.
std::string key_of(const std::vector<std::string>& job, const FrontendOptions& options) {
  return flags_of(job, options.file_name) + including(options.leading);
}

}  // namespace

void precompile_headers(const FrontendOptions& options) {
  auto job = job_for(options);
  if (!job.ok()) return;
  (void)precompiled().make(flags_of(*job, options.file_name),
                           [&] { return precompile(*job, forced_headers(options)); });
  if (!options.leading.empty())
    (void)precompiled().make(key_of(*job, options), [&] { return precompile_leading(*job, options); });
}

Result<Compiled> compile_to_device_ir(llvm::LLVMContext& context, const std::string& source,
                                      const FrontendOptions& options) {
  KERNELIFT_ASSIGN(auto job, job_for(options));
  const std::vector<std::string> headers = forced_headers(options);
  std::vector<VirtualFile> files{{absolute_path(options), source}};
  std::shared_ptr<const Precompiled> ready;
  if (!options.leading.empty() && leading_headers(source) == options.leading)
    ready = precompiled().use(key_of(job, options), [&] { return precompile_leading(job, options); });
  if (!ready || ready->bytes.empty())
    ready = precompiled().use(flags_of(job, options.file_name), [&] { return precompile(job, headers); });
  if (ready && !ready->bytes.empty()) {
    job = with_precompiled(job, headers);
    for (auto& file : ready->files()) files.push_back(file);
  }

  Compiled result;
  auto diagnostics = run_clang_job(job, files, [&](clang::CompilerInstance& compiler) {
    ObservedEmission action(&context, options.observer);
    if (!compiler.ExecuteAction(action)) return false;
    result.module = action.takeModule();
    if (result.module) {
      action.make_host_written_variable(*result.module), join_renamed_statics(*result.module);
      keep_surface_reads_in_order(*result.module);
      action.attach_members(*result.module);
    }
    return result.module != nullptr;
  });
  KERNELIFT_ASSIGN(result.diagnostics, std::move(diagnostics));
  if (std::ranges::find(options.flags, "-fgpu-approx-transcendentals") != options.flags.end())
    use_fast_functions(*result.module);
  if (std::ranges::find(options.flags, "-freciprocal-math") != options.flags.end())
    divide_only_floats_by_reciprocals(*result.module);
  return result;
}

}  // namespace kernelift
