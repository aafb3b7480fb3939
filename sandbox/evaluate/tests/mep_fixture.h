// Small MEPs made in memory for the tests: a kernel's text, buffers at addresses of the CPU device's arena, and the
// answer computed here on the host.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/model/mep.h"
#include "core/tests/slot_folder.h"

namespace kernelift::sandbox {

/// Builds one MEP folder; removed with this object.
class MepFixture {
 public:
  explicit MepFixture(std::string source, std::string mangled, std::string key) {
    mep.kernel_mangled = std::move(mangled), mep.kernel_key = mep.kernel_name = std::move(key);
    mep.kernel_id = "test", mep.slice_mode = "slice", mep.captured_on = "cpu";
    set_source(source);
  }
  void set_source(const std::string& source) { (void)write_atomically(path() / "kernel.cu", source); }

  MepInstance& add_instance(const std::string& id, uint32_t blocks, uint32_t threads) {
    MepInstance instance;
    instance.id = id;
    instance.geometry.grid.x = blocks, instance.geometry.block.x = threads;
    mep.instances.push_back(std::move(instance));
    return mep.instances.back();
  }

  /// A buffer of `before` that becomes `after`, passed as the next pointer argument; `constant`: to what is const.
  template <class T>
  void add_buffer(MepInstance& instance, const std::string& name, const std::string& element, uint64_t address,
                  const std::vector<T>& before, const std::vector<T>& after, bool constant = false) {
    MepRegion region;
    region.address = address, region.size = before.size() * sizeof(T);
    region.parameter = static_cast<int>(instance.parameters.size());
    region.element = element, region.reached_from = Origin::of_argument(size_t(region.parameter));
    region.before = *Mep::store(path(), std::as_bytes(std::span<const T>(before)));
    region.after = *Mep::store(path(), std::as_bytes(std::span<const T>(after)));
    instance.regions.push_back(region);
    add_argument(instance, address);
    if (mep.parameters.size() < instance.parameters.size())
      mep.parameters.push_back({name, element + "*", element, constant, {}});
  }

  template <class T>
  void add_argument(MepInstance& instance, T value, const std::string& name = "") {
    size_t offset = (instance.arguments.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    instance.arguments.resize(offset + sizeof(T));
    std::memcpy(&instance.arguments[offset], &value, sizeof(T));
    instance.parameters.push_back({static_cast<uint32_t>(offset), sizeof(T)});
    if (!name.empty() && mep.parameters.size() < instance.parameters.size())
      mep.parameters.push_back({name, "", "", false, "int"});
  }

  template <class T>
  void add_variable(MepInstance& instance, const std::string& mangled, const std::string& key,
                    const std::string& element, bool constant, const std::vector<T>& before,
                    const std::vector<T>& after) {
    MepVariable variable;
    variable.name = mangled, variable.key = variable.spelling = key, variable.element = element;
    variable.constant = constant, variable.size = before.size() * sizeof(T);
    variable.before = *Mep::store(path(), std::as_bytes(std::span<const T>(before)));
    variable.after = *Mep::store(path(), std::as_bytes(std::span<const T>(after)));
    instance.variables.push_back(variable);
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  Mep mep;

 private:
  SlotFolder folder_;
};

inline constexpr uint64_t kTestArena = 0x200000000000;

/// out[i] = in[i] * factor + bias over n floats, with a bounds check; `bias` is a __constant__ variable.
inline const char* const kScaleSource =
    "__constant__ float bias;\n"
    "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) out[i] = in[i] * factor + bias;\n"
    "}\n";

inline void add_scale_instance(MepFixture& fixture, const std::string& id, int n, float factor, bool held_out = false) {
  std::vector<float> in(n), before(n, -1.0f), after(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 1000) * 0.5f - 100.0f, after[i] = in[i] * factor + 2.0f;
  MepInstance& instance = fixture.add_instance(id, (n + 127) / 128, 128);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, n, "n");
  fixture.add_argument(instance, factor, "factor");
  fixture.add_variable<float>(instance, "bias", "bias", "float", true, {2.0f}, {2.0f});
  instance.held_out = held_out;
}

inline MepFixture scale_mep(int n = 1000) {
  MepFixture fixture(kScaleSource, "_Z5scalePKfPfif", "scale(float const*, float*, int, float)");
  add_scale_instance(fixture, "a", n, 3.0f);
  add_scale_instance(fixture, "b", n / 2 + 1, -0.25f, true);
  return fixture;
}

}  // namespace kernelift::sandbox
