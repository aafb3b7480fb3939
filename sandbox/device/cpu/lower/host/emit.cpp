// Code generation to an object in memory, and lld in-process to a shared object. lld reads and writes files only, so
// both pass through a private temporary folder. It keeps global state: one link at a time in a process.
// The mathematics libraries are found where this process has them loaded, so that their symbol versions are recorded.
#include "sandbox/device/cpu/lower/host/emit.h"

#include <dlfcn.h>
#include <lld/Common/Driver.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <fstream>
#include <mutex>

#include "core/base/file.h"

LLD_HAS_DRIVER(elf)

namespace kernelift::cpu {

using namespace llvm;

namespace {

void initialize_host_target() {
  static const bool kDone = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)kDone;
}

std::string native_features() {
  std::string text;
  for (const auto& [name, present] : sys::getHostCPUFeatures()) {
    if (!text.empty()) text += ',';
    text += (present ? "+" : "-") + name.str();
  }
  return text;
}

/// File of a library as the dynamic loader found it, "" if it is not there. `symbol` is one that it defines.
std::string loaded_library(const char* soname, const char* symbol) {
  void* handle = dlopen(soname, RTLD_LAZY);
  void* address = handle ? dlsym(handle, symbol) : nullptr;
  Dl_info info;
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

}  // namespace

Result<std::unique_ptr<TargetMachine>> host_machine(const std::string& cpu, int level) {
  initialize_host_target();
  Triple triple(sys::getProcessTriple());
  std::string problem;
  const Target* target = TargetRegistry::lookupTarget(triple, problem);
  if (!target) return environment_error("this build has no code generator for " + triple.str() + ": " + problem);
  const bool native = cpu.empty() || cpu == "native";
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard;
  options.VecLib = VectorLibrary::LIBMVEC;
  const CodeGenOptLevel levels[] = {CodeGenOptLevel::Less, CodeGenOptLevel::Less, CodeGenOptLevel::Default,
                                    CodeGenOptLevel::Aggressive};
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, native ? sys::getHostCPUName() : StringRef(cpu), native ? native_features() : "", options, Reloc::PIC_,
      CodeModel::Small, levels[std::clamp(level, 0, 3)]));
  if (!machine) return environment_error("no code generator for CPU " + cpu);
  return machine;
}

Result<std::vector<char>> emit_shared_object(Module& module, TargetMachine& machine,
                                             std::map<std::string, uint64_t>& sizes) {
  std::string text;
  raw_string_ostream complaint(text);
  if (verifyModule(module, &complaint)) return environment_error("internal error: lowering made invalid IR: " + text);
  SmallVector<char, 0> object;
  {
    raw_svector_ostream stream(object);
    legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile, /*DisableVerify=*/true))
      return environment_error("this CPU's code generator cannot write object files");
    passes.run(module);
  }
  if (auto file =
          object::ObjectFile::createObjectFile(MemoryBufferRef(StringRef(object.data(), object.size()), "kernel.o"))) {
    for (const object::ELFSymbolRef symbol : (*file)->symbols())
      if (auto name = symbol.getName()) sizes[name->str()] = symbol.getSize();
      else consumeError(name.takeError());
  } else {
    consumeError(file.takeError());
  }

  KERNELIFT_ASSIGN(TemporaryFolder folder, TemporaryFolder::create("kernelift-link"));
  const std::string input = folder.path() / "kernel.o", output = folder.path() / "kernel.so";
  {
    // Scratch for the linker, so without write_atomically's fsync: that would cost more than the link.
    std::ofstream file(input, std::ios::binary);
    if (!file.write(object.data(), std::streamsize(object.size())).flush())
      return environment_error("cannot write " + input + " (is the disk full?)");
  }
  std::vector<std::string> line = {"ld.lld",           "-shared", "--threads=1", "-O0",
                                   "--hash-style=gnu", "-z",      "now",         "--build-id=none",
                                   "--as-needed",      "-o",      output,        input};
  const std::pair<const char*, const char*> kLibraries[] = {{"libm.so.6", "tgamma"},
                                                            {"libmvec.so.1", "_ZGVbN2v_sin"},
                                                            {"libc.so.6", "qsort"},
                                                            {"libgcc_s.so.1", "__udivti3"}};
  bool all_there = true;
  for (const auto& [library, symbol] : kLibraries) {
    std::string file = loaded_library(library, symbol);
    if (file.empty()) all_there = false;
    else line.push_back(file);
  }
  // A function that none of them has is told here, not by a launch that cannot load the image. Where one is missing
  // nobody knows what it would have had.
  if (all_there) line.insert(line.end(), {"-z", "defs"});
  std::vector<const char*> arguments;
  for (const std::string& word : line) arguments.push_back(word.c_str());
  static std::mutex one_link;
  std::lock_guard lock(one_link);
  std::string messages;
  raw_string_ostream sink(messages);
  const lld::Result linked = lld::lldMain(arguments, sink, sink, {{lld::Gnu, &lld::elf::link}});
  if (linked.retCode != 0) return environment_error("linking a CPU image failed: " + StringRef(messages).rtrim().str());
  KERNELIFT_ASSIGN(std::vector<std::byte> bytes, read_bytes(output));
  return std::vector<char>(reinterpret_cast<const char*>(bytes.data()),
                           reinterpret_cast<const char*>(bytes.data()) + bytes.size());
}

}  // namespace kernelift::cpu
