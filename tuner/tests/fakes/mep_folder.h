// A MEP folder with the parts that the tuner reads: mep.json and the kernel's text, with two knobs and one recorded
// instance.
#pragma once
#include <cstdlib>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/model/mep.h"
#include "core/tests/expression_literal.h"

namespace kernelift::tuner {

/// Lets this process create its temporary folders in memory, if possible: a run is synced to disk at every verdict,
/// which would take most of a loop test's time. The store's own tests stay on the disk.
struct FoldersInMemory {
  FoldersInMemory() {
    if (std::filesystem::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);
  }
};

struct MepFolder {
  FoldersInMemory in_memory;
  TemporaryFolder folder = *TemporaryFolder::create("mep");
  Mep mep;

  MepFolder() {
    mep.kernel_name = "k";
    mep.kernel_key = "k(float*, int)";
    mep.parameters = {{"data", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
    LaunchSite site;
    site.grid[0] = "(n + B - 1) / B"_e, site.block[0] = "B"_e;
    for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = "1"_e;
    mep.launches = {site};
    Knob block, unroll;
    block.name = "B", block.value = 64, block.is_macro = block.in_kernel = block.in_geometry = true;
    unroll.name = "U", unroll.value = 1, unroll.is_macro = unroll.in_kernel = true;
    mep.knobs = {block, unroll};
    MepInstance instance;
    instance.id = "i0", instance.geometry = {{16, 1, 1}, {64, 1, 1}};
    mep.instances = {instance};
    bool written =
        write_atomically(folder.path() / "mep.json", std::string_view("{}")).ok() &&
        write_atomically(folder.path() / "kernel.cu",
                         std::string_view("#define B 64\n#define U 1\n__global__ void k(float* data, int n) {}\n"))
            .ok();
    KERNELIFT_ASSERT(written, "the temporary folder can be written");
  }
};

}  // namespace kernelift::tuner
