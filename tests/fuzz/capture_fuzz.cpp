// A capture whose manifest or blobs are damaged: open() and load() give the bytes that were recorded, or an error. An
// image is never another one than what was stored.
#include "core/base/file.h"
#include "core/model/capture.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

namespace {

struct Sound {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fuzz"));
  std::vector<std::byte> before = std::vector<std::byte>(5000, std::byte{7}), after = before;
  std::vector<std::pair<std::string, std::string>> files;

  Sound() {
    after[100] = std::byte{9};
    auto writer = std::move(*CaptureWriter::create(folder.path()));
    CapturedInstance instance;
    instance.id = "a-0", instance.kernel = "k(float*, int)", instance.mangled = "_Z1kPfi";
    instance.geometry = {{4, 1, 1}, {32, 1, 1}, 0, false};
    instance.arguments = std::vector<std::byte>(12), instance.parameters = {{0, 8}, {8, 4}};
    CapturedRegion region;
    region.address = 0x7f1234567000, region.reached_from = Origin::of_argument(0);
    region.before = *writer->store(before), region.after = *writer->store(after, &region.before);
    instance.regions.push_back(region);
    fuzz::require(writer->finish_instance(instance).ok(), "the sound capture is written");
    CaptureInfo info;
    info.device = "cpu", info.complete = true, info.command = {"./app"};
    info.shares["a-0"] = {1, 10, false, {1, 10, 10, 10}};
    fuzz::require(writer->finish(info).ok(), "the sound capture is written");
    writer.reset();
    for (auto& entry : std::filesystem::directory_iterator(folder.path()))
      if (entry.is_regular_file()) files.emplace_back(entry.path(), fuzz::content(entry.path()));
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Sound sound;
  if (size < 1) return 0;
  auto& [file, text] = sound.files[data[0] % sound.files.size()];
  fuzz::put(file, fuzz::damaged(text, {reinterpret_cast<const char*>(data + 1), size - 1}));
  if (auto capture = Capture::open(sound.folder.path()); capture.ok()) {
    for (auto& instance : capture->instances())
      for (auto& region : instance.regions)
        for (auto* image : {&region.before, &region.after})
          if (auto bytes = capture->load(*image); bytes.ok() && bytes->size() == sound.before.size())
            fuzz::require(*bytes == sound.before || *bytes == sound.after, "an image is one that was stored");
  } else {
    fuzz::require(!capture.error().message.empty(), "an error has a sentence");
  }
  fuzz::put(file, text);
  return 0;
}
