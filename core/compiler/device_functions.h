// The functions of a unit that are written for the device alone. clang keeps them out of what host code looks up; other
// compilers of CUDA do not.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace clang {
class ASTConsumer;
class FileID;
}  // namespace clang

namespace kernelift {

struct DeviceFunction {
  std::string name;  ///< Qualified.
  /// What a caller sees of it: how it is declared, and its text where a constant expression may call it.
  std::string seen;
  std::filesystem::path file;
  size_t begin = 0;          ///< Where its specifiers begin.
  bool by_macro = false;     ///< A macro spells its name.
  bool is_constant = false;  ///< A constant expression may call it.
  bool is_global = false;    ///< Other files could link it: neither inline, nor static, nor a template or member.
  auto operator<=>(const DeviceFunction&) const = default;
};

/// Notes the functions in files for which `path_of` is not null. Left out are those of a function's own classes, which
/// nobody else can name. Both outlive the consumer.
std::unique_ptr<clang::ASTConsumer> note_device_functions(
    std::function<const std::filesystem::path*(clang::FileID)> path_of, std::vector<DeviceFunction>& functions);

}  // namespace kernelift
