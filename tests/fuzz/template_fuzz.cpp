// Any text as a template: an error has a sentence; a candidate compiles at values that are declared, is launched as its
// declarations say, and its text without declarations declares nothing.
#include "core/model/candidate/tune_declarations.h"
#include "core/model/launch_values.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/space/kernel_template.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Mep mep = [] {
    Mep made;
    made.kernel_name = "k";
    made.parameters = {{"data", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
    Knob block;
    block.name = "B", block.value = 64, block.is_macro = block.in_kernel = block.in_geometry = true;
    made.knobs = {block};
    LaunchSite site;
    site.grid[0] = *Expression::parse("(n + B - 1) / B"), site.block[0] = *Expression::parse("B");
    for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = Expression::constant(1);
    site.argument_text = {"data", "n"};
    made.launches = {site};
    MepInstance instance;
    instance.id = "i0", instance.geometry = {{16, 1, 1}, {64, 1, 1}};
    instance.arguments.resize(12), instance.arguments[9] = std::byte{4};  // n = 1024
    instance.parameters = {{0, 8}, {8, 4}};
    made.instances = {instance};
    return made;
  }();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string bare = without_declarations(text, "");
  auto left = TuneDeclarations::parse(bare);
  fuzz::require(left.ok() && left->empty(), "a text without declarations declares nothing");
  fuzz::require(without_declarations(text, text) == text, "what the original declares stays");
  auto made = tuner::candidate_of_template(mep, "#define B 64\n__global__ void k(float*, int) {}\n", text, "t.cu");
  if (!made.ok()) {
    fuzz::require(!made.error().message.empty(), "an error has a sentence");
    return 0;
  }
  auto declared = TuneDeclarations::parse(text);
  fuzz::require(declared.ok(), "a candidate comes of legible declarations only");
  for (auto& parameter : declared->parameters) {
    auto value = made->values.find(parameter.name);
    fuzz::require(value != made->values.end(), "every parameter has a value");
    bool known = false;
    for (int64_t one : parameter.values) known |= one == value->second;
    fuzz::require(known, "a parameter has a declared value");
  }
  if (!made->launches.empty())
    fuzz::require(
        made->launches[0].evaluate(mep.instances[0].geometry, with_arguments(mep, mep.instances[0], made->values)).ok(),
        "the launch has a size for the recorded one");
  return 0;
}
