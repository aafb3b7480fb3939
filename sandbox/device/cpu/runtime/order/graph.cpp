// Capture collects nodes in the order in which the application submitted them, which is a topological order already;
// graphs built by hand are sorted when they are instantiated. Running a list in order is a legal execution of a graph.
#include "sandbox/device/cpu/runtime/order/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {
namespace {

struct GraphTable {
  std::unordered_set<Graph*> graphs;
  std::unordered_set<GraphExec*> execs;
  std::unordered_set<Capture*> captures;
  uint64_t next_capture = 1;
};
GraphTable& table() {
  static GraphTable& all = *new GraphTable;
  return all;
}
std::unordered_map<Capture*, std::vector<Stream*>>& members() {
  static auto& all = *new std::unordered_map<Capture*, std::vector<Stream*>>;
  return all;
}

void close_capture(Capture* capture) {
  for (Stream* stream : members()[capture]) {
    stream->capture = nullptr;
    stream->frontier.clear();
  }
  members().erase(capture);
  table().captures.erase(capture);
  open_captures.fetch_sub(1);
  delete capture;
}

}  // namespace

GraphNode* Graph::add(NodeType type, std::function<cudaError_t()> run, std::vector<GraphNode*> dependencies) {
  nodes.push_back(std::make_unique<GraphNode>());
  GraphNode* node = nodes.back().get();
  node->graph = this;
  node->type = type;
  node->run = std::move(run);
  node->dependencies = std::move(dependencies);
  return node;
}

std::vector<GraphNode*> Graph::ordered() const {
  std::vector<GraphNode*> order;
  std::unordered_set<GraphNode*> placed;
  // Repeated passes in insertion order: linear for captured graphs, and stable for the others.
  for (bool progress = true; progress && order.size() < nodes.size();) {
    progress = false;
    for (const auto& node : nodes) {
      if (placed.contains(node.get())) continue;
      if (!std::ranges::all_of(node->dependencies, [&](GraphNode* d) { return placed.contains(d); })) continue;
      order.push_back(node.get());
      placed.insert(node.get());
      progress = true;
    }
  }
  if (order.size() < nodes.size()) order.clear();
  return order;
}

GraphExec::Step* GraphExec::find(const GraphNode* origin) {
  for (Step& step : steps)
    if (step.origin == origin) return &step;
  return nullptr;
}

bool is_live(Graph* graph) {
  StateLock lock;
  return table().graphs.contains(graph);
}
bool is_live(GraphExec* exec) {
  StateLock lock;
  return table().execs.contains(exec);
}
bool is_live(GraphNode* node) {
  StateLock lock;
  for (Graph* graph : table().graphs)
    for (const auto& owned : graph->nodes)
      if (owned.get() == node) return true;
  return false;
}

Graph* create_graph() {
  StateLock lock;
  auto* graph = new Graph;
  table().graphs.insert(graph);
  return graph;
}

void destroy_graph(Graph* graph) {
  StateLock lock;
  table().graphs.erase(graph);
  for (auto& release : graph->on_destroy) release();
  delete graph;
}

Graph* clone_graph(const Graph& graph) {
  StateLock lock;
  Graph* copy = create_graph();
  std::unordered_map<const GraphNode*, GraphNode*> copy_of;
  for (const auto& node : graph.nodes) {
    GraphNode* made = copy->add(node->type, node->run, {});
    made->kernel = node->kernel;
    made->cloned_from = node.get();
    copy_of[node.get()] = made;
  }
  for (const auto& node : graph.nodes)
    for (GraphNode* dependency : node->dependencies) copy_of[node.get()]->dependencies.push_back(copy_of[dependency]);
  return copy;
}

GraphExec* instantiate(const Graph& graph) {
  StateLock lock;
  std::vector<GraphNode*> order = graph.ordered();
  if (order.size() != graph.nodes.size()) return nullptr;
  auto* exec = new GraphExec;
  for (GraphNode* node : order) exec->steps.push_back({node, node->type, node->run});
  table().execs.insert(exec);
  return exec;
}

void destroy_exec(GraphExec* exec) {
  StateLock lock;
  table().execs.erase(exec);
  delete exec;
}

cudaError_t run_graph(GraphExec& exec) {
  for (const GraphExec::Step& step : exec.steps) {
    if (!step.run || !step.enabled) continue;
    if (cudaError_t error = run_work(step.type, step.run)) return error;
  }
  return cudaSuccess;
}

cudaError_t begin_capture(Stream* stream, int mode, Graph* into) {
  StateLock lock;
  if (stream == find_stream(nullptr)) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  if (mode < 0 || mode > 2) return cudaErrorInvalidValue;
  auto* capture = new Capture;
  capture->graph = into ? into : create_graph();
  capture->owns_graph = into == nullptr;
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  capture->mode = mode;
  capture->id = table().next_capture++;
  table().captures.insert(capture);
  members()[capture].push_back(stream);
  stream->capture = capture;
  open_captures.fetch_add(1);
  return cudaSuccess;
}

cudaError_t end_capture(Stream* stream, Graph** graph) {
  StateLock lock;
  if (graph) *graph = nullptr;
  Capture* capture = stream->capture;
  if (!capture) return cudaErrorIllegalState;
  if (capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
  constexpr int kRelaxed = 2;
  if (capture->mode != kRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  // Every stream that joined must have been joined back: its last node precedes the origin's frontier.
  std::unordered_set<GraphNode*> reached;
  std::vector<GraphNode*> open = stream->frontier;
  while (!open.empty()) {
    GraphNode* node = open.back();
    open.pop_back();
    if (reached.insert(node).second) open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  bool unjoined = false;
  for (Stream* member : members()[capture])
    for (GraphNode* node : member->frontier) unjoined |= !reached.contains(node);
  cudaError_t answer = capture->invalidated ? cudaErrorStreamCaptureInvalidated
                       : unjoined           ? cudaErrorStreamCaptureUnjoined
                                            : cudaSuccess;
  if (answer == cudaSuccess) {
    if (graph) *graph = capture->graph;
  } else if (capture->owns_graph) {
    destroy_graph(capture->graph);
  }
  close_capture(capture);
  return answer;
}

void abandon_capture(Capture* capture) {
  StateLock lock;
  if (capture->owns_graph) destroy_graph(capture->graph);
  close_capture(capture);
}

cudaError_t join_capture(Stream* stream, const Event& event) {
  StateLock lock;
  if (!table().captures.contains(event.capture)) return cudaErrorCapturedEvent;
  if (stream->capture && stream->capture != event.capture) return cudaErrorStreamCaptureMerge;
  if (!stream->capture) {
    if (stream == find_stream(nullptr)) return cudaErrorStreamCaptureImplicit;
    stream->capture = event.capture;
    members()[event.capture].push_back(stream);
  }
  for (GraphNode* node : event.frontier)
    if (std::ranges::find(stream->frontier, node) == stream->frontier.end()) stream->frontier.push_back(node);
  return cudaSuccess;
}

cudaError_t capture_node(Stream* stream, NodeType type, std::function<cudaError_t()> run, GraphNode** made) {
  StateLock lock;
  if (stream->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  GraphNode* node = stream->capture->graph->add(type, std::move(run), stream->frontier);
  stream->frontier = {node};
  if (made) *made = node;
  return cudaSuccess;
}

}  // namespace kernelift::cudart
