// Graphs: nodes that hold work ready to run and the nodes they must follow. A graph is filled by stream capture or by
// the explicit calls, instantiated into a list in topological order, and launched by running that list.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "sandbox/device/cpu/runtime/abi.h"
#include "sandbox/device/cpu/runtime/order/stream.h"

namespace kernelift::cudart {

struct GraphNode {
  Graph* graph = nullptr;
  NodeType type = NodeType::Empty;
  std::function<cudaError_t()> run;  ///< Owns copies of all parameters; empty for Empty nodes.
  std::vector<GraphNode*> dependencies;
  cudaKernelNodeParams kernel = {};  ///< For cudaGraphKernelNodeGetParams; kernelParams is null.
  GraphNode* cloned_from = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::function<void()>> on_destroy;  ///< User objects.
  GraphNode* add(NodeType type, std::function<cudaError_t()> run, std::vector<GraphNode*> dependencies);
  /// Nodes so that each follows its dependencies; empty if they form a cycle.
  std::vector<GraphNode*> ordered() const;
};

struct GraphExec {
  struct Step {
    GraphNode* origin;  ///< Only compared: the node may be gone.
    NodeType type;
    std::function<cudaError_t()> run;
    bool enabled = true;
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;
  Step* find(const GraphNode* origin);
};

bool is_live(Graph* graph);
bool is_live(GraphExec* exec);
bool is_live(GraphNode* node);
Graph* create_graph();
void destroy_graph(Graph* graph);
Graph* clone_graph(const Graph& graph);
/// Null if the graph has a cycle.
GraphExec* instantiate(const Graph& graph);
void destroy_exec(GraphExec* exec);
cudaError_t run_graph(GraphExec& exec);

cudaError_t begin_capture(Stream* stream, int mode, Graph* into);
cudaError_t end_capture(Stream* stream, Graph** graph);
/// Ends a capture whose stream is destroyed.
void abandon_capture(Capture* capture);
/// cudaStreamWaitEvent on an event recorded in a capture: `stream` joins it.
cudaError_t join_capture(Stream* stream, const Event& event);

}  // namespace kernelift::cudart
