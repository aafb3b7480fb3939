// What a patched kernel says of the application's constants.
#include "reintegrate/patch/constants/needed_constants.h"

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class NeededConstants : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    request.scan.emplace();
    ScannedKernel kernel;
    kernel.id = "1234abcd", kernel.name = "sleepy";
    kernel.definition = {"src/k.cu", read("src/k.cu").find("__global__"), read("src/k.cu").find("}\n") + 1, 3, 6};
    request.scan->kernels = {kernel};
    const size_t at = read("src/config.h").find("64");
    request.scan->knobs = {{"BLOCK", 64, {"src/config.h", at, at + 2, 2, 2}, true, false, true, {"1234abcd"}}};
    request.constants = {{"BLOCK", 64}};
  }
  std::string patched() {
    auto patch = plan_patch(patch_question(request, request));
    if (!patch.ok()) return patch.error().message;
    notes = patch->notes;
    return patch->changes.at(0).after;
  }
  std::vector<std::string> notes;
};

TEST_F(NeededConstants, AreStatedInTheKernel) {
  candidate("1.0;", "1.0f;");
  const std::string text = patched();
  EXPECT_NE(text.find("sleepy(float* a) {\n"
                      "\tstatic_assert(BLOCK == 64, \"this text of sleepy was judged for BLOCK = 64 alone\");\n"
                      "\tdelay(0.05);"),
            std::string::npos)
      << text;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      notes[0],
      "It was judged for BLOCK = 64, and nothing is known of it with another value: then it does not compile, and "
      "says so.");
}

TEST_F(NeededConstants, AreStatedOnTheKernelsOnlyLine) {
  write("src/k.cu", "#include \"config.h\"\n__global__ void sleepy(float* a) { a[0] = 1.0; }\n");
  slice();
  candidate("1.0;", "1.0f;");
  EXPECT_NE(
      patched().find("{ static_assert(BLOCK == 64, \"this text of sleepy was judged for BLOCK = 64 alone\"); a[0] "
                     "= 1.0f; }"),
      std::string::npos)
      << patched();
}

TEST_F(NeededConstants, ThatTheKernelCannotNameAreANote) {
  candidate("1.0;", "1.0f;");
  request.scan->knobs[0].is_macro = false, request.scan->knobs[0].is_local = true;
  EXPECT_EQ(patched().find("static_assert"), std::string::npos);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "It was judged for BLOCK = 64, and nothing asks that: its kernel cannot name that.");
  request.scan->knobs[0].is_macro = true, request.scan->knobs[0].is_local = false;
  request.scan->knobs[0].value_range.file = "src/k.cu";
  request.scan->knobs[0].value_range.begin = read("src/k.cu").size();
  EXPECT_EQ(patched().find("static_assert"), std::string::npos) << "it is defined behind the kernel";
}

TEST_F(NeededConstants, AreAskedOfAConstantAboveTheKernelAndOfTheBuilds) {
  candidate("1.0;", "1.0f;");
  Knob& knob = request.scan->knobs[0];
  knob.is_macro = false, knob.value_range.file = "src/k.cu", knob.value_range.begin = 0;  // `constexpr int BLOCK = 64;`
  EXPECT_NE(patched().find("static_assert(BLOCK == 64"), std::string::npos);
  knob.is_local = true;
  EXPECT_EQ(patched().find("static_assert"), std::string::npos) << "it is a variable of a function";
  knob.is_local = false, knob.is_macro = true, knob.value_range = {};  // -DBLOCK=64
  EXPECT_NE(patched().find("static_assert(BLOCK == 64"), std::string::npos);
}

TEST_F(NeededConstants, OfAVariableOfTheKernelAreAskedBehindIt) {
  write("src/k.cu",
        "// A\n// B\n__global__ void sleepy(float* a) {\n  constexpr int ITEMS = 4;\n  a[ITEMS] = 1.0;\n}\n"
        "void host(float* a) { sleepy<<<1, BLOCK>>>(a); }\n");
  slice();
  const size_t at = read("src/k.cu").find("4;");
  request.mep.knobs = {{"ITEMS", 4, {"src/k.cu", at, at + 1, 4, 4}, false, true, false, {"1234abcd"}, false, true}};
  request.constants = {{"ITEMS", 4}};
  candidate("1.0;", "1.0f;");
  EXPECT_NE(patched().find("  constexpr int ITEMS = 4;\n  static_assert(ITEMS == 4, "), std::string::npos) << patched();
}

TEST_F(NeededConstants, OfAKernelThatStaysAsItIsAreNone) {
  request.constants.clear();
  candidate("1.0;", "1.0f;");
  EXPECT_EQ(patched().find("static_assert"), std::string::npos);
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace kernelift::reintegrate
