// A launch `k<<<grid, block, shared>>>(n)` in a file of its own, and what edit_launch() makes of it.
#pragma once
#include <string>
#include <vector>

#include "core/tests/expression_literal.h"
#include "reintegrate/patch/launch/launch_edit.h"

namespace kernelift::reintegrate {

struct Launch {
  std::string source;
  Mep mep;
  LaunchSite site;
  CandidateLaunch launch = CandidateLaunch::as_recorded("k");
  Bindings values, changed;
  LaunchGuard guard;

  Launch(const std::string& grid, const std::string& block, const std::string& shared = "") {
    source = "void f(int n) { k<<<" + grid + ", " + block + (shared.empty() ? "" : ", " + shared) + ">>>(n); }\n";
    source += "// " + std::string(200, '-') + "\n";  // In a file with such lines none is broken.
    site.kernels = {"id"};
    site.range = {"f.cu", 16, source.find("; }"), 1, 1};
    size_t g = source.find("<<<") + 3, b = g + grid.size() + 2;
    site.grid_range = {"f.cu", g, g + grid.size(), 1, 1};
    site.block_range = {"f.cu", b, b + block.size(), 1, 1};
    site.argument_text = {"n", "m"};
    site.grid[0] = "(n + 63) / 64"_e, site.grid[1] = "(m + 1) / 2"_e, site.grid[2] = "1"_e;
    site.block[0] = "64"_e, site.block[1] = "2"_e, site.block[2] = "1"_e;
    if (!shared.empty()) site.shared_range = {"f.cu", b + block.size() + 2, b + block.size() + 2 + shared.size(), 1, 1};
    MepInstance instance;
    instance.geometry = {{8, 4, 1}, {64, 2, 1}, 256, false};
    mep.instances = {instance};
  }
  void grid(const char* x) { launch.grid[0] = *Expression::parse(x); }
  void block(const char* x) { launch.block[0] = *Expression::parse(x); }

  std::vector<std::string> notes() {
    auto edits = edit_launch(mep, site, launch, values, changed, source);
    return edits.ok() ? edits->notes : std::vector{edits.error().message};
  }
  std::string result() {
    auto edits = edit_launch(mep, site, launch, values, changed, source, false, guard);
    if (!edits.ok()) return "refused: " + edits.error().message;
    std::string text = source;
    for (auto edit = edits->edits.rbegin(); edit != edits->edits.rend(); ++edit)
      text.replace(edit->begin, edit->end - edit->begin, edit->text);
    size_t begin = text.find("<<<");
    return text.substr(begin, text.find(">>>") + 3 - begin);
  }
};

}  // namespace kernelift::reintegrate
