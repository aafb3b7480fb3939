// An application on which patches are proven, with clang's real host pass.
#pragma once
#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "reintegrate/patch/source_patch.h"
#include "reintegrate/proof/host_proof.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {

inline const char* const kApplication =
    "#include <cstdio>\n"
    "#include <cstdlib>\n"
    "#include \"config.h\"\n"
    "struct Options {\n"
    "  int verbose;\n"
    "};\n"
    "constexpr int kScale = 2;\n"
    "__host__ __device__ inline float scaled(float x) { return kScale * x; }\n"
    "// The kernel.\n"
    "__global__ void scale(float* a, int n) {\n"
    "  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  if (i < n) a[i] = scaled(a[i]);\n"
    "}\n"
    "// The host.\n"
    "static void check(cudaError_t error, int line) {\n"
    "  if (error != cudaSuccess) std::fprintf(stderr, \"line %d\\n\", line), std::exit(1);\n"
    "}\n"
    "#define CHECK(call) check(call, __LINE__)\n"
    "static int smaller(long a, long b) { return a < b ? a : b; }\n"
    "int main(int argc, char** argv) {\n"
    "  Options options{};\n"
    "  float* a = nullptr;\n"
    "  int n = smaller(argc * 1000, kScale * 4000);\n"
    "  CHECK(cudaMalloc(&a, n * sizeof(float)));\n"
    "  dim3 grid((n + BLOCK - 1) / BLOCK);\n"
    "  scale<<<grid, BLOCK>>>(a, n);\n"
    "  CHECK(cudaGetLastError());\n"
    "  CHECK(cudaDeviceSynchronize());\n"
    "  float first = 0;\n"
    "  CHECK(cudaMemcpy(&first, a, sizeof first, cudaMemcpyDeviceToHost));\n"
    "  for (int i = 0; i < options.verbose; ++i) std::printf(\"%s %f\\n\", argv[0], scaled(first));\n"
    "  return 0;\n"
    "}\n";
constexpr uint32_t kFirst = 7, kLast = 13;  // The lines of the slice: from kScale to the end of the kernel.

class HostProofTest : public Application {
 protected:
  void SetUp() override {
    Application::SetUp();
    std::filesystem::remove_all(root / "src");
    write("src/config.h", "#pragma once\n#define BLOCK 64\n");
    write("src/app.cu", kApplication);
    request.host = {};
    Mep& mep = request.mep;
    mep = {};
    mep.kernel_key = "scale(float*, int)", mep.kernel_name = "scale", mep.kernel_id = "1234abcd";
    mep.unit = "src/app.cu", mep.app_root = root.string();
    mep.parameters = {{"a", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
    mep.functions = {{"scaled", "src/app.cu", 8, 8, true}};
    ScanIndex scan;
    scan.root = root.string(), scan.language = "cuda";
    scan.units = {unit("src/app.cu")};
    ScannedKernel kernel;
    kernel.id = mep.kernel_id, kernel.key = mep.kernel_key, kernel.name = "scale";
    size_t begin = std::string(kApplication).find("__global__");
    kernel.definition = {"src/app.cu", begin, std::string(kApplication).find("}\n", begin) + 1, 10, 13};
    scan.kernels = {kernel};
    request.scan = scan;
    slice_lines("src/app.cu", kFirst, kLast);
  }

  ScannedUnit unit(const std::string& file) {
    return {(root / file).string(), root.string(), {"nvcc", "-c", file, "-o", "out.o"}, {}, "lean"};
  }
  void slice_lines(const std::string& file, uint32_t first, uint32_t last) {
    request.mep.origins.clear(), request.original.clear();
    std::string text = read(file);
    auto lines = split_lines(text);
    for (uint32_t line = first; line <= last; ++line) {
      request.mep.origins.push_back({file, line});
      request.original += std::string(lines[line - 1].text) + "\n";
    }
    request.candidate.source = request.original;
  }
  /// The launch that is written so, with a recorded one.
  LaunchSite site_of(const std::string& file, const std::string& call) {
    LaunchSite site;
    site.kernels = {request.mep.kernel_id}, site.enclosing = "main";
    const size_t at = read(file).find(call), grid = call.find("<<<") + 3, comma = call.find(',', grid),
                 end = call.find(">>>");
    EXPECT_NE(at, std::string::npos);
    auto range = [&](size_t from, size_t to) { return SourceRange{file, at + from, at + to, 26, 26}; };
    site.range = range(0, call.size()), site.grid_range = range(grid, comma), site.block_range = range(comma + 2, end);
    site.kernel_range = range(0, grid - 3);
    site.grid[0] = "ceil_div(n, BLOCK)"_e, site.block[0] = "BLOCK"_e;
    site.grid_form = "dim3", site.block_form = "number", site.argument_text = {"a", "n"};
    site.argument_types = {{1, "int"}};
    MepInstance instance;
    instance.geometry = {{16, 1, 1}, {64, 1, 1}, 0, false};
    request.mep.instances = {instance};
    return site;
  }
  /// The application with this text in front of main, which launches by `call`: its site, with `scale`, `grid`,
  /// `BLOCK`.
  LaunchSite launched_by(const std::string& call, const std::string& in_front) {
    const std::string launch = "scale<<<grid, BLOCK>>>(a, n)";
    std::string text = kApplication;
    text.replace(text.find(launch), launch.size(), call);
    text.insert(text.find("int main"), in_front);
    write("src/app.cu", text);
    slice_lines("src/app.cu", kFirst, kLast);
    LaunchSite site;
    site.kernels = {request.mep.kernel_id}, site.enclosing = "main";
    auto range = [&](const std::string& part) {
      const size_t at = text.find(call) + call.find(part);
      return SourceRange{"src/app.cu", at, at + part.size(), 27, 27};
    };
    site.range = range(call), site.kernel_range = range("scale");
    site.grid_range = range("grid"), site.block_range = range("BLOCK");
    site.grid[0] = "ceil_div(n, BLOCK)"_e, site.block[0] = "BLOCK"_e;
    site.grid_form = "dim3", site.block_form = "number", site.argument_text = {"a", "n"};
    site.argument_types = {{1, "int"}};
    return site;
  }
  /// A patch whose text is another, which it declares so.
  void expect_refused(SourcePatch patch, const std::string& what, const std::string& instead) {
    bool any = false;
    for (auto& change : patch.changes)
      for (auto* text : {&change.after, &change.declared})
        if (size_t at = text->rfind(what); at != text->npos) text->replace(at, what.size(), instead), any = true;
    EXPECT_TRUE(any) << what;
    EXPECT_FALSE(prove_host_half({request.mep, &*request.scan, patch, request.host}).ok()) << instead;
  }
  /// Launches blocks of `threads` threads, as many threads as before.
  void launch_blocks_of(int threads) {
    request.mep.launches = {site_of("src/app.cu", "scale<<<grid, BLOCK>>>(a, n)")};
    CandidateLaunch launch = CandidateLaunch::as_recorded("scale");
    launch.grid[0] = "ceil_div(gx * bx, T)"_e, launch.block[0] = "T"_e;
    request.candidate.launches = {launch};
    request.candidate.values["T"] = threads;
  }
  /// Adds text behind the kernel.
  void append(const std::string& text) { request.candidate.source += text; }
  /// Adds text in front of the kernel.
  void prepend(const std::string& text) { candidate("// The kernel.\n", text + "// The kernel.\n"); }

  Result<SourcePatch> plan() {
    return plan_patch({request.mep, request.original, request.candidate, &*request.scan, root});
  }
  /// A patch that embeds PTX of the kernel, with its recorded launch.
  Result<SourcePatch> plan_embedded() {
    launch_blocks_of(64);
    request.candidate.launches.clear(), request.candidate.values.clear();
    request.mep.instances[0].parameters = {{0, 8}, {8, 4}};
    request.mep.instances[0].arguments.assign(12, std::byte{0x40});
    EmbeddedCode code;
    code.ptx =
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry _Z5scalePfi(.param .u64 a, .param .u32 n)"
        " { ret; }\n";
    code.entry = "_Z5scalePfi", code.compiler = "clang", code.measured_on = "a GPU", code.why = "It is faster.";
    return plan_patch({request.mep, request.original, request.candidate, &*request.scan, root, &code});
  }
  /// Why the candidate is refused; empty if its patch is proven.
  std::string verdict() {
    auto patch = plan();
    if (!patch.ok()) return patch.error().message;
    proof_ = prove_host_half({request.mep, &*request.scan, *patch, request.host});
    if (!proof_.ok()) EXPECT_EQ(proof_.error().exit, Exit::Refused);
    return proof_.ok() ? "" : proof_.error().message;
  }
  /// The same for the planned patch with its text replaced: what the proof alone says, whatever planning refuses.
  std::string verdict_on_text(const std::string& what, const std::string& instead) {
    std::string after = kApplication;
    size_t at = after.find(what);
    EXPECT_NE(at, std::string::npos);
    after.replace(at, what.size(), instead);
    SourcePatch patch;
    patch.changes = {{root / "src/app.cu", "src/app.cu", kApplication, after, false, kApplication, kApplication}};
    proof_ = prove_host_half({request.mep, &*request.scan, patch, request.host});
    return proof_.ok() ? "" : proof_.error().message;
  }
  std::string behind_the_kernel(const std::string& text) {
    return verdict_on_text("// The host.\n", text + "// The host.\n");
  }

  Result<HostProof> proof_ = HostProof();
};

#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)
#define EXPECT_PROVEN(verdict) EXPECT_EQ(verdict, "")

}  // namespace kernelift::reintegrate
