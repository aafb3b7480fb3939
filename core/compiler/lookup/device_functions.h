// The functions of a unit that are written for the device alone, and the templates of its kernels. clang keeps them out
// of what host code looks up; other compilers of CUDA do not.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/compiler/lookup/given_decls.h"

namespace clang {
class ASTConsumer;
}

namespace kernelift {

struct DeviceFunction {
  std::string name;  ///< Qualified.
  /// What a caller sees of it: how it is declared, and its text where a constant expression may call it.
  std::string seen;
  std::filesystem::path file;
  size_t begin = 0;          ///< Where its specifiers begin.
  bool by_macro = false;     ///< A macro spells its name.
  bool is_constant = false;  ///< A constant expression may call it.
  bool is_global = false;    ///< Other files could link it: neither inline, nor static, nor a template's.
  bool is_visible = false;   ///< Neither static nor in an unnamed namespace: one of several such functions is linked.
  bool is_kernel = false;    ///< A kernel's template, which is instantiated where it is named, by device code too.
  auto operator<=>(const DeviceFunction&) const = default;
};

/// Notes the functions of the given files. Left out are those of a function's own classes, which nobody else can name.
/// `functions` outlives the consumer.
std::unique_ptr<clang::ASTConsumer> note_device_functions(GivenPath path_of, std::vector<DeviceFunction>& functions);

}  // namespace kernelift
