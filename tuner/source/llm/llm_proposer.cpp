// See llm_proposer.h.
#include "tuner/source/llm/llm_proposer.h"

#include <chrono>
#include <cstdio>

#include "core/base/file.h"
#include "tuner/source/llm/answer_edits.h"
#include "tuner/source/llm/prompt.h"

namespace kernelift::tuner {
namespace {

constexpr int kPatience = 3;  ///< Failed calls in a row after which the model is not called again.
constexpr size_t kShownAttempts = 12;
constexpr size_t kBases = 3;  ///< Number of best sources that ideas start from, the least used first.
constexpr size_t kShownDiagnostics = 3000;

/// The model can repair the candidate: its text is at fault, not the machine.
bool repairable(const Verdict& verdict) {
  return verdict.outcome == Outcome::CompileFailed || verdict.outcome == Outcome::Refused ||
         verdict.outcome == Outcome::OverResources;
}

std::string one_line(const Verdict& verdict) {
  std::string text = verdict.text();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text.substr(0, 240);
}

/// Facts about a candidate's image and results for the prompt, one a line.
std::string facts_of(const Verdict& verdict) {
  std::string text;
  auto add = [&](const char* what, const auto& value) {
    if (!value) return;
    char line[160];
    std::snprintf(line, sizeof line, "%s: %.6g\n", what, static_cast<double>(*value));
    text += line;
  };
  const KernelResources& resources = verdict.resources;
  add("registers per thread", resources.registers);
  add("bytes of local memory per thread", resources.local_bytes);
  add("bytes of spilled registers stored and loaded", verdict.image.spill_bytes);
  add("bytes of shared memory per block", resources.shared_bytes);
  add("threads per block", resources.threads);
  add("occupancy", resources.occupancy);
  add("bytes of machine code", verdict.image.code_bytes);
  add("units in the last place that results are from the reference, at most", verdict.largest_ulps);
  if (verdict.by_clang) add("speedup with clang as the only compiler", std::optional(verdict.by_clang->speedup));
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<std::unique_ptr<LlmProposer>> LlmProposer::create(const Mep& mep, LlmOptions options) {
  KERNELIFT_ASSIGN(ChatModel model, ChatModel::open(options.spec, options.limits));
  std::unique_ptr<LlmProposer> proposer(new LlmProposer(mep, std::move(options), std::move(model)));
  auto& folder = proposer->options_.prompts;
  KERNELIFT_ASSIGN(proposer->system_,
                   fill_prompt(folder, "system", {{"language", mep.language == "hip" ? "HIP C++" : "CUDA C++"}}));
  for (auto* name : {"optimise", "repair"})
    KERNELIFT_TRY([&]() -> Status {
      KERNELIFT_ASSIGN(std::string text, read_text(folder / (std::string(name) + ".txt")));
      return done();
    }());
  return proposer;
}

LlmProposer::LlmProposer(const Mep& mep, LlmOptions options, ChatModel model)
    : mep_(mep), options_(std::move(options)), model_(std::move(model)) {
  // A state that cannot be read is ignored, and counting starts at 0.
  if (Json spent = Json::parse(options_.spent, nullptr, false); spent.is_object())
    if (auto known = reading("what the model has cost",
                             [&] {
                               return Spent{spent.value("calls", 0), spent.value("repairs", 0),
                                            spent.value("tokens", int64_t{0}), spent.value("seconds", 0.0)};
                             });
        known.ok())
      spent_ = *known;
  transcript_ = spent_.calls + spent_.repairs;
}

LlmProposer::~LlmProposer() {
  stop_ = true;
  if (calling_.valid()) calling_.wait();
}

std::string LlmProposer::attempts(const History& history) const {
  std::string text;
  size_t shown = 0;
  for (auto trial = history.end(); trial != history.begin() && shown < kShownAttempts;)
    if ((--trial)->candidate.tier == "source")
      text.insert(0, "- " + trial->candidate.note() + ": " + one_line(trial->verdict) + "\n"), ++shown;
  return text.empty() ? "none" : text;
}

Result<LlmProposer::Talk> LlmProposer::new_talk(const History& history) const {
  const RunTrial* base = nullptr;
  auto uses = [&](const RunTrial* trial) {
    auto found = uses_.find(trial->id);
    return found == uses_.end() ? 0 : found->second;
  };
  for (auto* trial : history.best_sources(kBases))
    if (!base || uses(trial) < uses(base)) base = trial;
  if (!base) return answer_is_no("no working source to start from");
  std::string geometry, parameters, facts;
  for (auto& instance : mep_.instances)
    geometry += instance.geometry.text() + ", " + std::to_string(instance.geometry.shared_bytes) + " bytes shared, " +
                std::to_string(static_cast<int>(instance.weight * 100)) + " % of the kernel's time\n";
  for (auto& parameter : mep_.parameters) parameters += "- " + parameter.type + " " + parameter.name + "\n";
  facts = one_line(base->verdict) + "\n";
  facts += facts_of(base->verdict);
  for (auto& [name, value] : base->candidate.values) facts += name + " = " + std::to_string(value) + "\n";
  Talk talk{base->id, base->candidate, {}, 0};
  KERNELIFT_ASSIGN(std::string prompt,
                   fill_prompt(options_.prompts, "optimise",
                               {{"kernel", mep_.kernel_name},
                                {"device", options_.device},
                                {"geometry", geometry},
                                {"parameters", parameters},
                                {"facts", facts},
                                {"profile", options_.profile.empty() ? "not known" : options_.profile},
                                {"history", attempts(history)},
                                {"parent", base->candidate.note()},
                                {"source", base->candidate.source}}));
  talk.messages.push_back({false, prompt});
  return talk;
}

bool LlmProposer::affordable(bool for_repair) {
  std::string spent;
  if (spent_.tokens >= options_.most_tokens) spent = "tokens";
  else if (spent_.seconds >= options_.most_seconds) spent = "waiting time";
  else if (!for_repair && spent_.calls >= options_.most_calls) spent = "calls";
  else if (for_repair) return spent_.repairs < options_.most_repairs;
  if (spent.empty()) return true;
  gave_up_ = true;
  notes_.push_back("the model's budget of " + spent + " is spent; going on without it");
  return false;
}

void LlmProposer::call(Talk talk, const std::string& kind) {
  ++(kind == "repair" ? spent_.repairs : spent_.calls), ++called_;
  save();
  calling_ = std::async(std::launch::async, [this, talk = std::move(talk), kind]() mutable {
    auto begin = std::chrono::steady_clock::now();
    auto answer = model_.ask(system_, talk.messages, stop_);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return Called{std::move(talk), std::move(answer), seconds, kind};
  });
}

void LlmProposer::save() {
  if (!options_.save_spent) return;
  options_.save_spent(
      Json{{"calls", spent_.calls}, {"repairs", spent_.repairs}, {"tokens", spent_.tokens}, {"seconds", spent_.seconds}}
          .dump());
}

void LlmProposer::write_transcript(const Called& called) {
  Json messages = Json::array();
  for (auto& message : called.talk.messages)
    messages.push_back({{"role", message.from_model ? "assistant" : "user"}, {"text", message.text}});
  Json transcript{{"kind", called.kind},          {"model", options_.spec.model}, {"url", options_.spec.url},
                  {"parent", called.talk.parent}, {"seconds", called.seconds},    {"system", system_},
                  {"messages", messages}};
  if (called.answer.ok()) {
    transcript["answer"] = called.answer->text;
    transcript["input_tokens"] = called.answer->input_tokens,
    transcript["output_tokens"] = called.answer->output_tokens;
    transcript["cut_off"] = called.answer->cut_off, transcript["refused"] = called.answer->refused;
  } else {
    transcript["error"] = called.answer.error().message;
  }
  char name[64];
  std::snprintf(name, sizeof name, "%04d-%s.json", ++transcript_, called.kind.c_str());
  std::string text = transcript.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (auto written = write_atomically(options_.transcripts / name, std::string_view(text)); !written.ok())
    notes_.push_back("a transcript could not be kept: " + written.error().message);
}

void LlmProposer::repair(Talk talk, const std::string& complaint) {
  if (talk.repairs >= options_.repairs_per_idea) {
    notes_.push_back("an idea was dropped after " + std::to_string(talk.repairs) +
                     " repairs: " + first_line(complaint));
    return;
  }
  to_repair_.emplace_back(std::move(talk), complaint);
}

std::optional<Proposal> LlmProposer::take_answer() {
  Called called = calling_.get();
  spent_.seconds += called.seconds;
  write_transcript(called);
  if (called.answer.ok()) spent_.tokens += called.answer->input_tokens + called.answer->output_tokens;
  save();
  if (!called.answer.ok() || called.answer->refused) {
    if (stop_) return std::nullopt;
    notes_.push_back(called.answer.ok() ? "the model refused to answer: " + first_line(called.answer->text)
                                        : "no answer: " + called.answer.error().message);
    if (++failures_ >= kPatience) {
      gave_up_ = true;
      notes_.push_back("the model is not called again after " + std::to_string(failures_) +
                       " failed calls; going on without it");
    }
    return std::nullopt;
  }
  failures_ = 0, ++answered_;
  Talk talk = std::move(called.talk);
  // Servers refuse an empty message, and some refuse two consecutive messages of one side.
  const std::string& text = called.answer->text;
  talk.messages.push_back({true, text.find_first_not_of(" \t\r\n") == text.npos ? "(no answer)" : text});
  auto edits = apply_answer(talk.base, text, mep_.kernel_name, called.answer->cut_off);
  if (!edits.candidate) {
    notes_.push_back("an answer could not be applied: " + first_line(edits.complaint));
    repair(std::move(talk), edits.complaint);
    return std::nullopt;
  }
  Proposal proposal{std::move(*edits.candidate), {talk.parent}};
  proposal.candidate.tier = tier(), proposal.candidate.reset_recipe();
  proposal.candidate.proposer = "llm/" + options_.spec.model;
  proposal.candidate.add_step({.origin = Step::Origin::Model,
                               .rule = options_.spec.model,
                               .summary = edits.idea.empty() ? "(no idea stated)" : edits.idea});
  ++proposed_;
  asked_.emplace(proposal.candidate.key(), std::move(talk));
  return proposal;
}

std::vector<Proposal> LlmProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> proposals;
  if (calling_.valid() && calling_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    if (auto proposal = take_answer()) proposals.push_back(std::move(*proposal));
  if (calling_.valid() || gave_up_) return proposals;
  while (!to_repair_.empty()) {
    auto [talk, complaint] = std::move(to_repair_.front());
    to_repair_.pop_front();
    if (!affordable(true)) continue;
    auto prompt = fill_prompt(options_.prompts, "repair", {{"complaint", complaint}, {"source", talk.base.source}});
    if (!prompt.ok()) {
      notes_.push_back(prompt.error().message);
      continue;
    }
    ++talk.repairs;
    talk.messages.push_back({false, *prompt});
    call(std::move(talk), "repair");
    return proposals;
  }
  if (gave_up_ || !affordable(false)) return proposals;
  auto talk = new_talk(history);
  if (!talk.ok()) {
    notes_.push_back(talk.error().message);
    gave_up_ = true;
    return proposals;
  }
  ++uses_[talk->parent];
  call(std::move(*talk), "optimise");
  return proposals;
}

void LlmProposer::learn(const RunTrial& trial) {
  auto asked = asked_.find(trial.candidate.key());
  if (asked == asked_.end()) return;
  Talk talk = std::move(asked->second);
  asked_.erase(asked);
  if (repairable(trial.verdict))
    repair(std::move(talk), "The edits applied, but the result was rejected (" +
                                std::string(kernelift::name(trial.verdict.outcome)) + "):\n" +
                                trial.verdict.detail.substr(0, kShownDiagnostics));
}

bool LlmProposer::waiting() const { return calling_.valid() || (!gave_up_ && !to_repair_.empty()); }

std::vector<std::string> LlmProposer::take_notes() { return std::exchange(notes_, {}); }

std::string LlmProposer::closing_note() const {
  if (called_ == 0) return {};
  return "the model was asked " + std::to_string(called_) + " times and answered " + std::to_string(answered_) + "; " +
         std::to_string(proposed_) + " candidates came of it, for " + std::to_string(spent_.tokens) + " tokens in all" +
         (calling_.valid() ? "; the last answer had not come yet" : "");
}

}  // namespace kernelift::tuner
