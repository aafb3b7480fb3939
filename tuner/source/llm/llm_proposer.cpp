// See llm_proposer.h.
#include "tuner/source/llm/llm_proposer.h"

#include <algorithm>
#include <cstdio>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"
#include "core/base/words.h"
#include "core/model/launch_values.h"
#include "tuner/source/llm/answer_edits.h"
#include "tuner/source/llm/prompt.h"
#include "tuner/source/llm/prompt_facts.h"
#include "tuner/source/llm/providers/transcript_model.h"
#include "tuner/source/llm/rejection.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

constexpr int kPatience = 3;                ///< Failed calls in a row after which the model is not called again.
constexpr int kMostRepeats = 6;             ///< The same for answers that repeat earlier candidates.
constexpr size_t kBases = 3;                ///< Number of best sources that ideas start from, the least used first.
constexpr size_t kRepeatedAnswer = 60'000;  ///< Bytes of a model's own answer that a repair sends back to it.
constexpr size_t kShownLine = 240;
constexpr double kShortestCall = 0.05;  ///< Seconds; no model answers sooner.
/// A candidate whose verdict is not there after this time was abandoned, or could not be judged.
constexpr auto kToBeJudged = std::chrono::seconds(120);

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string shown_verdict(const RunTrial& trial) {
  return "#" + std::to_string(trial.id) + " (" + trial.candidate.note() +
         "): " + std::string(whole_characters(trial.verdict.text(), kShownLine));
}

/// The highest number of a transcript in the folder.
int last_transcript(const fs::path& folder) {
  int last = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    last = std::max(last, std::atoi(at->path().filename().c_str()));
  return last;
}

}  // namespace

Result<std::unique_ptr<LlmProposer>> LlmProposer::create(const Mep& mep, LlmOptions options) {
  KERNELIFT_ASSIGN(auto model, open_model(options.spec, options.limits));
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

LlmProposer::LlmProposer(const Mep& mep, LlmOptions options, std::unique_ptr<LanguageModel> model)
    : mep_(mep), options_(std::move(options)), model_(std::move(model)) {
  // A state that cannot be read is ignored, and counting starts at 0. Repairs were counted apart once.
  if (Json spent = Json::parse(options_.spent, nullptr, false); spent.is_object())
    if (auto known = reading("what the model has cost",
                             [&] {
                               return Spent{spent.value("calls", int64_t{0}) + spent.value("repairs", int64_t{0}),
                                            spent.value("tokens", int64_t{0}), spent.value("seconds", 0.0)};
                             });
        known.ok())
      spent_ = *known;
  transcript_ = last_transcript(options_.transcripts);
}

LlmProposer::~LlmProposer() {
  if (calling_.empty()) return;
  spent_.seconds = seconds_spent();
  stop_ = true;
  // What has come by now is of no use to this run, but it was asked for.
  for (auto& [parent, call] : std::exchange(calling_, {})) count(call.get());
}

void LlmProposer::count(const Called& called) {
  write_transcript(called);
  spent_.calls += called.reply.requests - 1;  // One was counted when the call began.
  if (auto& answer = called.reply.answer; answer.ok()) spent_.tokens += answer->input_tokens + answer->output_tokens;
  save();
}

std::optional<LlmProposer::Talk> LlmProposer::new_talk(const History& history) {
  const RunTrial* base = nullptr;
  auto uses = [&](const RunTrial* trial) {
    auto found = uses_.find(trial->id);
    return found == uses_.end() ? 0 : found->second;
  };
  // One idea for each at a time: two prompts about one text would be answered alike.
  for (auto* trial : history.best_sources(kBases)) {
    const bool busy = std::ranges::any_of(calling_, [&](auto& call) { return call.first == trial->id; });
    if (!busy && (!base || uses(trial) < uses(base))) base = trial;
  }
  if (!base) return std::nullopt;
  PromptSubject subject{mep_, history, *base, options_.profile, options_.tolerance, unusable_};
  auto prompt = fill_prompt(options_.prompts, "optimise", prompt_facts(subject, options_.prompt_characters));
  if (!prompt.ok()) {
    give_up(prompt.error().message);
    return std::nullopt;
  }
  ++uses_[base->id];
  return Talk{base->id, base->candidate, {{false, *std::move(prompt)}}, 0, {}};
}

double LlmProposer::seconds_spent() const {
  if (calling_.empty()) return spent_.seconds;
  return spent_.seconds + std::chrono::duration<double>(Clock::now() - calling_since_).count();
}

size_t LlmProposer::ideas_out() const {
  return calling_.size() + static_cast<size_t>(std::ranges::count_if(
                               asked_, [](auto& asked) { return Clock::now() - asked.second.proposed < kToBeJudged; }));
}

void LlmProposer::give_up(const std::string& why) {
  gave_up_ = why;
  notes_.push_back(why + "; going on without it");
}

void LlmProposer::note_once(const std::string& note) {
  if (noted_.insert(note).second) notes_.push_back(note);
}

bool LlmProposer::affordable() {
  if (!gave_up_.empty()) return false;
  std::string spent;
  if (spent_.tokens >= options_.most_tokens) spent = "tokens is spent (--llm-tokens)";
  else if (options_.most_seconds - seconds_spent() < kShortestCall) spent = "waiting time is spent (--llm-seconds)";
  else if (spent_.calls >= options_.most_calls) spent = "calls is spent (--llm-calls)";
  if (!spent.empty()) give_up("the model's budget of " + spent);
  return spent.empty();
}

void LlmProposer::call(Talk talk, const std::string& kind) {
  ++(kind == "repair" ? counts_.repairs : counts_.ideas), ++spent_.calls;
  save();
  const CallLimits limits{static_cast<int>(std::min<int64_t>(options_.most_calls - spent_.calls + 1, 1000)),
                          options_.most_seconds - seconds_spent()};
  if (calling_.empty()) calling_since_ = Clock::now();
  const int64_t parent = talk.parent;
  ModelRequest request{kind, system_, talk.messages};
  auto ask = [this, talk = std::move(talk), request = std::move(request), limits]() mutable {
    auto begin = Clock::now();
    ModelReply reply = model_->ask(request, limits, stop_);
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return Called{std::move(talk), std::move(request), std::move(reply), seconds};
  };
  calling_.emplace_back(parent, std::async(std::launch::async, std::move(ask)));
}

void LlmProposer::save() {
  if (!options_.save_spent) return;
  options_.save_spent(Json{{"calls", spent_.calls}, {"tokens", spent_.tokens}, {"seconds", seconds_spent()}}.dump());
}

void LlmProposer::write_transcript(const Called& called) {
  Json transcript = transcript_json(called.request, called.reply.answer);
  transcript["model"] = options_.spec.model, transcript["url"] = options_.spec.shown();
  transcript["parent"] = called.talk.parent, transcript["seconds"] = called.seconds;
  transcript["requests"] = called.reply.requests;
  char name[64];
  std::snprintf(name, sizeof name, "%04d-%s.json", ++transcript_, called.request.kind.c_str());
  std::string text = json_without_secrets(transcript).dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
  if (auto written = write_atomically(options_.transcripts / name, std::string_view(text)); !written.ok())
    notes_.push_back("a transcript could not be kept: " + written.error().message);
}

void LlmProposer::repair(Talk talk, const std::string& complaint) {
  if (talk.repairs >= options_.repairs_per_idea) {
    notes_.push_back("an idea was dropped after " + counted(static_cast<size_t>(talk.repairs), "repair") + ": " +
                     first_line(complaint));
    return;
  }
  to_repair_.emplace_back(std::move(talk), complaint);
}

std::optional<Proposal> LlmProposer::take_answer(Called called, const History& history) {
  count(called);
  auto& answer = called.reply.answer;
  if (!answer.ok() || answer->refused) {
    if (stop_) return std::nullopt;
    notes_.push_back(answer.ok() ? "the model refused to answer: " + first_line(answer->text)
                                 : "no answer: " + answer.error().message);
    ++failures_;
    if (called.reply.final) give_up("the model cannot be called any more");
    else if (failures_ >= kPatience)
      give_up("the model is not called again after " + std::to_string(failures_) + " failed calls");
    return std::nullopt;
  }
  failures_ = 0, ++counts_.answers;
  if (!answer->remark.empty()) note_once(answer->remark);
  return candidate_of(std::move(called.talk), *answer, history);
}

std::optional<Proposal> LlmProposer::candidate_of(Talk talk, const ChatAnswer& answer, const History& history) {
  // Servers refuse an empty message, and some refuse two consecutive messages of one side.
  const std::string& text = answer.text;
  talk.messages.push_back({true, text.find_first_not_of(" \t\r\n") == text.npos
                                     ? "(no answer)"
                                     : std::string(whole_characters(text, kRepeatedAnswer))});
  auto edits = apply_answer(mep_, talk.base, text, answer.cut_off);
  if (!edits.candidate && !answer.called_tool.empty())
    edits.complaint = "You called the tool '" + shown_line(answer.called_tool, kShownLine) +
                      "'. There are no tools here: answer in text, in the form that was described.";
  if (!edits.candidate) {
    const std::string why = first_line(edits.complaint);
    notes_.push_back("an answer could not be applied: " + why);
    unusable_.push_back((edits.idea.empty() ? "(no idea stated)" : shown_line(edits.idea, kShownLine)) +
                        ": could not be applied: " + why);
    repair(std::move(talk), edits.complaint);
    return std::nullopt;
  }
  Proposal proposal{std::move(*edits.candidate), {talk.parent}};
  proposal.candidate.tier = tier(), proposal.candidate.reset_recipe();
  proposal.candidate.proposer = "llm/" + options_.spec.model;
  proposal.candidate.add_step({.origin = Step::Origin::Model,
                               .rule = options_.spec.model,
                               .summary = edits.idea.empty() ? "(no idea stated)" : edits.idea});
  const Hash key = proposal.candidate.key();
  if (const RunTrial* known = history.by_key(key)) {
    take_repeated(std::move(talk), "candidate " + shown_verdict(*known));
    return std::nullopt;
  }
  if (!proposed_.insert(key).second) {
    take_repeated(std::move(talk), "a candidate that is still being judged");
    return std::nullopt;
  }
  repeats_ = 0, ++counts_.candidates;
  talk.proposed = Clock::now();
  asked_.emplace(key, std::move(talk));
  return proposal;
}

void LlmProposer::take_repeated(Talk talk, const std::string& earlier) {
  ++counts_.repeated;
  notes_.push_back("an answer gives the same text and launch as " + earlier);
  if (++repeats_ >= kMostRepeats)
    return give_up("the model is not called again after " + std::to_string(repeats_) +
                   " answers in a row that repeat earlier ones");
  repair(std::move(talk), "It gives exactly the same text and launch as " + earlier +
                              "\nNothing new would be measured. Propose another change of this source.");
}

std::vector<Proposal> LlmProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> proposals;
  for (auto call = calling_.begin(); call != calling_.end() && proposals.size() < count;) {
    if (call->second.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++call;
      continue;
    }
    Called called = call->second.get();
    if (calling_.size() == 1) spent_.seconds = seconds_spent();
    call = calling_.erase(call);
    if (auto proposal = take_answer(std::move(called), history)) proposals.push_back(std::move(*proposal));
  }
  while (calling_.size() < model_->parallelism() && affordable()) {
    if (to_repair_.empty()) {
      if (ideas_out() >= model_->parallelism()) break;
      auto talk = new_talk(history);
      if (!talk) break;
      call(std::move(*talk), "optimise");
      continue;
    }
    auto [talk, complaint] = std::move(to_repair_.front());
    to_repair_.pop_front();
    auto prompt = fill_prompt(
        options_.prompts, "repair",
        {{"complaint", complaint}, {"own_launch", launch_of(talk.base, mep_)}, {"source", as_data(talk.base.source)}});
    if (!prompt.ok()) {
      give_up(prompt.error().message);
      break;
    }
    ++talk.repairs;
    talk.messages.push_back({false, *std::move(prompt)});
    call(std::move(talk), "repair");
  }
  return proposals;
}

void LlmProposer::learn(const RunTrial& trial) {
  auto asked = asked_.find(trial.candidate.key());
  if (asked == asked_.end()) return;
  Talk talk = std::move(asked->second);
  asked_.erase(asked);
  const Verdict& verdict = trial.verdict;
  if (verdict.ok()) ++counts_.right, counts_.faster += verdict.speedup_low() > kSmallestGain;
  if (talk.repairs >= repairs_allowed(verdict, options_.repairs_per_idea)) return;
  uint64_t block = 0;
  for (auto& instance : mep_.instances) {
    if (instance.id != verdict.instance) continue;
    block = instance.geometry.block.x;
    if (trial.candidate.launches.empty()) continue;
    auto made =
        trial.candidate.launches[0].evaluate(instance.geometry, with_arguments(mep_, instance, trial.candidate.values));
    if (made.ok()) block = made->block.x;
  }
  repair(std::move(talk), rejection(verdict, mep_, block));
}

bool LlmProposer::waiting() const { return !calling_.empty() || (gave_up_.empty() && !to_repair_.empty()); }

std::vector<std::string> LlmProposer::take_notes() { return std::exchange(notes_, {}); }

std::string LlmProposer::closing_note() const {
  if (counts_.ideas + counts_.repairs == 0)
    return "the model was not asked: " +
           (gave_up_.empty() ? "there was no time for it, or nothing to start from, before the search was over"
                             : gave_up_);
  auto number = [](int64_t value) { return std::to_string(value); };
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, "%.0f of %.0f s", seconds_spent(), options_.most_seconds);
  std::string text = "the model was asked for " + counted(static_cast<size_t>(counts_.ideas), "idea") + " and " +
                     counted(static_cast<size_t>(counts_.repairs), "repair") + " and answered " +
                     number(counts_.answers) +
                     " times: " + counted(static_cast<size_t>(counts_.candidates), "new candidate") + ", of which " +
                     number(counts_.right) + " were right and " + number(counts_.faster) + " faster";
  if (counts_.repeated) text += "; " + number(counts_.repeated) + " answers repeated earlier candidates";
  text += ". Used in all: " + number(spent_.calls) + " of " + number(options_.most_calls) + " requests, " +
          number(spent_.tokens) + " of " + number(options_.most_tokens) + " tokens, " + seconds;
  if (!calling_.empty()) text += "; the last answer had not come yet";
  return text;
}

}  // namespace kernelift::tuner
