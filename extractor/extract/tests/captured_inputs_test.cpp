// Claims about extractor/extract/captured_inputs.h.
#include "extractor/extract/captured_inputs.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/base/file.h"
#include "core/tests/expression_literal.h"
#include "extractor/extract/synthetic_inputs.h"

namespace kernelift::extractor {
namespace {

using ::testing::HasSubstr;

class CapturedInputsTest : public ::testing::Test {
 protected:
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-inputs-test"));
  std::unique_ptr<CaptureWriter> writer_ = std::move(*CaptureWriter::create(scratch_.path() / "capture"));
  ScannedKernel kernel_;
  ScanIndex index_;
  ModuleFacts facts_;

  CapturedInputsTest() {
    kernel_.key = "k(float**,int)", kernel_.name = "k", kernel_.tu = "/app/k.cu";
    kernel_.parameters = {{"rows", "float **", "float *", false, ""}, {"n", "int", "", false, "int"}};
  }
  CapturedRegion region(uint64_t address, std::vector<uint64_t> words, std::string from) {
    auto image = *writer_->store(std::as_bytes(std::span(words)));
    return {address, MemoryKind::Device, image, image, Origin::parse(from)};
  }
  CapturedInstance instance(uint64_t pointer) {
    CapturedInstance instance;
    instance.id = "i", instance.kernel = kernel_.key;
    instance.arguments.resize(12);
    std::memcpy(instance.arguments.data(), &pointer, 8);
    instance.parameters = {{0, 8}, {8, 4}};
    return instance;
  }
  Result<MepInputs> take(const std::vector<CapturedInstance>& instances) {
    for (auto& one : instances) EXPECT_TRUE(writer_->finish_instance(one).ok());
    capture_ = *Capture::open(scratch_.path() / "capture");
    auto found = instances_of(*capture_, index_, kernel_);
    if (!found.ok()) return std::move(found).error();
    return take_inputs(*capture_, *found, kernel_, facts_, scratch_.path() / "mep");
  }
  std::optional<Capture> capture_;
};

TEST_F(CapturedInputsTest, TypesBuffersThroughBuffersOfPointers) {
  auto one = instance(0x1000);
  one.regions = {region(0x1000, {0x2000, 0x3000}, "arg 0"), region(0x2000, {1, 2}, "0x1000 +0"),
                 region(0x9000, {1}, "variable _ZL1v +8")};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& regions = inputs->instances.at(0).regions;
  EXPECT_EQ(regions[0].element, "pointer");
  EXPECT_EQ(regions[0].parameter, 0);
  EXPECT_EQ(regions[1].element, "float");
  EXPECT_EQ(regions[1].parameter, -1);
  EXPECT_EQ(regions[2].element, "byte");
  EXPECT_EQ(regions[2].reached_from, Origin::of_variable("v", 8));
}

TEST_F(CapturedInputsTest, TakesAPoolForTheArraysThatParametersPointTo) {
  // float* at 16, int* at 48, float4* at 80 and unsigned* at 96 of one allocation; float* and char* at the begin of
  // another.
  kernel_.parameters = {{"values", "float *", "float", false, ""},
                        {"indices", "int *", "int", false, ""},
                        {"places", "float4 *", "struct float4", false, ""},
                        {"counts", "unsigned int *", "unsigned int", false, ""},
                        {"raw", "char *", "char", false, ""},
                        {"sums", "double *", "double", false, ""}};
  auto one = instance(0);
  std::vector<uint64_t> pointers = {0x1010, 0x1030, 0x1050, 0x1060, 0x9000, 0x9000}, words(16), more(4, 9);
  for (size_t i = 0; i < words.size(); ++i) words[i] = i;
  one.arguments.resize(48), one.parameters.clear();
  std::memcpy(one.arguments.data(), pointers.data(), 48);
  for (uint32_t i = 0; i < 6; ++i) one.parameters.push_back({8 * i, 8});
  one.regions = {region(0x1000, words, "arg 0 +16"), region(0x9000, more, "arg 4")};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& regions = inputs->instances.at(0).regions;
  std::string text;
  for (auto& part : regions)
    text += part.element + "@" + std::to_string(part.address) + "+" + std::to_string(part.size) + " of " +
            std::to_string(part.part_of) + " " + part.reached_from.text() + "\n";
  EXPECT_EQ(text,
            "float@4096+48 of 4096 arg 0\nint@4144+32 of 4096 arg 1\nfloat4@4176+16 of 4096 arg 2\nunsigned "
            "int@4192+32 of 4096 arg 3\n"
            "double@36864+32 of 0 arg 4\n");
  auto indices = Mep::load(scratch_.path() / "mep", regions[1].before);
  ASSERT_TRUE(indices.ok());
  EXPECT_EQ(std::memcmp(indices->data(), &words[6], 32), 0);
  EXPECT_TRUE(inputs->limits.empty());
}

TEST_F(CapturedInputsTest, TakesMemoryThatIsHadAsFloatsAndAsIntegersForBytes) {
  kernel_.parameters = {{"values", "float *", "float", false, ""},
                        {"bits", "int *", "int", false, ""},
                        {"again", "float *", "float", false, ""}};
  auto one = instance(0);
  std::vector<uint64_t> pointers = {0x1000, 0x1000, 0x1000};
  one.arguments.resize(24), one.parameters = {{0, 8}, {8, 8}, {16, 8}};
  std::memcpy(one.arguments.data(), pointers.data(), 24);
  one.regions = {region(0x1000, {1, 2}, "arg 0")};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  ASSERT_EQ(inputs->instances.at(0).regions.size(), 1u);
  EXPECT_EQ(inputs->instances[0].regions[0].element, "byte");
  EXPECT_EQ(inputs->instances[0].regions[0].part_of, 0u);
  ASSERT_EQ(inputs->limits.size(), 1u);
  EXPECT_THAT(inputs->limits[0],
              HasSubstr("Arrays of different types begin in one place, in memory at 0x1000 (arg 0)"));
}

TEST_F(CapturedInputsTest, TakesAVariableThatTheKernelReachesByAddressOnlyForMemory) {
  auto one = instance(0x5008);
  std::vector<uint64_t> words = {1, 0x6000, 3};
  auto image = *writer_->store(std::vector<std::byte>(64)), holds = *writer_->store(std::as_bytes(std::span(words)));
  one.variables = {{"_ZL5table", "table", false, 0x5000, holds, holds}, {"next", "next", false, 0x6000, image, image}};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& taken = inputs->instances.at(0);
  EXPECT_TRUE(taken.symbols.empty());
  EXPECT_TRUE(taken.variables.empty());
  ASSERT_EQ(taken.regions.size(), 2u);
  EXPECT_EQ(taken.regions[0].address, 0x5000u);
  EXPECT_EQ(taken.regions[0].element, "pointer");
  EXPECT_EQ(taken.regions[1].address, 0x6000u) << "what it points to comes along";
}

TEST_F(CapturedInputsTest, MakesSlotsOfTheAddressesOfModuleVariablesWhereTypesSaySo) {
  auto one = instance(0x5008);
  auto image = *writer_->store(std::vector<std::byte>(64));
  std::vector<uint64_t> words = {0x5010, 0};
  auto holds = *writer_->store(std::as_bytes(std::span(words)));
  one.regions = {region(0x1000, {7, 0x5000, 9, 0x5020}, "arg 0")};
  one.variables = {{"_ZL5table", "table", false, 0x5000, image, image},
                   {"first", "first", false, 0x9000, holds, holds}};
  kernel_.parameters[0].pointee = "struct ns::Node";
  facts_.variables = {{"table", {"_ZL5table", "float"}}, {"first", {"first", "byte", {16, {0}}}}};
  kernel_.records = {{"ns::Node", 16, "byte", {{8, "struct ns::Node"}}}};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& taken = inputs->instances.at(0);
  EXPECT_EQ(taken.regions[0].pointer_stride, 16u);
  ASSERT_EQ(taken.symbols.size(), 4u);
  EXPECT_EQ(taken.symbols[0].variable, 1);
  EXPECT_EQ(taken.symbols[0].addend, 0x10u);
  EXPECT_EQ(taken.symbols[1].region, -1);
  EXPECT_EQ(taken.symbols[1].addend, 8u);
  EXPECT_EQ(taken.symbols[3].region, 0);
  EXPECT_EQ(taken.symbols[3].offset, 24u);
  EXPECT_EQ(taken.symbols[3].name, "_ZL5table");
}

TEST_F(CapturedInputsTest, RefusesWhatMayBeTheAddressOfAModuleVariableWhereNoTypeSaysSo) {
  auto one = instance(0x1000);
  auto image = *writer_->store(std::vector<std::byte>(64));
  one.regions = {region(0x1000, {7, 0x5000}, "arg 0")};
  one.variables = {{"_ZL5table", "table", false, 0x5000, image, image}};
  facts_.variables = {{"table", {"_ZL5table", "float"}}};
  kernel_.parameters[0].pointee = "void";
  auto inputs = take({one});
  ASSERT_FALSE(inputs.ok());
  EXPECT_EQ(inputs.error().exit, Exit::Refused);
  EXPECT_THAT(inputs.error().message,
              HasSubstr("memory at 0x1000 (arg 0) +8 holds the address of module variable table"));
  kernel_.parameters[0].pointee = "double";
  auto numbers =
      take_inputs(*capture_, *instances_of(*capture_, index_, kernel_), kernel_, facts_, scratch_.path() / "mep");
  EXPECT_TRUE(numbers.ok()) << "a double that happens to have these bits";
}

TEST_F(CapturedInputsTest, TakesTheVariableOfItsOwnFileFromRelocatableCode) {
  auto one = instance(0);
  auto own = *writer_->store(std::vector<std::byte>(16)),
       other = *writer_->store(std::vector<std::byte>(16, std::byte{1}));
  one.variables = {{"__nv_static_17__11111111_4_j_cu_k_table", "table", false, 0x5000, other, other},
                   {"__nv_static_17__0323b52d_4_k_cu_k_table", "table", false, 0x6000, own, own}};
  facts_.variables = {{"table", {"_ZL5table", "float"}}};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  ASSERT_EQ(inputs->instances.at(0).variables.size(), 1u);
  EXPECT_EQ((*Mep::load(scratch_.path() / "mep", inputs->instances[0].variables[0].before))[0], std::byte{0});
}

TEST_F(CapturedInputsTest, NamesPointersToMemoryThatWasNotCaptured) {
  auto inputs = take({instance(0x7fffdeadbeef)});
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(inputs->limits.size(), 1u);
  EXPECT_THAT(inputs->limits[0], HasSubstr("rows"));
}

TEST_F(CapturedInputsTest, KeepsOnlyTheVariablesOfTheSlice) {
  auto one = instance(0);
  auto image = *writer_->store(std::vector<std::byte>(16));
  one.variables = {{"_ZN2ns5tableE", "ns::table", true, 0x5000, image, image},
                   {"other", "other", false, 0x6000, image, image}};
  facts_.variables["ns::table"] = {"_ZN2ns5tableE", "float"};
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(inputs->instances.at(0).variables.size(), 1u);
  EXPECT_EQ(inputs->instances[0].variables[0].spelling, "ns::table");
  EXPECT_EQ(inputs->instances[0].variables[0].element, "float");
}

TEST_F(CapturedInputsTest, RefusesTablesOfFunctionsThatTheApplicationMayHaveChanged) {
  auto one = instance(0);
  auto image = *writer_->store(std::vector<std::byte>(16));
  one.variables = {{"table", "table", false, 0x5000, image, image}};
  facts_.variables["table"] = {"table", "pointer", {16, {0, 8}}, true, false};
  auto inputs = take({one});
  ASSERT_FALSE(inputs.ok());
  EXPECT_EQ(inputs.error().exit, Exit::Refused);
  EXPECT_THAT(inputs.error().message, HasSubstr("variable table holds addresses of functions"));
  facts_.variables["table"].fixed = true;
  auto fixed =
      take_inputs(*capture_, *instances_of(*capture_, index_, kernel_), kernel_, facts_, scratch_.path() / "mep");
  ASSERT_TRUE(fixed.ok()) << fixed.error().message;
  EXPECT_TRUE(fixed->instances.at(0).variables.empty()) << "it initialises itself";
}

TEST_F(CapturedInputsTest, TellsNamesakesOfTwoFilesApart) {
  auto ours = instance(0), theirs = instance(0);
  ours.id = "ours", ours.unit = "/app/k.cu", theirs.id = "theirs", theirs.unit = "/app/other.cu";
  auto inputs = take({theirs, ours});
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(inputs->instances.size(), 1u);
  EXPECT_EQ(inputs->instances[0].id, "ours");
}

TEST_F(CapturedInputsTest, ListsWhatTheCaptureHoldsWhenTheKernelIsNotInIt) {
  auto one = instance(0);
  one.kernel = "another(int)";
  auto inputs = take({one});
  ASSERT_FALSE(inputs.ok());
  EXPECT_THAT(inputs.error().message, HasSubstr("another(int)"));
}

TEST_F(CapturedInputsTest, SaysWhyTheRecorderTookNoLaunchOfTheKernel) {
  auto other = instance(0);
  other.kernel = "another(int)";
  ASSERT_TRUE(writer_->finish_instance(other).ok());
  CaptureInfo info;
  info.omissions = {{"launch 0 of " + kernel_.key, "the kernel had not ended within 30 s"},
                    {"launch 0 of another(int)", "too large"}};
  ASSERT_TRUE(writer_->finish(info).ok());
  capture_ = *Capture::open(scratch_.path() / "capture");
  auto found = instances_of(*capture_, index_, kernel_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message,
            "the capture holds no launch of k:\n  launch 0 of k(float**,int): the kernel had not ended within 30 s");
}

TEST_F(CapturedInputsTest, ChoosesTheCacheModeBeforehandByWhetherThereWereLaunchesLikeIt) {
  auto often = instance(0x1000), once = instance(0x1000), twice = instance(0x1000);
  once.id = "j", twice.id = "k";
  for (auto* one : {&often, &once, &twice}) ASSERT_TRUE(writer_->finish_instance(*one).ok());
  CaptureInfo info;
  info.shares["i"] = {0.5, 20, false, {40, 19, 22, 30}}, info.shares["j"] = {0.5, 90, false, {0, 0, 0, 90}};
  info.shares["k"] = {0.5, 20, false, {1, 20, 20, 90}};
  ASSERT_TRUE(writer_->finish(info).ok());
  auto inputs = take({});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& first = inputs->instances.at(0).in_vivo;
  EXPECT_EQ(first.cache, "warm");
  EXPECT_EQ(first.how, "median of 40 launches like it, quartiles 19.000 and 22.000 us");
  EXPECT_EQ(inputs->instances.at(2).in_vivo.how, "the only other launch like it");
  EXPECT_EQ(first.own, 30);
  EXPECT_NEAR(first.spread, 0.075, 1e-9);
  auto& second = inputs->instances.at(1).in_vivo;
  EXPECT_EQ(second.cache, "cold");
  EXPECT_EQ(second.how, "this launch alone, right after its memory was read");
}

TEST_F(CapturedInputsTest, MarksWhatOtherWorkWritesBetweenLaunchesAndSaysWhy) {
  auto one = instance(0x1008);
  one.regions = {region(0x1000, {1, 2, 3}, "arg 0"), region(0x9000, {1}, "0x1000 +8")};
  ASSERT_TRUE(writer_->finish_instance(one).ok());
  auto other = one;
  other.id = "j";
  ASSERT_TRUE(writer_->finish_instance(other).ok());
  CaptureInfo info;
  info.shares["i"] = {0.5, 20, false, {40, 19, 22, 30, {0}}},
  info.shares["j"] = {0.5, 20, false, {40, 19, 22, 30, {8, 4000}}};
  ASSERT_TRUE(writer_->finish(info).ok());
  auto inputs = take({});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& marked = inputs->instances.at(0);
  EXPECT_TRUE(marked.regions[0].rewritten);
  EXPECT_FALSE(marked.regions[1].rewritten);
  EXPECT_EQ(marked.in_vivo.cache, "warm");
  EXPECT_EQ(marked.in_vivo.why,
            "other work writes arg 0 before its launches, so that is put back before each timed one");
  auto& plain = inputs->instances.at(1);
  EXPECT_FALSE(plain.regions[0].rewritten) << "offsets where no address lies, or nothing at all, mark nothing";
  EXPECT_EQ(plain.in_vivo.why, "nothing is known to touch its memory between its launches");
}

TEST_F(CapturedInputsTest, NeverHoldsOutEveryInstance) {
  auto one = instance(0);
  one.held_out = true, one.weight = 0;
  auto inputs = take({one});
  ASSERT_TRUE(inputs.ok());
  EXPECT_FALSE(inputs->instances.at(0).held_out);
  EXPECT_EQ(inputs->instances[0].weight, 1);
}

TEST(ModuleFacts, TellTablesOfFunctionsFromTablesOfNumbers) {
  FrontendOptions options;
  options.language = "cuda";
  auto facts = module_facts(
      "typedef float (*Op)(float, float);\n"
      "struct Entry { int kind; Op run; };\n"
      "__device__ float add(float a, float b) { return a + b; }\n"
      "__device__ Op table[2] = {add, add};\n"
      "__device__ const Entry fixed[1] = {{1, add}};\n"
      "__device__ float numbers[2] = {1, 2};\n"
      "__device__ float* inside = &numbers[1];\n"
      "__global__ void k(float* o, int i) { o[i] = table[i](1, 2) + fixed[i].run(1, 2) + numbers[i] + *inside; }\n",
      "", options);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_TRUE(facts->variables["table"].code && !facts->variables["table"].fixed);
  EXPECT_TRUE(facts->variables["fixed"].code && facts->variables["fixed"].fixed);
  EXPECT_FALSE(facts->variables["numbers"].code || facts->variables["inside"].code);
}

TEST(ModuleFacts, LeaveOutConstantsThatHoldNothing) {
  FrontendOptions options;
  options.language = "cuda", options.flags = {"-std=c++17"};
  auto facts = module_facts(
      "template <int N> struct Tag { __device__ int value() const { return N; } };\n"
      "template <int N> inline constexpr Tag<N> tag{};\n"
      "__device__ const int numbers[2] = {1, 2};\n"
      "template <class T> __device__ int get(const T& t) { return t.value(); }\n"
      "__global__ void k(int* o, int i) { o[i] = get(tag<3>) + numbers[i]; }\n",
      "", options);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  ASSERT_EQ(facts->variables.size(), 1u);
  EXPECT_TRUE(facts->variables.contains("numbers"));
}

TEST(SyntheticInputs, LaysArgumentsOutAndLabelsThem) {
  auto scratch = std::move(*TemporaryFolder::create("kernelift-synth-test"));
  ScannedKernel kernel;
  kernel.name = "saxpy";
  kernel.parameters = {
      {"n", "int", "", false, "int"}, {"a", "float", "", false, "float"}, {"x", "const float *", "float", true, ""}};
  LaunchSite site;
  site.grid[0] = "(n + B - 1) / B"_e, site.block[0] = "B"_e;
  Knob knob;
  knob.name = "B", knob.value = 64;
  auto inputs = make_inputs(kernel, {site}, {knob}, scratch.path());
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  auto& instance = inputs->instances.at(0);
  EXPECT_EQ(instance.geometry.block.x, 64u);
  EXPECT_EQ(instance.geometry.grid.x, 1024u);
  ASSERT_EQ(instance.parameters.size(), 3u);
  EXPECT_EQ(instance.parameters[2].offset, 8u);
  EXPECT_TRUE(instance.regions.at(0).after.empty()) << "the answer is not known";
  EXPECT_GE(instance.regions[0].size, 65536u * 4);
  EXPECT_THAT(inputs->limits.at(0), HasSubstr("made up"));
  kernel.parameters.push_back({"view", "View", "", false, ""});
  auto refused_inputs = make_inputs(kernel, {site}, {knob}, scratch.path());
  ASSERT_FALSE(refused_inputs.ok());
  EXPECT_EQ(refused_inputs.error().exit, Exit::Refused);
}

}  // namespace
}  // namespace kernelift::extractor
