// The proof that a patch leaves the host program as it is. Every unit that the patch touches is compiled for the host
// with and without the candidate's text, and the two are compared as IR, symbol by symbol. The candidate's text may add
// nothing but kernels' stubs and the host's shadows of device variables. What we write into the patch ourselves, the
// geometry of launches, is compared with the original too: it may change a launch's configuration and nothing else.
// So whatever a candidate contains, the program around its kernels stays the user's.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

/// What the user allows beyond.
struct HostRules {
  /// Functions that are compiled for host and device may change, if they use nothing that they did not use before.
  bool allow_changes = false;
  /// Units whose host half cannot be compiled here are patched without the proof.
  bool allow_unproven = false;
  /// nvcc builds the application: what it gives to the host's compiler is compared, too (nvcc_host.h).
  bool by_nvcc = false;
};

struct HostQuestion {
  const Mep& mep;
  const ScanIndex* scan = nullptr;
  const SourcePatch& patch;
  HostRules rules = {};
};

struct HostProof {
  size_t units = 0;    ///< Number of units that were compared.
  double seconds = 0;  ///< For all of them.
  std::vector<std::string> notes;
  std::vector<std::string> files = {};  ///< Their main files.
  bool by_nvcc = false;                 ///< As nvcc makes it, too.
  std::string text() const;             ///< "the host half of 2 units is as it was: compared in 0.84 s".
};

/// Refused, with what differs, if the patch changes the host program or that cannot be told.
Result<HostProof> prove_host_half(const HostQuestion& question);
/// The same in this process, which must be one that can be lost.
Result<HostProof> compare_host_half(const HostQuestion& question);

}  // namespace kernelift::reintegrate
