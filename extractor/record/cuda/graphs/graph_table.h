// The application's executable graphs: their nodes in order, and with which arguments their kernels will run. Read when
// a graph is made executable, since that is when the driver copies it; every later update of the executable graph is
// followed. A graph whose nodes can no longer be named to the driver, or that holds more than kernels, copies and
// fills, is kept with the reason why its images cannot be taken.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "extractor/record/cuda/graphs/graph_parts.h"
#include "extractor/record/cuda/kernel_table.h"
#include "extractor/record/cuda/launch.h"
#include "extractor/record/cuda/memory/allocations.h"

namespace kernelift::record {

/// What a wanted kernel's node will launch.
struct GraphKernel {
  CUfunction handle = nullptr;  ///< May be a CUkernel.
  CUcontext context = nullptr;  ///< Null: the one it was added in.
  std::string name;             ///< Mangled.
  Geometry geometry;
  std::vector<std::byte> arguments;
  LaunchSettings settings;
  LaunchTraits traits;
  std::string refusal;  ///< Why this one's images cannot be taken, or empty.
};

struct ExecutableGraph {
  CUgraph source = nullptr;
  std::vector<GraphStep> steps;
  std::vector<CUgraphNodeType> types;
  std::vector<std::optional<GraphKernel>> kernels;  ///< By step; of wanted kernels only.
  std::vector<size_t> order;                        ///< Steps in an order that their edges allow.
  bool wanted = false;                              ///< Some kernel in it is.
  std::string refusal;                              ///< Why no image of it can be taken, or empty.
};

class GraphTable {
 public:
  GraphTable(const CudaDriver& driver, const KernelPattern& pattern, KernelTable& kernels, Allocations& allocations,
             Modules& modules)
      : driver_(driver), pattern_(pattern), kernels_(kernels), allocations_(allocations), modules_(modules) {}

  /// A call that is_graph_call() has ended (before false) or begins. `busy`: some stream captures, so that the driver
  /// is not to be asked for anything.
  void note_call(uint32_t cbid, const void* parameters, bool before, bool succeeded, bool busy);
  /// Null if it was not seen being made. What is returned never changes: whoever finds the same again knows that it
  /// holds.
  std::shared_ptr<const ExecutableGraph> find(CUgraphExec graph) const;
  /// Why kernels may run in graphs that seem to hold none that is wanted.
  std::string why_unfollowed() const;

 private:
  using Graph = std::shared_ptr<ExecutableGraph>;
  void made(CUgraphExec graph, CUgraph from, uint64_t flags, bool busy);
  void updated(CUgraphExec graph, CUgraph from, bool succeeded, bool busy);
  void kernel_set(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& to, bool busy);
  Graph read(CUgraph from) const;
  bool read_edges(CUgraph from, ExecutableGraph& into) const;
  std::optional<GraphKernel> read_kernel(const CUDA_KERNEL_NODE_PARAMS& from, CUgraphNode node) const;
  void refuse(CUgraphExec graph, const std::string& why);
  /// To be changed: a copy, if somebody is looking at it.
  static ExecutableGraph& own(Graph& graph);

  const CudaDriver& driver_;
  const KernelPattern& pattern_;
  KernelTable& kernels_;
  Allocations& allocations_;
  Modules& modules_;
  mutable std::mutex turn_;
  std::unordered_map<CUgraphExec, Graph> graphs_;
  std::string why_unfollowed_ = "the graph that it ran in was not seen being made";
};

/// The driver's calls that make, change or destroy graphs that can be launched, by CUPTI's number.
bool is_graph_call(uint32_t cbid);

}  // namespace kernelift::record
