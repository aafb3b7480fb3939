// What the CUDA recorder makes of graphs, without a GPU: images of their nodes, updates, durations, refusals by name.
#include <thread>

#include "extractor/record/tests/cuda_recorder_rig.h"

void* operator new(size_t bytes) {
  void* memory = kernelift::out_of_memory ? nullptr : std::malloc(bytes);
  return memory ? memory : throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace kernelift::record {
namespace {

using ::testing::HasSubstr;

class CudaGraphsTest : public CudaRecorderTest {};

TEST_F(CudaGraphsTest, TakesAGraphNodesImagesByRunningOneLaunchInParts) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  auto* copy = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory);
  auto* first = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1, {copy});
  auto* joint = node(graph, CU_GRAPH_NODE_TYPE_EMPTY, memory, 0, {first});
  auto* second = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 2, {joint});
  auto* last = node(graph, CU_GRAPH_NODE_TYPE_MEMSET, memory, 0, {second});
  instantiate(graph);
  memory[0] = 5;
  launch(graph);
  EXPECT_EQ(memory[0], ((5 * 10 + 1) + 2) * 10);
  EXPECT_EQ(memory[1], 30);
  for (auto* one : graph.nodes) {
    if (one != joint) EXPECT_EQ(one->ran, 1);
    EXPECT_TRUE(one->enabled) << "as the application had it";
  }
  launch(graph);
  EXPECT_EQ(memory[1], (30 * 10 + 3) * 10);
  EXPECT_EQ(last->ran, 2);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->instances().size(), 2u) << omissions(*found);
  auto &one = found->instances()[0], &two = found->instances()[1];
  EXPECT_EQ(number(*found, one.regions.at(0).before), 50) << "what it waits for had run";
  EXPECT_EQ(number(*found, one.regions.at(0).after), 51);
  EXPECT_EQ(number(*found, two.regions.at(0).before), 51);
  EXPECT_EQ(number(*found, two.regions.at(0).after), 53);
  EXPECT_EQ(int(one.arguments.at(8)), 1);
  EXPECT_EQ(int(two.arguments.at(8)), 2);
  EXPECT_EQ(one.geometry.grid.x, 4u);
  EXPECT_EQ(one.settings.entry, "cuGraphLaunch");
  EXPECT_EQ(one.settings.stream, "default");
  EXPECT_THAT(omissions(*found), ::testing::Not(HasSubstr("in CUDA graphs")));
}

TEST_F(CudaGraphsTest, FollowsUpdatesOfAnExecutableGraph) {
  auto& recorder = start();
  auto &memory = allocate(1000), &other = allocate(1000);
  FakeGraph graph, newer;
  auto* add = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  instantiate(graph);
  add->add = 7;  // Of the executable graph too, in a fake.
  auto parameters = node_parameters(*add);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2,
       cuGraphExecKernelNodeSetParams_v2_params{graph.executable(), reinterpret_cast<CUgraphNode>(add), &parameters});
  launch(graph);
  node(newer, CU_GRAPH_NODE_TYPE_KERNEL, other, 9);
  add->add = 9, add->memory = &other;
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
       cuGraphExecUpdate_v2_params{graph.executable(), newer.handle(), nullptr});
  launch(graph);
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(other[0], 9);
  FakeGraph longer;
  for (int i = 0; i < 2; ++i) node(longer, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
       cuGraphExecUpdate_v2_params{graph.executable(), longer.handle(), nullptr});
  launch(graph);
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 2u) << omissions(*found);
  EXPECT_EQ(int(found->instances()[0].arguments.at(8)), 7);
  EXPECT_EQ(int(found->instances()[1].arguments.at(8)), 9);
  EXPECT_EQ(found->instances()[1].regions.at(0).address, reinterpret_cast<uint64_t>(other.data()));
  EXPECT_THAT(omissions(*found), HasSubstr("add(int*,int) in CUDA graphs: its graph was updated with one whose nodes"));
}

TEST_F(CudaGraphsTest, CountsNoDurationOfAGraphLaunchThatWasRunInParts) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  for (int add : {1, 2}) node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, add);
  instantiate(graph);
  for (int i = 0; i < 12; ++i) {
    bool in_parts = i == 0 || i == 4;  // The first, second and eighth run of the kernel are wanted.
    call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, cuGraphLaunch_params{graph.executable(), nullptr}, [&] {
      graph.run();
      for (uint64_t node : {1, 2}) ran(in_parts ? 14 : 10, node);
    });
  }
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->instances().size(), 3u) << omissions(*found);
  for (auto& one : found->instances()) EXPECT_EQ(one.like.count, 20u);
}

TEST_F(CudaGraphsTest, LeavesAGraphAloneWhoseNodesAreDestroyedWhileItIsUpdated) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph, newer;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(newer, CU_GRAPH_NODE_TYPE_KERNEL, memory, 9);
  instantiate(graph);
  while_nodes_are_read = [&] {
    std::thread([&] { call(CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy, cuGraphDestroy_params{graph.handle()}); }).join();
  };
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2,
       cuGraphExecUpdate_v2_params{graph.executable(), newer.handle(), nullptr});
  launch(graph);
  recorder.finish();
  EXPECT_TRUE(capture()->instances().empty()) << "its nodes' names are dangling";
  EXPECT_THAT(omissions(*capture()), HasSubstr("has been destroyed"));
}

TEST_F(CudaGraphsTest, LeavesAGraphThatCannotBeRunInPartsWholeAndNamesWhy) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph hosting, destroyed, stubborn;
  node(hosting, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(hosting, CU_GRAPH_NODE_TYPE_HOST, memory);
  node(destroyed, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(stubborn, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(stubborn, CU_GRAPH_NODE_TYPE_MEMCPY, memory)->can_be_switched = false;
  for (auto* graph : {&hosting, &destroyed, &stubborn}) instantiate(*graph);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphDestroy, cuGraphDestroy_params{destroyed.handle()});
  for (auto* graph : {&hosting, &destroyed, &stubborn}) {
    launch(*graph);
    for (auto* node : graph->nodes) {
      EXPECT_EQ(node->ran, 1);
      EXPECT_TRUE(node->enabled);
    }
  }
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->instances().empty());
  EXPECT_THAT(omissions(*found), HasSubstr("add(int*,int) in CUDA graphs: its graph holds a host function"));
  EXPECT_THAT(omissions(*found), HasSubstr("has been destroyed"));
  EXPECT_THAT(omissions(*found), HasSubstr("cannot be run in parts"));
}

TEST_F(CudaGraphsTest, LeavesTheRestOfAGraphToTheApplicationsLaunchIfAPartFails) {
  auto& recorder = start();
  for (int parts : {0, 1, 2, 3}) {
    auto& memory = allocate(1000);
    FakeGraph graph;
    auto* copy = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory);
    auto* off = node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory, 0, {copy});
    auto* add = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1, {off});
    node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory, 0, {add});
    off->enabled = false;  // By the application itself.
    instantiate(graph);
    graph.launches_that_succeed = parts;
    memory[0] = 5;
    launch(graph);
    EXPECT_EQ(memory[0], 510) << parts;
    for (auto* node : graph.nodes) {
      EXPECT_EQ(node->ran, node != off);
      EXPECT_EQ(node->enabled, node != off);
    }
  }
  recorder.finish();
  auto found = capture();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->instances().size(), 1u) << "the first that could be had";
  EXPECT_THAT(omissions(*found), HasSubstr("a part of its graph: FAKE_ERROR"));
}

TEST_F(CudaGraphsTest, TriesAgainToSwitchAGraphsNodeBackOn) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  node(graph, CU_GRAPH_NODE_TYPE_MEMCPY, memory)->refused = {1, 3};
  instantiate(graph);
  memory[0] = 5;
  launch(graph);
  EXPECT_EQ(memory[0], 60);
  recorder.finish();
  EXPECT_EQ(capture()->instances().size(), 1u);
  EXPECT_THAT(omissions(*capture()), ::testing::Not(HasSubstr("switched")));
}

TEST_F(CudaGraphsTest, SaysSoIfAGraphsNodeCannotBeSwitchedBackAndTakesNoMoreImages) {
  auto& recorder = start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  auto* left_off = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 2);
  for (int i = 4; i < 100; ++i) left_off->refused.insert(i);  // Off, on for its own images, off; and no more.
  instantiate(graph);
  for (int i = 0; i < 20; ++i) launch(graph);
  for (int i = 0; i < 20; ++i) launch(memory, 1);
  recorder.finish();
  EXPECT_EQ(left_off->ran, 1) << "in its own part";
  auto found = capture();
  EXPECT_EQ(found->instances().size(), 2u) << "of the first launch";
  EXPECT_THAT(omissions(*found),
              HasSubstr("launch 0 of add(int*,int): node 1 of its graph (add(int*,int)) could not be"));
}

TEST_F(CudaGraphsTest, HoldsNobodyUpIfMemoryRunsOutWhileAGraphIsRunInParts) {
  start();
  auto& memory = allocate(1000);
  FakeGraph graph;
  node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 1);
  auto* left_on = node(graph, CU_GRAPH_NODE_TYPE_KERNEL, memory, 2);
  left_on->refused = {3, 4};  // To be switched off again.
  std::atomic<bool> went_on{false};
  std::thread other;
  left_on->when_refused = [&] {
    if (other.joinable()) return;
    other = std::thread([&] { launch(memory, 0), went_on = true; });  // Waits until the gate is opened.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    out_of_memory = true;
  };
  instantiate(graph);
  call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, cuGraphLaunch_params{graph.executable(), nullptr}, [&] {
    EXPECT_TRUE(out_of_memory.exchange(false));
    EXPECT_FALSE(went_on);
    graph.run();
  });
  for (int tries = 0; tries < 1000 && !went_on; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(went_on) << "its thread waits for ever";
  other.join();
}

}  // namespace
}  // namespace kernelift::record
