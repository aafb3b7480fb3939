// A MEP whose mep.json is damaged, or is any text: read() gives a MEP that can be written again, or a sentence.
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/model/mep.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

namespace {

struct Sound {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fuzz"));
  std::string text;

  Sound() {
    std::vector<std::byte> bytes(1000, std::byte{7});
    std::string file = *Mep::store(folder.path(), bytes);
    Mep mep;
    mep.kernel_key = "k(float*, int)", mep.kernel_name = "k", mep.kernel_mangled = "_Z1kPfi",
    mep.kernel_id = "0badcafe";
    mep.parameters = {{"data", "T *", "float", false, ""}, {"n", "int", "", false, "int"}};
    mep.slice_mode = "slice", mep.proven = true, mep.unit = "k.cu";
    LaunchSite site;
    site.kernels = {"0badcafe"}, site.range = {"k.cu", 5, 50, 3, 4};
    site.grid[0] = *Expression::parse("(n + BLOCK - 1) / BLOCK"), site.block[0] = *Expression::parse("BLOCK");
    mep.launches = {site};
    mep.knobs = {{"BLOCK", 128, {"k.cu", 9, 12, 1, 1}, true, true, true, {"0badcafe"}}};
    MepInstance instance;
    instance.id = "i-0", instance.geometry = {{8, 1, 1}, {128, 1, 1}, 0, false};
    instance.arguments.assign(12, std::byte{3}), instance.parameters = {{0, 8}, {8, 4}};
    instance.regions = {{0x7f00, 1000, MemoryKind::Device, file, file, Origin::of_argument(0), 0, "float"}};
    mep.instances = {instance};
    mep.captured_on = "cpu", mep.app_root = "/app";
    fuzz::require(mep.write(folder.path()).ok(), "the sound MEP is written");
    text = fuzz::content(folder.path() / "mep.json");
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Sound sound;
  if (size < 1) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
  fuzz::put(sound.folder.path() / "mep.json", data[0] & 1 ? fuzz::damaged(sound.text, rest) : std::string(rest));
  auto mep = Mep::read(sound.folder.path());
  if (!mep.ok()) {
    fuzz::require(!mep.error().message.empty(), "an error has a sentence");
    return 0;
  }
  for (auto& instance : mep->instances)
    for (auto& region : instance.regions) (void)Mep::load(sound.folder.path(), region.before);
  static const TemporaryFolder other = std::move(*TemporaryFolder::create("kernelift-fuzz"));
  fuzz::require(mep->write(other.path()).ok(), "what was read can be written");
  fuzz::require(Mep::read(other.path()).ok(), "what was written can be read");
  return 0;
}
