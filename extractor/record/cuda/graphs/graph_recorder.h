// Images of kernels inside graphs. cuGraphLaunch is one call for all of a graph's kernels, and a callback cannot stop
// it; but a launch can be run in parts before it (graph_parts.h), and the application's own call then runs the rest.
// Done for the few launches that hold a node worth keeping; every other launch of a graph costs a question per wanted
// node.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "extractor/record/cuda/cupti/activity.h"
#include "extractor/record/cuda/graphs/graph_table.h"
#include "extractor/record/cuda/taking.h"

namespace kernelift::record {

class GraphRecorder {
 public:
  /// `turn` guards `archive` and the kernels' choosers, and what kernel_ran() needs.
  GraphRecorder(const CudaDriver& driver, GraphTable& graphs, KernelTable& kernels, Taking& taking, Archive& archive,
                std::mutex& turn)
      : driver_(driver), graphs_(graphs), kernels_(kernels), taking_(taking), archive_(archive), turn_(turn) {}

  /// What is about to be launched, if something in it is wanted; else null.
  std::shared_ptr<const ExecutableGraph> wanted(CUgraphExec graph) const;
  /// Before the driver launches `handle`, that is `graph`, into `stream`. EXPECTS: the thread is inside the gate, and
  /// no stream captures. True: parts of it have run, the gate is closed, and launched() must follow the launch; false:
  /// inside the gate still.
  bool launch(CUgraphExec handle, std::shared_ptr<const ExecutableGraph> graph, CUstream stream, CUcontext context,
              uint32_t correlation);
  void launched();
  /// A wanted kernel of this mangled name and key ran in a graph. EXPECTS: turn is held.
  void kernel_ran(const KernelRun& run, const std::string& key);

 private:
  /// The launch that is being run in parts.
  struct Launch {
    GraphParts parts;
    std::shared_ptr<const ExecutableGraph> graph;
    CUcontext context;
    std::string stream, what;  ///< `what` as notes name it.
    uint32_t correlation = 0;
  };
  /// What is known of a kernel in graphs, by its mangled name.
  struct Seen {
    CudaKernel* kernel = nullptr;  ///< Null: several modules have one of this name.
    std::map<Geometry, uint64_t> scalars;
  };
  /// A node whose images were taken, until its duration is known.
  struct Taken {
    uint32_t correlation = 0;
    CudaKernel* kernel = nullptr;
    LaunchTraits traits;
    std::string id;
  };

  void note(const std::string& key, const std::string& why);
  /// Closes the gate and switches the nodes off. False, or an exception: neither.
  bool begin(Launch& launch, CudaKernel& kernel, CUgraphExec handle);
  /// Nodes that the driver would not switch as the application had them: named, and an end of all images.
  void note_astray(const Launch& launch, const std::vector<size_t>& steps) noexcept;
  bool chosen(const ExecutableGraph& graph, const GraphKernel& node, CudaKernel& kernel, CUcontext context);
  bool take(Launch& launch, size_t step, const GraphKernel& node, CudaKernel& kernel, uint64_t index);

  const CudaDriver& driver_;
  GraphTable& graphs_;
  KernelTable& kernels_;
  Taking& taking_;
  Archive& archive_;
  std::mutex& turn_;
  std::optional<Launch> launch_;  ///< Of the thread that closed the gate.
  std::unordered_map<std::string, Seen> seen_;
  std::vector<Taken> taken_;
  std::vector<uint32_t> in_parts_;  ///< Correlations of launches that were run in parts.
};

}  // namespace kernelift::record
