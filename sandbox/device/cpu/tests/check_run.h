// Kernels run in check mode, as loops and on fibers, and what is found in them.
#pragma once
#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {

inline constexpr int kCount = 4096;

struct Checked {
  std::vector<AccessFinding> findings;
  std::string not_checked;
};

/// A kernel (int* in, int* out, int n) of which `in` is 0, 1, 2, … and `out` zeros.
inline Checked run_checked(const std::string& source, Geometry geometry, const LowerOptions& wanted,
                           bool follow_all_reads) {
  LowerOptions options = wanted;
  options.checked = true;
  const TestImage image = build(source, options);
  std::vector<int> memory(3 * kCount);
  int *in = memory.data(), *out = in + kCount + 64;
  for (int i = 0; i < kCount; ++i) in[i] = i;
  auto address = [](const int* at) { return reinterpret_cast<uint64_t>(at); };
  CheckedExtents extents;
  extents.objects = {{"in", address(in), kCount * sizeof(int)}, {"out", address(out), kCount * sizeof(int)}};
  extents.forbidden = {{address(in + kCount), address(out)}};
  const kl_image& table = image.loaded->image();
  for (uint32_t i = 0; i < table.variable_count; ++i)
    extents.objects.push_back(
        {table.variables[i].name, reinterpret_cast<uint64_t>(table.variables[i].address), table.variables[i].size});
  extents.follow_all_reads = follow_all_reads;
  AccessCheck check(std::move(extents));
  LaunchOptions launch;
  launch.check = &check;
  const LaunchOutcome outcome = image.run_with(launch, "k", geometry, in, out, kCount);
  EXPECT_TRUE(outcome.ok()) << outcome.detail;
  return {check.findings(), check.not_checked()};
}

/// What is found. To follow all reads shows no more, unless they are asked for.
inline std::vector<AccessFinding> findings_of(const std::string& source, Geometry geometry = grid(2, 128),
                                              const LowerOptions& wanted = {}) {
  Checked first = run_checked(source, geometry, wanted, false), all = run_checked(source, geometry, wanted, true);
  EXPECT_EQ(all.not_checked, "");
  if (!first.not_checked.empty()) return all.findings;
  EXPECT_EQ(first.findings.size(), all.findings.size()) << source;
  for (size_t i = 0; i < std::min(first.findings.size(), all.findings.size()); ++i)
    EXPECT_EQ(first.findings[i].text(), all.findings[i].text());
  return first.findings;
}

inline std::string text_of(const std::vector<AccessFinding>& findings) {
  std::string text;
  for (auto& finding : findings) text += finding.text() + "\n";
  return text;
}

inline void expect_nothing(const std::string& source, Geometry geometry = grid(2, 128)) {
  for (bool fibers : {false, true}) {
    LowerOptions options;
    options.force_fibers = fibers;
    EXPECT_EQ(text_of(findings_of(source, geometry, options)), "") << (fibers ? "on fibers" : "") << source;
  }
}

/// In both ways to run it, something of that kind about that object is found; what it reads too early may be found to
/// be uninitialised, too.
inline AccessFinding expect_found(FindingKind kind, const std::string& object, const std::string& source,
                                  Geometry geometry = grid(2, 128)) {
  AccessFinding found;
  for (bool fibers : {true, false}) {
    LowerOptions options;
    options.force_fibers = fibers;
    bool any = false;
    const std::vector<AccessFinding> findings = findings_of(source, geometry, options);
    for (auto& finding : findings) {
      EXPECT_TRUE(finding.kind == kind || finding.kind == FindingKind::Uninitialised) << finding.text();
      if (finding.kind == kind && finding.object == object) found = finding, any = true;
    }
    EXPECT_TRUE(any) << (fibers ? "on fibers: " : "") << text_of(findings) << source;
  }
  return found;
}

}  // namespace kernelift::cpu
