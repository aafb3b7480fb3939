// The application's executable graphs: their nodes in order, which kernels they run, and with which arguments those
// that are wanted. Read when a graph is made executable, since that is when the driver copies it; every later update of
// the executable graph is followed. So the kernels of a launch are known, and counted, without their being timed. A
// graph whose nodes can no longer be named to the driver, or that holds more than kernels, copies and fills, is kept
// with the reason why its images cannot be taken.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "extractor/record/cuda/graphs/graph_parts.h"
#include "extractor/record/cuda/kernel_table.h"
#include "extractor/record/cuda/launch.h"
#include "extractor/record/cuda/memory/allocations.h"

namespace kernelift {

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

/// Which kernel a node runs, wanted or not.
struct GraphRun {
  const std::string* name = nullptr;  ///< Mangled; null: no kernel.
  Geometry geometry;
  bool enabled = true;
};

struct ExecutableGraph {
  CUgraph source = nullptr;
  std::vector<GraphStep> steps;
  std::vector<CUgraphNodeType> types;
  std::vector<GraphRun> runs;                       ///< By step.
  std::vector<std::optional<GraphKernel>> kernels;  ///< By step; of wanted kernels only.
  std::vector<size_t> order;                        ///< Steps in an order that their edges allow.
  bool wanted = false;                              ///< Some kernel in it is.
  bool opaque = false;                              ///< It may run other kernels than `runs` says.
  uint64_t untimed = 0;                             ///< Launches whose kernels were not timed and are yet to be counted.
  std::string refusal;                              ///< Why no image of it can be taken, or empty.

  /// The step of that handle.
  std::optional<size_t> place_of(CUgraphNode node) const;
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
  struct Launch {
    std::shared_ptr<const ExecutableGraph> graph;
    bool due = true;  ///< To be looked at, and its kernels timed: the first launches of a graph, then one in many.
  };
  /// It is about to be launched.
  Launch launched(CUgraphExec graph);
  /// Why kernels may run in graphs that seem to hold none that is wanted.
  std::string why_unfollowed() const;
  /// The kernels of this launch are not going to be timed: they are counted.
  void launched_untimed(CUgraphExec graph);
  /// Whether they are, only CUPTI's records of this launch will tell, by one of the two that follow.
  void await(uint32_t correlation, CUgraphExec graph);
  void ran_whole(uint32_t correlation);
  void ran_in_kernels(uint32_t correlation);
  /// How many were so counted, by mangled name.
  using Counts = std::map<std::string, std::map<Geometry, uint64_t>>;
  Counts untimed();

 private:
  using Graph = std::shared_ptr<ExecutableGraph>;
  struct Entry {
    Graph graph;
    uint64_t launches = 0;
  };
  void made(CUgraphExec graph, CUgraph from, uint64_t flags, bool busy);
  void updated(CUgraphExec graph, CUgraph from, bool succeeded, bool busy);
  void kernel_set(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& to, bool busy);
  void switched(CUgraphExec graph, CUgraphNode node, bool on);
  Graph read(CUgraph from);
  bool read_edges(CUgraph from, ExecutableGraph& into) const;
  GraphRun read_run(const CUDA_KERNEL_NODE_PARAMS& from, CUgraphNode node, CUfunction& handle);
  std::optional<GraphKernel> read_kernel(const CUDA_KERNEL_NODE_PARAMS& from, CUgraphNode node, const GraphRun& run,
                                         CUfunction handle) const;
  void refuse(CUgraphExec graph, const std::string& why);
  void settle(ExecutableGraph& graph);
  /// To be changed: its launches so far are counted as it was, and it is a copy if somebody is looking at it.
  ExecutableGraph& own(Graph& graph);

  const CudaDriver& driver_;
  const KernelPattern& pattern_;
  KernelTable& kernels_;
  Allocations& allocations_;
  Modules& modules_;
  mutable std::mutex turn_;
  std::unordered_map<CUgraphExec, Entry> graphs_;
  std::set<std::string> names_;
  Counts untimed_;
  std::unordered_map<uint32_t, Graph> awaited_;  ///< By correlation.
  std::string why_unfollowed_ = "the graph that it ran in was not seen being made";
};

/// The driver's calls that make, change or destroy graphs that can be launched, by CUPTI's number.
bool is_graph_call(uint32_t cbid);

}  // namespace kernelift
