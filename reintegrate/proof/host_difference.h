// The differences between two host halves of a unit that a patch may make.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace kernelift::reintegrate {

struct HostChange {
  std::string symbol;  ///< Demangled; empty: something of the unit as a whole.
  std::string what;
};

/// What the candidate's text changed beyond kernels' stubs and shadows of device variables. `relocatable`: the
/// application's build gives shadows external names. `permitted`: if not null, functions may change that use nothing
/// new; their names are added to it.
std::optional<HostChange> change_by_candidate(const llvm::Module& without, const llvm::Module& with, bool relocatable,
                                              std::set<std::string>* permitted);

/// What the edits of launches changed beyond the launches' configurations. Where the patch puts the kernel `beside`
/// beside `kernel` (unqualified names; both empty: it does not), launches may choose between the two. Both modules
/// are consumed.
std::optional<HostChange> change_beyond_launches(llvm::Module& without, llvm::Module& with, const std::string& kernel,
                                                 const std::string& beside);

/// What a patch that embeds code changed beyond launches through the generated namespace `launcher`, which it may add.
/// Both modules are consumed.
std::optional<HostChange> change_beyond_launcher(llvm::Module& without, llvm::Module& with,
                                                 const std::string& launcher);

}  // namespace kernelift::reintegrate
