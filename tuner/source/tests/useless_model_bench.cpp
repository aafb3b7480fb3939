// What a model costs a search that answers nonsense, hostile text or nothing: the same search with and without it, on
// loopback, in turns.
//   build/<preset>/bin/useless_model_bench [seconds [pairs]]
// Limit: 2 % fewer candidates judged in the same time. Candidates take as long as small kernels on a GPU; those of the
// model are not counted. Beside the ratio stands what the loop spent in the model's proposer, which is exact where the
// ratio is noisy.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tuner/source/llm/llm_proposer.h"
#include "tuner/source/tests/model_server.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPlaces = 4;
constexpr auto kVerdict = std::chrono::milliseconds(16);  ///< Four places: 250 candidates a second.
constexpr auto kHang = std::chrono::milliseconds(500);    ///< After which a candidate is ended.

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A search that never ends.
class Numbers : public Proposer {
 public:
  std::string name() const override { return "numbers"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t) override {
    Candidate candidate = history.baseline()->candidate;
    candidate.source += "// " + std::to_string(++last_) + "\n", candidate.tier = tier(), candidate.proposer = name();
    return {{std::move(candidate), {history.baseline()->id}}};
  }

 private:
  int last_ = 0;
};

struct Held {
  double all = 0, longest = 0;
};

/// Measures how long the loop is in a proposer.
class Timed : public Proposer {
 public:
  Timed(std::unique_ptr<Proposer> of, Held& held) : of_(std::move(of)), held_(held) {}
  std::string name() const override { return of_->name(); }
  std::string tier() const override { return of_->tier(); }
  bool in_background() const override { return of_->in_background(); }
  std::vector<Proposal> propose(const History& history, size_t count) override {
    const auto begin = Clock::now();
    auto proposals = of_->propose(history, count);
    note(begin);
    return proposals;
  }
  void learn(const RunTrial& trial) override {
    const auto begin = Clock::now();
    of_->learn(trial);
    note(begin);
  }
  bool waiting() const override { return of_->waiting(); }
  void when_idle() override { of_->when_idle(); }
  std::vector<std::string> take_notes() override { return of_->take_notes(); }
  std::string closing_note() const override { return of_->closing_note(); }

 private:
  void note(Clock::time_point begin) {
    const double seconds = seconds_since(begin);
    held_.all += seconds, held_.longest = std::max(held_.longest, seconds);
  }
  std::unique_ptr<Proposer> of_;
  Held& held_;
};

Evaluation judged(const Candidate& candidate) {
  if (candidate.source.find("for (;;)") != std::string::npos) {
    std::this_thread::sleep_for(kHang);
    return fake_failure(Outcome::TimedOut);
  }
  return candidate.proposer.starts_with("llm/") ? fake_failure(Outcome::CompileFailed) : fake_ok(1);
}

struct Searched {
  size_t judged = 0;
  std::string note;
};

Searched search(const MepFolder& mep, double seconds, const std::string& url, Held& held) {
  auto folder = *TemporaryFolder::create("useless");
  RunMeta meta;
  meta.mep_hash = *hash_mep(mep.folder.path(), mep.mep);
  auto run = Run::create(folder.path() / "k-1.klrun", meta);
  KERNELIFT_ASSERT(run.ok(), "the run can be created");
  std::vector<std::unique_ptr<Proposer>> proposers;
  proposers.push_back(std::make_unique<Numbers>());
  if (!url.empty()) {
    LlmOptions options;
    options.specs = {*ModelSpec::parse("openai:" + url + ",m")};
    options.prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
    options.transcripts = folder.path() / "transcripts", options.findings = folder.path() / "findings.md";
    options.limits.first_pause = 0.05;
    options.state.keep = [&](const std::string& key, const std::string& value) { (void)run->put_state(key, value); };
    auto model = LlmProposer::create(mep.mep, options);
    KERNELIFT_ASSERT(model.ok(), "the model can be opened");
    proposers.push_back(std::make_unique<Timed>(*std::move(model), held));
  }
  FakeEvaluator evaluator(judged, kPlaces, kVerdict);
  TuneOptions tuning;
  tuning.seconds = seconds;
  auto report = tune(mep.mep, mep.folder.path(), evaluator, *run, std::move(proposers), tuning);
  KERNELIFT_ASSERT(report.ok(), "the search can be made");
  auto trials = *run->history();
  const auto own = std::ranges::count_if(trials, [](auto& one) { return one.candidate.proposer == "numbers"; });
  return {static_cast<size_t>(own), report->notes.empty() ? "" : report->notes[0]};
}

std::string edit(const std::string& to) {
  return "IDEA: it\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U 1\n" + to + "\n>>>>>>> REPLACE\n";
}

std::vector<Scripted> many(const std::function<std::string(int)>& text) {
  std::vector<Scripted> script;
  for (int number = 0; number < 64; ++number) script.push_back({200, text(number)});
  return script;
}

std::string repeated(const std::string& text, size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += text;
  return all;
}

struct Kind {
  const char* name;
  std::vector<Scripted> script;
};

std::vector<Kind> kinds() {
  const std::string block = edit("// x\n");
  std::string constants, few_constants, blocks;
  for (int i = 0; i < 250; ++i)
    few_constants += "#define A" + std::to_string(i) + " 1\n__device__ int a" + std::to_string(i) + "[A" +
                     std::to_string(i) + "];\n";
  few_constants += repeated("// and much more\n", 100 << 10);
  for (int i = 0; i < 60000; ++i) constants += "#define A" + std::to_string(i) + " 1\n";
  for (int i = 0; i < 20000; ++i) blocks += "<<<<<<< SEARCH\n#define B 64\n=======\n#define B 64\n>>>>>>> REPLACE\n";
  return {
      {"nothing", {{200, ""}}},
      {"nonsense", {{200, repeated("The weather is nice. ", 4000)}}},
      {"ten megabytes", {{200, repeated("for (int i = 0; i < n; ++i) data[i] += 1;\n", 10 << 20)}}},
      {"a SEARCH of eight megabytes",
       {{200, "<<<<<<< SEARCH\n" + repeated("float x = 1;\n", 8 << 20) + "=======\n>>>>>>> REPLACE\n"}}},
      {"20 000 edits", {{200, blocks}}},
      {"60 000 constants", {{200, edit(constants)}}},
      {"250 constants, 100 KiB", {{200, edit(few_constants)}}},
      {"a line of 100 KiB", {{200, edit(repeated("const int x, ", 100 << 10))}}},
      {"a space of 10^30",
       {{200, edit("#define V 1  // kernelift: tune V in 1..1000000000\n"
                   "#define W 1  // kernelift: tune W in 1..1000000000 where V * W % 7 == 1\n")}}},
      {"brackets", {{200, "", std::string(4 << 20, '[')}}},
      {"an error each time", {{500, "", "{}"}}},
      {"half a reply, then silence", {{200, repeated("x", 4000), "", 0, 0, true}}},
      {"what does not compile", many([](int n) { return edit("int wrong" + std::to_string(n) + "() { return }"); })},
      {"what never ends", many([](int n) { return edit("// " + std::to_string(n) + "\n// for (;;)"); })}};
}

int run(double seconds, int pairs) {
  MepFolder mep;
  std::string text = *read_text(mep.folder.path() / "kernel.cu");
  for (int line = 0; line < 60; ++line)
    text += "__device__ float f" + std::to_string(line) + "(float x) { return x * " + std::to_string(line) + "; }\n";
  KERNELIFT_ASSERT(write_atomically(mep.folder.path() / "kernel.cu", std::string_view(text)).ok(), "it can be written");
  std::printf("%-28s judged with / without   in the proposer   longest   asked\n", "answers");
  bool within = true;
  for (auto& [name, script] : kinds()) {
    std::vector<double> ratios;
    Held held;
    size_t asked = 0;
    for (int pair = 0; pair < pairs; ++pair) {
      ModelServer server(script);
      Held none;
      // Each comes first in turn.
      size_t without = pair % 2 ? search(mep, seconds, "", none).judged : 0;
      const size_t with = search(mep, seconds, server.url(), held).judged;
      if (!without) without = search(mep, seconds, "", none).judged;
      ratios.push_back(double(with) / double(without));
      asked += server.requests.size();
    }
    std::ranges::sort(ratios);
    const double middle = ratios[ratios.size() / 2], share = held.all / (seconds * pairs);
    within &= middle >= 0.98;
    std::printf("%-28s %21.3f %15.3f %% %6.1f ms %7.1f\n", name, middle, 100 * share, 1e3 * held.longest,
                double(asked) / pairs);
    std::fflush(stdout);
  }
  return within ? 0 : 1;
}

}  // namespace
}  // namespace kernelift::tuner

int main(int count, char** arguments) {
  return kernelift::tuner::run(count > 1 ? std::atof(arguments[1]) : 10, count > 2 ? std::atoi(arguments[2]) : 3);
}
