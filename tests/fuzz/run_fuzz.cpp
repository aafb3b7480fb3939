// A run database with damaged bytes: opening, reading, ranking and exporting it give values or errors.
#include "core/base/file.h"
#include "tests/fuzz/fuzz.h"
#include "tuner/store/export.h"
#include "tuner/store/run.h"

using namespace kernelift;

namespace {

struct Sound {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fuzz"));
  std::string bytes;

  Sound() {
    auto file = folder.path() / "sound.klrun";
    {
      tuner::RunMeta meta;
      meta.mep = "/meps/k", meta.mep_hash = "abc", meta.kernel = "k<3>", meta.device = "cpu", meta.tiers = {"params"};
      auto run = std::move(*tuner::Run::create(file, meta));
      for (int64_t block = 32; block <= 256; block *= 2) {
        Candidate candidate;
        candidate.source = "__global__ void k() {}\n", candidate.tier = block == 32 ? "baseline" : "params";
        candidate.values = {{"B", block}};
        Verdict verdict;
        verdict.outcome = block == 128 ? Outcome::Wrong : Outcome::Ok;
        (void)run.record(candidate, verdict, {}, 1);
      }
    }
    bytes = fuzz::content(file);
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Sound sound;
  auto file = sound.folder.path() / "damaged.klrun";
  for (auto* suffix : {"-wal", "-shm", "-journal"}) std::filesystem::remove(file.string() + suffix);
  fuzz::put(file, fuzz::damaged(sound.bytes, {reinterpret_cast<const char*>(data), size}));
  auto run = tuner::Run::open(file);
  if (!run.ok()) {
    fuzz::require(!run.error().message.empty(), "an error has a sentence");
    return 0;
  }
  (void)run->history(), (void)run->baseline(), (void)run->best(), (void)run->best(true), (void)run->kernel();
  for (auto* format : {"t4", "cachefile", "json"}) (void)tuner::export_run(*run, format);
  return 0;
}
