// What a patch may and may not change of the host program, with clang's real host pass on a real application. Each
// hostile candidate would pass the application's check and be faster: it is refused for what it does beside that.
#include "reintegrate/tests/host_proof_fixture.h"

namespace kernelift::reintegrate {
namespace {

// --- honest candidates -----------------------------------------------------------------------------------------------

TEST_F(HostProofTest, ProvesAChangedKernel) {
  candidate("  if (i < n) a[i] = scaled(a[i]);\n", "  if (i >= n) return;\n  float x = a[i];\n  a[i] = x + x;\n");
  EXPECT_PROVEN(verdict());
  EXPECT_EQ(proof_->units, 1u);
  RecordProperty("seconds", std::to_string(proof_->seconds));
  std::printf("host proof: %.2f s for one unit\n", proof_->seconds);
}

TEST_F(HostProofTest, ProvesHelpersConstantsTemplatesAndLaunchBounds) {
  prepend(
      "#define TILE 32\n"
      "constexpr int kTile = TILE;\n"
      "struct Pair { float a, b; __device__ float sum() const { return a + b; } };\n"
      "__constant__ float weights[kTile];\n"
      "static __device__ int counter;\n"
      "__device__ __forceinline__ float helper(float x) { return x * 2; }\n"
      "template <int N> __device__ float power(float x) {\n  float r = 1;\n#pragma unroll 4\n"
      "  for (int k = 0; k < N; ++k) r *= x;\n  return r;\n}\n");
  candidate("__global__ void scale", "__launch_bounds__(64) __global__ void scale");
  candidate("a[i] = scaled(a[i])", "a[i] = Pair{helper(a[i]), power<3>(weights[i % TILE]) - counter}.sum()");
  EXPECT_PROVEN(verdict());
}

TEST_F(HostProofTest, ProvesAMacroAndUndefinesItBehindTheKernel) {
  prepend("#define TILE 32\n#define TWICE_TILE (2 * TILE)\n");
  candidate("  if (i < n)", "  if (TWICE_TILE && i < n)");
  EXPECT_PROVEN(verdict());
  std::string after = plan()->changes[0].after;
  size_t kernel = after.find("a[i] = scaled"), end = after.find("\n}\n", kernel);
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(after.substr(end + 3, 40), "#undef TWICE_TILE\n#undef TILE\n// The hos");
}

TEST_F(HostProofTest, ProvesALaunchOfOtherBlocks) {
  launch_blocks_of(128);
  candidate("blockIdx.x * BLOCK", "blockIdx.x * 128");
  EXPECT_PROVEN(verdict());
  EXPECT_HAS(plan()->changes[0].after, "scale<<<dim3((size_t(grid.x) * BLOCK + 127) / 128, grid.y, grid.z), 128>>>");
}

TEST_F(HostProofTest, ProvesALaunchThatChoosesBetweenTwoKernels) {
  launch_blocks_of(64);
  request.mep.instances[0].geometry.block.x = 64, request.candidate.launches.clear(), request.candidate.values.clear();
  candidate("  if (i < n) a[i]", "  a[i]");
  const LaunchGuard guard({Premise::holds("n % 64 == 0"_e)});
  auto plan_guarded = [&] {
    return plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
  };
  auto patch = plan_guarded();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  const std::string& after = patch->changes[0].after;
  EXPECT_HAS(after,
             "  if (i < n) a[i] = scaled(a[i]);\n}\n\n// Launched where n % 64 == 0.\nstatic __global__ void "
             "scale_tuned(float* a, int n) {\n  int i = blockIdx.x * BLOCK + threadIdx.x;\n  a[i] = "
             "scaled(a[i]);\n}\n// The host.\n");
  EXPECT_HAS(after, "  (n % 64 == 0 ? scale_tuned : scale)<<<grid, BLOCK>>>(a, n);\n");
  auto proof = prove_host_half({request.mep, &*request.scan, *patch, request.host});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  // With other blocks, too.
  launch_blocks_of(128);
  candidate("blockIdx.x * BLOCK", "blockIdx.x * 128");
  patch = plan_guarded();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_HAS(patch->changes[0].after,
             "  if (n % 64 == 0)\n"
             "    scale_tuned<<<dim3((size_t(grid.x) * BLOCK + 127) / 128, grid.y, grid.z), 128>>>(a, n);\n"
             "  else\n"
             "    scale<<<grid, BLOCK>>>(a, n);\n");
  proof = prove_host_half({request.mep, &*request.scan, *patch, request.host});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  expect_refused(*patch, "128>>>(a, n);", "128>>>(a, n - 1);");
  expect_refused(*patch, "BLOCK>>>(a, n);", "BLOCK>>>(a + 1, n);");
  expect_refused(*patch, "if (n % 64 == 0)", "if (n++ % 64 == 0)");
  expect_refused(*patch, "if (n % 64 == 0)", "if (std::system(\"true\") == 0)");
  expect_refused(*patch, "BLOCK>>>(a, n);", "BLOCK>>>(a, n), ++options.verbose;");
  expect_refused(*patch, "128>>>(a, n);", "128, 0, cudaStreamPerThread>>>(a, n);");
  // A host function that the candidate's text smuggles in beside the kernel is seen as in any other patch.
  candidate("  a[i] = scaled(a[i]);\n}\n", "  a[i] = scaled(a[i]);\n}\nstatic int late = std::system(\"true\");\n");
  patch = plan_guarded();
  proof = patch.ok() ? prove_host_half({request.mep, &*request.scan, *patch, request.host})
                     : Result<HostProof>(patch.error());
  EXPECT_FALSE(proof.ok());
}

TEST_F(HostProofTest, ProvesAMacrosLaunchThatChoosesAndRefusesOneThatShowsItsArguments) {
  const std::string macro = "#define LAUNCH(kernel, grid, block, ...) ", call = "LAUNCH(scale, grid, BLOCK, a, n)";
  auto prove = [&](const std::string& body) {
    LaunchSite site = launched_by(call, macro + body + "\n");
    site.through_macro = true;
    request.mep.launches = {site};
    candidate("blockIdx.x * BLOCK", "blockIdx.x * 128");
    const LaunchGuard guard({Premise::holds("n % 128 == 0"_e)});
    auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
    EXPECT_TRUE(patch.ok()) << patch.error().message;
    if (!patch.ok()) return Result<HostProof>(patch.error());
    EXPECT_HAS(patch->changes[0].after, "LAUNCH((n % 128 == 0 ? scale_tuned : scale), (n % 128 == 0) ? dim3((");
    return prove_host_half({request.mep, &*request.scan, *patch, request.host});
  };
  launch_blocks_of(128);
  auto proof = prove("kernel<<<(grid), (block)>>>(__VA_ARGS__)");
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  // What else a macro does with its arguments would change with them.
  EXPECT_FALSE(prove("do { std::puts(#kernel); kernel<<<(grid), (block)>>>(__VA_ARGS__); } while (0)").ok());
  EXPECT_FALSE(prove("(std::printf(\"%u\", dim3(block).x), kernel<<<(grid), (block)>>>(__VA_ARGS__))").ok());
}

TEST_F(HostProofTest, ProvesALaunchThatAsksForAlignment) {
  launch_blocks_of(64);
  request.candidate.launches.clear(), request.candidate.values.clear();
  candidate("  if (i < n) a[i] = scaled(a[i]);",
            "  if (2 * i + 1 < n) ((float2*)a)[i] = make_float2(scaled(a[2 * i]), scaled(a[2 * i + 1]));");
  const LaunchGuard guard({Premise::holds("n % 64 == 0"_e), Premise::aligned("a", 8)});
  auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_HAS(patch->changes[0].after,
             "// Launched where n % 64 == 0 and a is a multiple of 8 bytes.\nstatic __global__");
  EXPECT_HAS(patch->changes[0].after,
             "  ((n % 64 == 0) && ((unsigned long long)(a) % 8 == 0) ? scale_tuned : scale)<<<grid, "
             "BLOCK>>>(a, n);\n");
  auto proof = prove_host_half({request.mep, &*request.scan, *patch, request.host});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  expect_refused(*patch, "(unsigned long long)(a)", "(unsigned long long)(options.verbose++, a)");
  // In other blocks, too: a question of several parts reaches a launch by several ways.
  launch_blocks_of(128);
  for (auto& several : {guard, LaunchGuard({Premise::holds("n % 64 == 0 || n >= 4096"_e)})}) {
    patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, nullptr, several});
    ASSERT_TRUE(patch.ok()) << patch.error().message;
    EXPECT_HAS(patch->changes[0].after, "  else\n    scale<<<grid, BLOCK>>>(a, n);\n");
    proof = prove_host_half({request.mep, &*request.scan, *patch, request.host});
    EXPECT_TRUE(proof.ok()) << proof.error().message;
    expect_refused(*patch, "128>>>(a, n);", "128>>>(a, n - 1);");
    expect_refused(*patch, "    scale<<<grid, BLOCK>>>(a, n);", "    scale<<<grid, BLOCK>>>(a, n + 1);");
  }
}

TEST_F(HostProofTest, ProvesALaunchThatChoosesBetweenInstancesOfTwoTemplates) {
  std::string text = kApplication;
  auto replace = [&](const std::string& what, const std::string& instead) {
    text.replace(text.find(what), what.size(), instead);
  };
  replace("__global__", "template <int B, class T>\n__global__");
  replace("float* a, int n) {\n  int i = blockIdx.x * BLOCK", "T* a, int n) {\n  int i = blockIdx.x * B");
  replace("scale<<<", "scale<BLOCK, float><<<");
  write("src/app.cu", text);
  slice_lines("src/app.cu", kFirst, kLast + 1);
  Mep& mep = request.mep;
  mep.kernel_name = "scale<64, float>", mep.kernel_key = "void scale<64, float>(float*, int)";
  ScannedKernel& kernel = request.scan->kernels[0];
  const size_t begin = text.find("template <int B");
  kernel.name = mep.kernel_name, kernel.key = mep.kernel_key, kernel.is_template = true;
  kernel.definition = {"src/app.cu", begin, text.find("}\n", begin) + 1, 10, 14};
  mep.launches = {site_of("src/app.cu", "scale<BLOCK, float><<<grid, BLOCK>>>(a, n)")};
  candidate("  if (i < n) a[i]", "  a[i]");
  const LaunchGuard guard({Premise::holds("n % 64 == 0"_e)});
  auto patch = plan_patch({mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  const std::string& after = patch->changes[0].after;
  EXPECT_HAS(after,
             "// Launched where n % 64 == 0.\ntemplate <int B, class T>\nstatic __global__ void scale_tuned(T* a, int "
             "n) {\n  int i = blockIdx.x * B + threadIdx.x;\n  a[i] = scaled(a[i]);\n}\n// The host.\n");
  EXPECT_HAS(after, "  (n % 64 == 0 ? scale_tuned<BLOCK, float> : scale<BLOCK, float>)<<<grid, BLOCK>>>(a, n);");
  auto proof = prove_host_half({mep, &*request.scan, *patch, request.host});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  expect_refused(*patch, "(a, n);", "(a, n - 1);");
  expect_refused(*patch, "? scale_tuned<BLOCK, float>", "? scale_tuned<2 * BLOCK, float>");

  // Another instance exists: it keeps its text, and no launch need ask anything.
  request.scan->kernels.push_back(request.scan->kernels[0]);
  request.scan->kernels[1].id = "5678abcd", request.scan->kernels[1].key = "void scale<64, int>(int*, int)";
  patch = plan_patch({mep, request.original, request.candidate, &*request.scan, root});
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  EXPECT_HAS(patch->changes[0].after, "// Launched for scale<64, float>.\ntemplate <int B, class T>\nstatic ");
  EXPECT_HAS(patch->changes[0].after, "  scale_tuned<BLOCK, float><<<grid, BLOCK>>>(a, n);");
  EXPECT_FALSE(patch->reaches_others);
  ASSERT_EQ(patch->notes.size(), 1u);
  EXPECT_EQ(patch->notes[0], "The kernel stays beside 'scale_tuned', and runs as its template's other instances.");
  proof = prove_host_half({mep, &*request.scan, *patch, request.host});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  expect_refused(*patch, "(a, n);", "(a, n - 1);");
  expect_refused(*patch, "  scale_tuned<BLOCK, float>", "  scale_tuned<2 * BLOCK, float>");
}

TEST_F(HostProofTest, ProvesALaunchThatChoosesInAnotherFileThanTheKernels) {
  const std::string declared = "#pragma once\n__global__ void scale(float* a, int n);\n",
                    defined =
                        "#include \"scale.h\"\n"
                        "__global__ void scale(float* a, int n) {\n"
                        "  int i = blockIdx.x * 64 + threadIdx.x;\n"
                        "  if (i < n) a[i] = 2 * a[i];\n"
                        "}\n",
                    launched =
                        "#include \"parts.h\"\n"
                        "int main(int argc, char**) {\n"
                        "  float* a = nullptr;\n"
                        "  cudaMalloc(&a, 64 * argc * sizeof(float));\n"
                        "  scale<<<argc, 64>>>(a, 64 * argc);\n"
                        "  return cudaDeviceSynchronize();\n"
                        "}\n";
  std::filesystem::remove_all(root / "src");
  write("src/scale.h", declared);
  write("src/parts.h", "#include \"scale.h\"\n");
  write("src/scale.cu", defined);
  write("src/main.cu", launched);
  write("src/other.cu", "#include \"scale.h\"\nint other() { return 1; }\n");
  Mep& mep = request.mep;
  mep.unit = "src/scale.cu", mep.functions.clear();
  request.scan->units = {unit("src/scale.cu"), unit("src/main.cu"), unit("src/other.cu")};
  request.scan->kernels[0].definition = {"src/scale.cu", defined.find("__global__"), defined.size() - 1, 2, 5};
  slice_lines("src/scale.cu", 2, 5);
  mep.launches = {site_of("src/main.cu", "scale<<<argc, 64>>>(a, 64 * argc)")};
  mep.launches[0].argument_text = {"a", "64 * argc"};
  candidate("  if (i < n) a[i]", "  a[i]");
  const LaunchGuard guard({Premise::holds("n % 64 == 0"_e)});
  auto plan_guarded = [&] {
    return plan_patch({mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
  };
  auto patch = plan_guarded();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  std::map<std::string, std::string> after;
  for (auto& change : patch->changes) after[change.name] = change.after;
  EXPECT_EQ(after["src/scale.h"], declared + "__global__ void scale_tuned(float* a, int n);\n");
  EXPECT_HAS(after["src/scale.cu"],
             "}\n\n// Launched where n % 64 == 0.\n__global__ void scale_tuned(float* a, int n) {");
  EXPECT_HAS(after["src/main.cu"], "  ((64 * argc) % 64 == 0 ? scale_tuned : scale)<<<argc, 64>>>(a, 64 * argc);\n");
  auto proof = prove_host_half({mep, &*request.scan, *patch, request.host});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_EQ(proof->units, 3u);
  expect_refused(*patch, "(a, 64 * argc);", "(a, 63 * argc);");
  // Another unit's function could be taken for it.
  write("src/other.cu", "#include \"scale.h\"\nint scale_tuned(float*) { return 1; }\n");
  proof = prove_host_half({mep, &*request.scan, *plan_guarded(), request.host});
  ASSERT_FALSE(proof.ok());
  EXPECT_HAS(proof.error().message, "'scale_tuned', a name that src/other.cu or a header that it includes uses");
  // Without a declaration that the launch sees, it stays.
  write("src/main.cu", "#define KERNEL(name) __global__ void name\nKERNEL(scale)(float*, int);\n" +
                           launched.substr(launched.find('\n') + 1));
  mep.launches = {site_of("src/main.cu", "scale<<<argc, 64>>>(a, 64 * argc)")};
  mep.launches[0].argument_text = {"a", "64 * argc"};
  EXPECT_HAS(plan_guarded().error().message,
             "the launch at src/main.cu:26 does not see a kernel beside 'scale': no declaration of it was found in "
             "src/main.cu and what that includes of the application");
}

TEST_F(HostProofTest, RefusesALaunchThatChoosesAnythingElse) {
  launch_blocks_of(64);
  request.candidate.launches.clear(), request.candidate.values.clear();
  candidate("  if (i < n) a[i]", "  a[i]");
  const LaunchGuard guard({Premise::holds("n % 64 == 0"_e)});
  auto patch = plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, nullptr, guard});
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  for (auto& [what, instead] : {std::pair<std::string, std::string>{"(a, n);", "(a, n - 1);"},
                                {"n % 64 == 0 ?", "(smaller(n, ++options.verbose) == 0) ?"}}) {
    SourcePatch other = *patch;
    for (auto* text : {&other.changes[0].after, &other.changes[0].declared}) {
      size_t at = text->find(what, text->find("int main"));
      ASSERT_NE(at, std::string::npos);
      text->replace(at, what.size(), instead);
    }
    EXPECT_FALSE(prove_host_half({request.mep, &*request.scan, other, request.host}).ok()) << instead;
  }
}

TEST_F(HostProofTest, ProvesAKnobThatHostAndKernelUse) {
  size_t at = read("src/config.h").find("64");
  request.mep.knobs = {{"BLOCK", 64, {"src/config.h", at, at + 2, 2, 2}, true, true, true, {"1234abcd"}}};
  request.candidate.values = {{"BLOCK", 128}};
  EXPECT_PROVEN(verdict());
}

TEST_F(HostProofTest, ShiftedLinesAreNoDifference) {
  prepend("\n\n\n__device__ float helper(float x);\n");
  EXPECT_PROVEN(verdict());
  slice_lines("src/app.cu", kFirst, kLast);
  candidate("// The kernel.\n", "");
  EXPECT_PROVEN(verdict());
}

// --- row 1: the host program is the user's ---------------------------------------------------------------------------

TEST_F(HostProofTest, NoMacroTakesTheNameOfAFunctionThatTheHostCalls) {
  append(
      "#define cudaGetLastError() ([] { static int once = std::system(\"id\"); return once; }(), "
      "(cudaGetLastError)())\n");
  EXPECT_HAS(verdict(), "a name that src/app.cu or a header that it includes uses");
  // Nor does the proof rest on that.
  EXPECT_HAS(behind_the_kernel("#define cudaGetLastError() ([] { static int once = std::system(\"id\"); return once; "
                               "}(), (cudaGetLastError)())\n"),
             "would change the host program");
  for (const char* macro :
       {"#define main hidden\n", "#define cudaMemcpy(a, b, c, d) (std::system(\"id\"), cudaSuccess)\n",
        "#define int long\n", "#define for if (0) for\n", "#define sizeof(x) 4096\n", "#define BLOCK 1024\n",
        "#define return std::system(\"id\"); return\n"}) {
    EXPECT_NE(behind_the_kernel(macro), "") << macro;
    slice_lines("src/app.cu", kFirst, kLast);
    append(macro);
    EXPECT_NE(verdict(), "") << macro;
  }
}

TEST_F(HostProofTest, WhatTheCandidateNamesIsNothingElseInTheUnit) {
  candidate("  if (i < n) a[i] = scaled(a[i]);\n",
            "  auto CHECK = [](float x) { return scaled(x); };\n  if (i < n) a[i] = CHECK(a[i]);\n");
  EXPECT_HAS(verdict(), "in src/app.cu the candidate uses the name 'CHECK', which is a macro there");
  slice_lines("src/app.cu", kFirst, kLast);
  prepend("template <class T> __device__ T smaller(T a, T b) { return a < b ? a : b; }\n");
  EXPECT_HAS(verdict(), "in src/app.cu the candidate declares 'smaller', a name that is used there");
  slice_lines("src/app.cu", kFirst, kLast);
  candidate("  if (i < n) a[i] = scaled(a[i]);\n",
            "  const int smaller = INT_MAX < n ? 0 : n;\n  if (i < smaller) a[i] = scaled(a[i]);\n");
  EXPECT_PROVEN(verdict()) << "a local variable hides what is outside, and INT_MAX is the same everywhere";
}

TEST_F(HostProofTest, NoMacroStaysDefinedBehindTheKernel) {
  append("#define HELPER 1\n");
  EXPECT_PROVEN(verdict());
  EXPECT_HAS(plan()->changes[0].after, "#define HELPER 1\n#undef HELPER\n");
}

TEST_F(HostProofTest, NoMacroChangesAccessInAHeader) {
  write("src/late.h",
        "#pragma once\nclass Late {\n private:\n  int x = 1;\n public:\n  int get() const { return x; }\n};\n");
  EXPECT_NE(behind_the_kernel("#define private public\n#include \"late.h\"\n"), "refused");
  append("#define private public\n");
  EXPECT_HAS(verdict(), "is a name that C++ reserves");
}

TEST_F(HostProofTest, NoFunctionOfTheCLibraryIsReplaced) {
  std::string system = "extern \"C\" __host__ __device__ int system(const char*) { return 0; }\n";
  append(system);
  EXPECT_HAS(verdict(), "linkage: 'extern \"C\" __host__ __device__ int system'");
  EXPECT_HAS(behind_the_kernel(system), "'system'");
}

TEST_F(HostProofTest, NoConstructorIsAddedToAStructureOfTheHost) {
  EXPECT_HAS(verdict_on_text("  int verbose;\n", "  int verbose;\n  __host__ __device__ Options() : verbose(1) {}\n"),
             "would change the host program");
  EXPECT_NE(verdict_on_text("  int verbose;\n", "  int verbose = 1;\n"), "");
  EXPECT_NE(verdict_on_text("  int verbose;\n", "  int verbose, more;\n"), "") << "its layout";
}

TEST_F(HostProofTest, NoConstantThatTheHostReadsTooIsChanged) {
  candidate("kScale = 2", "kScale = 3");
  EXPECT_HAS(verdict(), "src/app.cu, '");
}

TEST_F(HostProofTest, NoFunctionForBothSidesIsChangedUnlessAllowed) {
  candidate("return kScale * x", "return x + x");
  std::string why = verdict();
  EXPECT_HAS(why, "'scaled(float)'");
  EXPECT_HAS(why, "--allow-host-changes");
  request.host.allow_changes = true;
  EXPECT_PROVEN(verdict());
  ASSERT_EQ(proof_->notes.size(), 1u);
  EXPECT_HAS(proof_->notes[0], "the patch changes 'scaled(float)' for the host too");
}

TEST_F(HostProofTest, WhatIsAllowedCallsNothingNew) {
  request.host.allow_changes = true;
  for (const char* body :
       {"return std::system(\"id\")", "return (float)std::atoi(\"1\")", "return *(float*)(0x7f0000000000ull) * x",
        "volatile float y = x; return y", "asm(\"nop\"); return x", "static int once = rand(); return once * x"}) {
    slice_lines("src/app.cu", kFirst, kLast);
    candidate("return kScale * x", body);
    EXPECT_NE(verdict(), "") << body;
  }
}

TEST_F(HostProofTest, NoBetterOverloadIsPickedByTheHost) {
  for (const char* text : {"__host__ __device__ inline int smaller(int a, long b) { return 1; }\n",
                           "__host__ __device__ inline int smaller(int a, int b) { return 1; }\n",
                           "template <class A, class B> __host__ __device__ int smaller(A, B) { return 1; }\n"})
    EXPECT_NE(verdict_on_text("int main(", text + std::string("int main(")), "") << text;
}

TEST_F(HostProofTest, NoOverloadOfAnOperatorIsPickedByTheHost) {
  std::string with_operator = kApplication;
  with_operator.replace(with_operator.find("  float first"), 0, "  dim3 both = grid + grid;\n  n += both.x;\n");
  with_operator.replace(with_operator.find("// The kernel."), 0,
                        "template <class T> __host__ __device__ T operator+(T a, T) { return a; }\n");
  write("src/app.cu", with_operator);
  std::string after = with_operator;
  after.replace(after.find("// The host."), 0,
                "__host__ __device__ dim3 operator+(dim3 a, dim3) { return dim3(a.x + 1); }\n");
  SourcePatch patch;
  patch.changes = {{root / "src/app.cu", "src/app.cu", with_operator, after, false, with_operator, with_operator}};
  EXPECT_FALSE(prove_host_half({request.mep, &*request.scan, patch, {}}).ok());
}

TEST_F(HostProofTest, NoSpecialisationIsPickedByTheHost) {
  std::string with_template = kApplication;
  with_template.replace(with_template.find("// The kernel."), 0,
                        "template <class T> struct Size { static const int value = 1; };\n");
  with_template.replace(with_template.find("  float first"), 0, "  n += Size<float>::value;\n");
  write("src/app.cu", with_template);
  std::string after = with_template;
  after.replace(after.find("// The host."), 0, "template <> struct Size<float> { static const int value = 9; };\n");
  SourcePatch patch;
  patch.changes = {{root / "src/app.cu", "src/app.cu", with_template, after, false, with_template, with_template}};
  EXPECT_FALSE(prove_host_half({request.mep, &*request.scan, patch, {}}).ok());
}

TEST_F(HostProofTest, NoUsingDirectiveChangesWhatTheHostFinds) {
  EXPECT_NE(verdict_on_text("int main(",
                            "namespace far { int smaller(int, int) { return 1; } }\nusing namespace far;\nint main("),
            "");
  EXPECT_NE(verdict_on_text("  Options options{};\n", "  using namespace far;\n  Options options{};\n"), "");
}

TEST_F(HostProofTest, NoPragmaReachesTheHost) {
  EXPECT_NE(verdict_on_text("struct Options {\n  int verbose;\n",
                            "#pragma pack(1)\nstruct Options {\n  char c;\n  int verbose;\n"),
            "");
  for (const char* text :
       {"#pragma pack(1)\n", "#pragma push_macro(\"BLOCK\")\n", "#pragma GCC poison printf\n",
        "#pragma GCC system_header\n", "#pragma unrollx\n", "#pragma clang loop unroll(full) poison\n",
        "#pragma clang optimize off\n", "#pragma omp parallel for\n", "#pragma weak main\n"}) {
    slice_lines("src/app.cu", kFirst, kLast);
    append(text);
    EXPECT_HAS(verdict(), "pragma: '");
  }
}

TEST_F(HostProofTest, NoConditionalIsLeftOpenOrClosesTheApplicationsOwn) {
  for (const char* text : {"#if 0\n", "#endif\n", "#else\n", "#ifdef BLOCK\n#else\n", "#if 1\n#elif 1\n"}) {
    slice_lines("src/app.cu", kFirst, kLast);
    append(text);
    EXPECT_HAS(verdict(), "conditional: '");
    EXPECT_NE(behind_the_kernel(text), "") << text;
  }
}

TEST_F(HostProofTest, NoBraceOrCommentIsLeftOpen) {
  for (const char* text : {"namespace away {\n", "}\n", "/*\n", "R\"(\n", "extern \"C\" {\n", "struct Open {\n"})
    EXPECT_NE(behind_the_kernel(text), "") << text;
  EXPECT_NE(behind_the_kernel("namespace away {\n#define END }\n"), "");
}

TEST_F(HostProofTest, NoLineSwallowsTheNextLineOfTheApplication) {
  slice_lines("src/app.cu", 14, 15);  // A line that the application's own code follows.
  candidate("// The host.\n", "// The host. \\\n");
  EXPECT_HAS(verdict(), "splice: '");
  EXPECT_NE(verdict_on_text("  CHECK(cudaGetLastError());\n", "  // Comment \\\n  CHECK(cudaGetLastError());\n"), "");
  slice_lines("src/app.cu", kFirst, kLast);
  request.candidate.source += "#define HELPER 1 \\\n";
  EXPECT_NE(verdict(), "");
}

TEST_F(HostProofTest, NoAttributeRunsCodeAtStart) {
  for (const char* text :
       {"__attribute__((constructor)) static void f() { std::system(\"id\"); }\n",
        "static int once = std::system(\"id\");\n", "int once = rand();\n", "[[gnu::constructor]] static void f() {}\n",
        "asm(\".globl environ\");\n", "extern \"C\" int puts(const char*) { return 0; }\n",
        "void* operator new(unsigned long);\n"
        "void operator delete(void*) noexcept {}\n",
        "int environ_copy = 1;\n", "void f() asm(\"exit\"); void f() {}\n"})
    EXPECT_NE(behind_the_kernel(text), "") << text;
}

TEST_F(HostProofTest, NoDeviceVariableBecomesAGlobalNameOfTheProgram) {
  request.scan->units[0].command = {"nvcc", "-rdc=true", "-c", "src/app.cu", "-o", "out.o"};
  prepend("__device__ char** environ;\n");
  EXPECT_HAS(verdict(), "'environ': the patch adds a device variable");
}

TEST_F(HostProofTest, NoKernelTakesTheNameOfAFunctionOfAnotherFile) {
  prepend("__global__ void solve(float* a) {\n  a[0] = 1;\n}\n");
  EXPECT_HAS(verdict(), "the patch adds a kernel");
  slice_lines("src/app.cu", kFirst, kLast);
  prepend("static __global__ void solve(float* a) {\n  a[0] = 1;\n}\n");
  EXPECT_PROVEN(verdict());
}

// --- launches and embedded code --------------------------------------------------------------------------------------

TEST_F(HostProofTest, ALaunchEditMayComputeAConfigurationAndNothingElse) {
  auto with_grid = [&](const std::string& grid) {
    std::string declared = kApplication;
    size_t at = declared.find("<<<grid, BLOCK>>>");
    declared.replace(at, 17, "<<<" + grid + ", 128>>>");
    SourcePatch patch;
    patch.changes = {{root / "src/app.cu", "src/app.cu", kApplication, declared, false, kApplication, declared}};
    auto proof = prove_host_half({request.mep, &*request.scan, patch, {}});
    return proof.ok() ? "" : proof.error().message;
  };
  for (const char* grid : {"dim3((grid.x + 1) / 2, grid.y)", "n > 5 ? n / 5 : 1", "(unsigned)smaller(n, 7)",
                           "dim3(smaller(grid.x, n), 1, 1)", "dim3{2, 3, 4}"})
    EXPECT_EQ(with_grid(grid), "") << grid;
  for (const char* grid : {"std::system(\"id\")", "n++", "(options.verbose = 9)", "(std::puts(\"\"), grid)",
                           "std::atoi(argv[0])", "(check(cudaSuccess, 1), grid)"})
    EXPECT_HAS(with_grid(grid), "would change the host program") << grid;
}

TEST_F(HostProofTest, EmbeddedCodeAddsItsLauncherAndNothingElse) {
  auto patch = plan_embedded();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  ASSERT_TRUE(patch->embeds());
  auto proof = prove_host_half({request.mep, &*request.scan, *patch, {}});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
  EXPECT_EQ(proof->units, 1u);
  std::printf("host proof: %.2f s for one unit with embedded code\n", proof->seconds);
  // PTX that leaves its string, or a redirected launch that does more.
  for (auto [what, instead] :
       {std::pair{"namespace kernelift_scale", "static int once = std::system(\"id\");\nnamespace kernelift_scale"},
        std::pair{"CHECK(cudaGetLastError());", "CHECK(cudaGetLastError()); std::system(\"id\");"},
        std::pair{"int n = smaller", "int n = 1 + smaller"}}) {
    SourcePatch changed = *patch;
    bool found = false;
    for (auto& change : changed.changes)
      if (size_t at = change.after.find(what); at != std::string::npos)
        change.after.replace(at, std::string(what).size(), instead), found = true;
    ASSERT_TRUE(found) << what;
    EXPECT_FALSE(prove_host_half({request.mep, &*request.scan, changed, {}}).ok()) << instead;
  }
}

TEST_F(HostProofTest, ALauncherBringsNoFunctionsOfTheLibraryThatAreNotInline) {
  if (!find_program("nvcc")) GTEST_SKIP() << "nvcc is not on PATH";
  request.scan->units[0].headers = "toolkit";
  auto patch = plan_embedded();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  auto proof = prove_host_half({request.mep, &*request.scan, *patch, {}});
  EXPECT_TRUE(proof.ok()) << proof.error().message;
}

/// Host code between launches that may throw, in a class template: which instance has the tuned code is decided as it
/// runs.
const char* const kInTemplate =
    "#include <cmath>\n"
    "#include <stdexcept>\n"
    "#include <vector>\n"
    "@INCLUDE@"
    "struct Params {\n"
    "  std::vector<float> ligand;\n"
    "  size_t atoms() const { return ligand.size(); }\n"
    "};\n"
    "template <size_t N> __global__ void scale(float* a, int n, float* b, int m) {\n"
    "  int i = blockIdx.x * 64 + threadIdx.x;\n"
    "  if (i < n) a[i] *= N * m, b[i] = a[i];\n"
    "}\n"
    "static void check(cudaError_t error) {\n"
    "  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));\n"
    "}\n"
    "template <size_t N> struct Runner {\n"
    "  std::vector<double> run(const Params& p, size_t wide, float* a) const {\n"
    "    std::vector<double> times;\n"
    "    size_t global = std::ceil(double(p.atoms()) / N);\n"
    "    global = std::ceil(double(global) / double(wide));\n"
    "    size_t local = wide;\n"
    "    size_t shared = p.atoms() * sizeof(float);\n"
    "    for (size_t i = 0; i < p.atoms(); ++i) {\n"
    "      @LAUNCH@(a, p.atoms(), a, p.ligand.size());\n"
    "      check(cudaDeviceSynchronize());\n"
    "      times.emplace_back(1.0);\n"
    "    }\n"
    "    return times;\n"
    "  }\n"
    "};\n"
    "template struct Runner<1>;\n"
    "template struct Runner<4>;\n";

TEST_F(HostProofTest, EmbeddedCodeMayBeLaunchedInATemplateBesideCodeThatThrows) {
  auto patch = plan_embedded();
  ASSERT_TRUE(patch.ok()) << patch.error().message;
  auto text = [](std::string include, std::string launch) {
    std::string result = kInTemplate;
    result.replace(result.find("@INCLUDE@"), 9, include);
    return result.replace(result.find("@LAUNCH@"), 8, launch);
  };
  const std::string before = text("", "scale<N><<<global, local, shared>>>");
  auto proof_of = [&](const std::string& launch) {
    SourcePatch changed = *patch;
    for (auto& change : changed.changes)
      if (change.before == kApplication)
        change.before = before, change.after = text("#include \"" + patch->launcher + ".cuh\"\n", launch);
    write("src/app.cu", before);
    auto proof = prove_host_half({request.mep, &*request.scan, changed, {}});
    return proof.ok() ? "" : proof.error().message;
  };
  const std::string call = patch->launcher + "::launch_one(scale<4>, scale<N>, global, local, shared)";
  EXPECT_EQ(proof_of(call), "");
  EXPECT_HAS(proof_of("check(cudaGetLastError()), " + call), "would change the host program");
}

}  // namespace
}  // namespace kernelift::reintegrate
