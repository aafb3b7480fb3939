// What lower() knows about a module of device code while the passes work on it: its kernels with their packed
// parameters, its variables, and where shared variables lie in a block's arena.
#pragma once
#include <llvm/ADT/SetVector.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cmake/headers/llvm.h"
#include "core/base/result.h"
#include "core/toolchain/image_abi.h"

namespace kernelift::cpu {

/// Address spaces of NVPTX.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3, kConstantSpace = 4;

struct KernelParameter {
  uint64_t offset = 0, size = 0;
  llvm::Type* type = nullptr;  ///< Of the value, or of the struct that a byval pointer points to.
  bool by_value = false;
};

struct Kernel {
  std::string name;
  llvm::Function* body = nullptr;  ///< One thread: (thread, parameters…).
  llvm::Function* run = nullptr;   ///< What the image exports; set by schedule/.
  std::vector<KernelParameter> parameters;
  uint64_t parameter_bytes = 0, static_shared_bytes = 0, frame_bytes = 0, stack_bytes = 0;
  uint32_t max_threads = 0, mode = 0, flags = 0;
  std::string mode_reason;
  bool in_warps = false;                  ///< CUT: at warp operations too.
  std::array<bool, 3> identical_along{};  ///< Threads that differ only along these axes are identical
                                          ///< (schedule/analysis/identical_threads.h).
};

struct Variable {
  llvm::GlobalVariable* global = nullptr;
  std::string name;
  bool constant = false, managed = false;
  uint64_t room = 0;  ///< The variable is the middle of `global`, with so many bytes at either end.
};

inline constexpr uint64_t kThreadBytes = 24;  ///< Of a kl_thread.

/// Where place_shared_variables() put one; of variables that no kernel reaches together two may be at one place.
struct SharedVariable {
  std::string name;  ///< As the source has it: "tile".
  uint64_t offset = 0, bytes = 0;
  bool dynamic = false;              ///< extern __shared__, whose bytes a launch says.
  std::vector<std::string> kernels;  ///< Names of those that reach it.
};

struct DeviceModule {
  std::unique_ptr<llvm::Module> module;
  std::vector<Kernel> kernels;
  std::vector<Kernel> left_out;  ///< Kernels that reach a refused function; without a body, mode_reason says why.
  /// Functions that hold something unsupported, and the first such thing: settle_refusals() says what comes of it.
  std::map<llvm::Function*, std::string> refused;

  /// "<what> (<place of at>): <detail>" is not supported: the function that holds `at` is refused.
  void refuse(llvm::Instruction& at, const std::string& what, const std::string& detail = "");
  std::vector<Variable> variables;
  std::vector<SharedVariable> shared;
  uint32_t architecture = 0;  ///< 75 of sm_75.
  /// Check mode: kl_image::code_blocks and kl_image::reached (check/coverage.h).
  std::vector<kl_code_block> code_blocks;
  llvm::GlobalVariable* reached = nullptr;

  /// The hidden first parameter of a device function.
  static llvm::Value* thread_of(llvm::Function& function) { return function.getArg(0); }
  /// Whether a function has that parameter: all but those of the device library do, while they are known to need it.
  static bool has_thread(const llvm::Function& function);
};

/// "kernel.cu:12" of an instruction, or the function's demangled name where there is no line.
std::string place_of(const llvm::Instruction& instruction);
std::string readable_name(llvm::StringRef mangled);

/// Functions that may run when `root` does, itself first: those it calls, and every one whose address is taken if any
/// call is indirect.
llvm::SetVector<llvm::Function*> reachable_from(llvm::Function* root);

/// Takes refused functions and the kernels that reach one out of the module; with `refuse_all` an Error if there are
/// any.
Status settle_refusals(DeviceModule& device, bool refuse_all);

/// Lists kernels and variables, drops what no kernel reaches, and refuses what is external to the module.
Result<DeviceModule> read_device_module(std::unique_ptr<llvm::Module> module);

/// Is this external function one that lowering itself provides (libdevice, vprintf, malloc…)?
bool is_provided_function(llvm::StringRef name);

}  // namespace kernelift::cpu
