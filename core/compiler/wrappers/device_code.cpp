// Relocatable device code is stored as clang's new offload driver does: bitcode in a section .llvm.offloading that
// linkers drop, kernels and variables listed in a section of entries. The device link reads the bitcode here, and the
// object that it makes (link_stub.h) registers the entries when the program starts, whichever linker links the program.
#include "core/compiler/wrappers/device_code.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Object/Archive.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <map>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/compiler/frontend.h"
#include "core/model/kernel_key.h"
#include "core/toolchain/architecture.h"
#include "core/toolchain/fat_blob.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

std::vector<char> bitcode_of(const llvm::Module& module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::WriteBitcodeToFile(module, out);
  return {bytes.begin(), bytes.end()};
}

std::string lines_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\n';
  return text;
}

/// Drops LLVM's warnings and remarks, such as that a loop could not be unrolled as its pragma requests: they concern
/// code for this machine's processor, and the source was written for a GPU. Errors are reported.
struct OnlyErrors : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override { return info.getSeverity() != llvm::DS_Error; }
};

/// A warning for each refused kernel; instances of one template share a line.
std::string left_out(const std::string& unit, const std::vector<CpuImage::Refused>& kernels) {
  std::map<std::string, std::vector<const CpuImage::Refused*>> by_name;
  for (const CpuImage::Refused& kernel : kernels) by_name[base_name(canonical_key(kernel.kernel))].push_back(&kernel);
  std::string text;
  for (const auto& [name, instances] : by_name)
    text += unit + ": warning: kernel " + name +
            (instances.size() > 1 ? " (" + std::to_string(instances.size()) + " instances)" : "") +
            " is left out, launching it returns cudaErrorNotSupported: " + instances.front()->why + "\n";
  return text;
}

/// Bitcode and CPU image of a complete device program; messages name it by `unit`.
Result<DeviceCode> finished(std::unique_ptr<llvm::Module> module, const std::string& unit, const std::string& name,
                            const std::string& flags, MakeCpuImage make_image) {
  std::vector<char> bitcode = bitcode_of(*module);
  module->getContext().setDiagnosticHandler(std::make_unique<OnlyErrors>());
  KERNELIFT_ASSIGN(CpuImage image, make_image(std::move(module)));
  return DeviceCode{write_fat_blob({{FatEntry::Kind::Bitcode, name, flags, bitcode},
                                    {FatEntry::Kind::CpuImage, name, flags, image.elf}}),
                    left_out(unit, image.refused)};
}

/// True if the module defines a function or variable.
bool has_device_code(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (!function.isDeclaration()) return true;
  for (const llvm::GlobalVariable& variable : module.globals())
    if (!variable.isDeclaration() && !variable.getName().starts_with("llvm.")) return true;
  return false;
}

class DeviceLinker {
 public:
  DeviceLinker() : module_(std::make_unique<llvm::Module>("linked device code", context_)), linker_(*module_) {}

  Status add_file(const std::string& path) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) return usage_error("cannot read " + path + ": " + buffer.getError().message());
    return add_buffer((*buffer)->getMemBufferRef(), path);
  }

  bool empty() const { return found_ == 0; }
  const std::string& flags() const { return flags_; }
  std::unique_ptr<llvm::Module> take() { return std::move(module_); }

 private:
  Status add_buffer(llvm::MemoryBufferRef buffer, const std::string& name) {
    auto magic = llvm::identify_magic(buffer.getBuffer());
    if (magic == llvm::file_magic::archive) {
      auto archive = llvm::object::Archive::create(buffer);
      if (!archive) return usage_error(name + ": " + llvm::toString(archive.takeError()));
      llvm::Error error = llvm::Error::success();
      for (const auto& child : (*archive)->children(error)) {
        auto member = child.getMemoryBufferRef();
        if (!member) return usage_error(name + ": " + llvm::toString(member.takeError()));
        KERNELIFT_TRY(add_buffer(*member, name));
      }
      if (error) return usage_error(name + ": " + llvm::toString(std::move(error)));
      return done();
    }
    if (magic != llvm::file_magic::elf_relocatable) return done();
    auto object = llvm::object::ObjectFile::createELFObjectFile(buffer);
    if (!object) return usage_error(name + ": " + llvm::toString(object.takeError()));
    for (const llvm::object::SectionRef& section : (*object)->sections()) {
      auto section_name = section.getName();
      if (!section_name || *section_name != ".llvm.offloading") {
        if (!section_name) llvm::consumeError(section_name.takeError());
        continue;
      }
      auto contents = section.getContents();
      if (!contents) return usage_error(name + ": " + llvm::toString(contents.takeError()));
      KERNELIFT_TRY(add_blobs(*contents, name));
    }
    return done();
  }

  /// Adds the blobs in a section; `ld -r` concatenates the sections of several objects.
  Status add_blobs(llvm::StringRef contents, const std::string& name) {
    while (contents.size() >= sizeof(uint64_t)) {
      uint64_t size = contents.size() < 32 ? 0 : fat_blob_size(contents.data());
      if (size == 0 || size > contents.size()) {
        contents = contents.drop_front(std::min<size_t>(8, contents.size()));
        continue;
      }
      auto entries = read_fat_blob(std::span<const char>(contents.data(), size));
      if (!entries.ok()) return std::move(entries).error().in(name);
      for (const FatEntry& entry : *entries) {
        if (entry.kind != FatEntry::Kind::RelocatableBitcode) continue;
        auto module =
            llvm::parseBitcodeFile({llvm::StringRef(entry.bytes.data(), entry.bytes.size()), entry.name}, context_);
        if (!module) return environment_error(name + ": " + llvm::toString(module.takeError()));
        if (found_++ == 0) {
          module_->setTargetTriple((*module)->getTargetTriple());
          module_->setDataLayout((*module)->getDataLayout());
          flags_ = entry.flags;
        }
        if (linker_.linkInModule(std::move(*module)))
          return answer_is_no("device link: " + name + ": a device symbol is defined more than once");
      }
      contents = contents.drop_front(size);
    }
    return done();
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::Linker linker_;
  std::string flags_;
  size_t found_ = 0;
};

}  // namespace

std::string compilation_unit_id(const CompilerCommand& command, const SourceInput& input) {
  Hasher hasher;
  hasher.add(fs::absolute(input.file).lexically_normal().string());
  for (const std::string& flag : command.frontend_flags()) hasher.add(flag);
  return hasher.finish().hex().substr(0, 16);
}

Result<DeviceCode> compile_device_code(const CompilerCommand& command, const SourceInput& input,
                                       MakeCpuImage make_image) {
  KERNELIFT_ASSIGN(std::string source, read_text(input.file));
  FrontendOptions options;
  options.file_name = input.file;
  options.language = input.language == SourceInput::Language::Hip ? "hip" : "cuda";
  if (options.language != "hip")
    options.arch = newest_architecture(command);  // For HIP, whose architectures are AMD's, the default is used.
  options.flags = command.frontend_flags();
  if (command.relocatable) options.flags.push_back("-cuid=" + compilation_unit_id(command, input));
  for (const std::string& flag : command.host_flags)
    if (flag.starts_with("-W") || flag == "-w") options.flags.push_back(flag);
  llvm::LLVMContext context;
  KERNELIFT_ASSIGN(Compiled compiled, compile_to_device_ir(context, source, options));
  DeviceCode code;
  // The same name as in the compile database, without symbolic links: it joins recorded launches with their source.
  std::error_code ignored;
  std::string name = fs::weakly_canonical(fs::absolute(input.file), ignored).string(), flags = lines_of(options.flags);
  if (command.relocatable) {
    std::vector<char> bitcode = bitcode_of(*compiled.module);
    code.blob = write_fat_blob({{FatEntry::Kind::RelocatableBitcode, name, flags, bitcode}});
  } else if (has_device_code(*compiled.module)) {
    KERNELIFT_ASSIGN(code, finished(std::move(compiled.module), input.file, name, flags, make_image));
  } else {
    code.blob = write_fat_blob({});
  }
  return code;
}

Result<DeviceCode> link_device_code(const std::vector<std::string>& files, MakeCpuImage make_image) {
  DeviceLinker linker;
  for (const std::string& file : files) KERNELIFT_TRY(linker.add_file(file));
  if (linker.empty()) return DeviceCode{};
  const std::string flags = linker.flags();
  return finished(linker.take(), "device link", "device link", flags, make_image);
}

}  // namespace kernelift::wrappers
