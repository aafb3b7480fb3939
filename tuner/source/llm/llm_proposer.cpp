// See llm_proposer.h.
#include "tuner/source/llm/llm_proposer.h"

#include <algorithm>
#include <cstdio>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"
#include "core/base/words.h"
#include "tuner/source/llm/answer_edits.h"
#include "tuner/source/llm/idea_prompt.h"
#include "tuner/source/llm/mechanical_fix.h"
#include "tuner/source/llm/prompt.h"
#include "tuner/source/llm/providers/transcript_model.h"
#include "tuner/source/llm/rejection.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

constexpr int kPatience = 3;       ///< Failed calls in a row after which a model is not called again.
constexpr int kMostRepeats = 6;    ///< The same for answers that repeat earlier candidates.
constexpr int kMostUnusable = 12;  ///< The same for answers of which nothing can be made.
constexpr int kMostBarren = 2;     ///< Answers in a row without a hypothesis that is worth its cost.
constexpr size_t kMostCards = 4;   ///< Hypotheses that are asked for at a time.
constexpr size_t kQuotedFindings = 24;
constexpr int kFindingsPause = 30;          ///< Times as long as writing the findings took, they are not written again.
constexpr size_t kRepeatedAnswer = 60'000;  ///< Bytes of a model's own answer that a repair sends back to it.
constexpr size_t kShownLine = 240;
constexpr int kMostFixes = 3;    ///< Mechanical ones of an idea, beside the repairs by the model.
constexpr int kAdaptations = 5;  ///< Requests that a call may take to find the form that a server accepts.
/// Share of its roof from which on a kernel counts as done, and beyond which the roof is not its roof any more, since
/// it does less work.
constexpr double kDone = 0.92, kBeyond = 1.1;
/// A candidate whose verdict is not there after this time was abandoned, or could not be judged.
constexpr auto kToBeJudged = std::chrono::seconds(120);

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// An answer that has edits, or tries to.
bool speaks_in_edits(const std::string& answer) {
  return answer.find("<<<<<") != answer.npos || answer.find("```") != answer.npos || answer.find("~~~") != answer.npos;
}

}  // namespace

Result<std::unique_ptr<LlmProposer>> LlmProposer::create(const Mep& mep, LlmOptions options) {
  KERNELIFT_ASSERT(!options.specs.empty(), "a model is named");
  std::vector<Asked> models;
  for (auto& spec : options.specs) {
    KERNELIFT_ASSIGN(auto model, options.open(spec, options.limits));
    models.push_back({spec, spec.shown() + "," + spec.model, std::move(model)});
    if (!options.prices) continue;
    KERNELIFT_ASSIGN(models.back().price, options.prices->price(spec));
  }
  std::optional<FindingsFile> file;
  if (!options.findings.empty()) {
    KERNELIFT_ASSIGN(file, FindingsFile::read(options.findings));
  }
  std::unique_ptr<LlmProposer> proposer(new LlmProposer(mep, std::move(options), std::move(models)));
  proposer->file_ = std::move(file);
  auto& folder = proposer->options_.prompts;
  KERNELIFT_ASSIGN(proposer->system_,
                   fill_prompt(folder, "system", {{"language", mep.language == "hip" ? "HIP C++" : "CUDA C++"}}));
  KERNELIFT_TRY(check_prompts(folder));
  return proposer;
}

LlmProposer::LlmProposer(const Mep& mep, LlmOptions options, std::vector<Asked> models)
    : mep_(mep),
      options_(std::move(options)),
      models_(std::move(models)),
      population_(options_.seed),
      transcripts_(options_.transcripts),
      log_(options_.state),
      board_(options_.state) {
  spent_ = ModelUse::read(options_.state);
  if (options_.prices) spent_.currency = options_.prices->currency();
  answers_ = AnswerRecord::read(options_.state);
}

LlmProposer::~LlmProposer() {
  keep_findings();
  if (calling_.empty()) return;
  spent_ = used();
  stop_ = true;
  // What has come by now is of no use to this run, but it was asked for.
  for (auto& call : std::exchange(calling_, {})) count(call.called.get());
}

void LlmProposer::count(const Called& called) {
  write_transcript(called);
  const Talk& talk = called.talk;
  spent_.calls += called.reply.requests - 1;  // One was counted when the call began.
  reserved_ -= called.reserved;
  models_[talk.model].calling -= 1;
  int64_t tokens = 0;
  if (auto& answer = called.reply.answer; answer.ok()) {
    tokens = answer->input_tokens + answer->output_tokens;
    spent_.money += models_[talk.model].price.of(answer->input_tokens, answer->output_tokens);
  }
  spent_.tokens += tokens;
  Hypothesis* card = board_.find(talk.card);
  if (LoggedCall* call = log_.find(talk.call)) {
    call->seconds = called.seconds, call->tokens = tokens;
    if (card && card->requests == 0) call->seconds += card->seconds, call->tokens += card->tokens;
    log_.keep(*call);
  }
  if (card) {
    card->requests += std::max(1, called.reply.requests), card->tokens += tokens, card->seconds += called.seconds;
    // It was not carried out: another call may.
    if (!called.reply.answer.ok() && card->candidate.empty()) card->asked = false;
    board_.keep(*card);
  }
  save();
}

void LlmProposer::follow(const History& history) {
  const bool first = followed_ == 0;
  if (first) board_.reopen_unjudged(history);
  if (followed_ == history.size() && !first) return;
  for (auto trial = history.begin() + static_cast<std::ptrdiff_t>(followed_); trial != history.end(); ++trial) {
    const Hypothesis* card = nullptr;
    if (by_model(trial->candidate)) card = board_.find(log_.card_of(trial->candidate.key().hex()));
    population_.add(*trial, card ? std::optional(card->family) : std::nullopt);
  }
  followed_ = history.size();
  tell_findings(history, !first);
}

void LlmProposer::tell_findings(const History& history, bool aloud) {
  auto in_work = [&](int64_t card) {
    auto of_card = [&](const Talk& talk) { return talk.card == card; };
    return std::ranges::any_of(calling_, of_card, &Calling::talk) ||
           std::ranges::any_of(to_repair_, [&](auto& waiting) { return of_card(waiting.first); });
  };
  held_.clear();
  for (auto& finding : board_.findings(history)) {
    if (in_work(finding.hypothesis.number)) continue;
    ++held_[tuner::name(finding.conclusion)];
    Told& told = told_[finding.hypothesis.number];
    if (told.trial == finding.trial && told.why == finding.why) continue;
    told = {finding.trial, finding.why}, findings_to_keep_ = true;
    if (aloud) notes_.push_back(finding.text());
  }
  // The whole file is written, so that a long one is written less often; the run's database has all of it meanwhile.
  if (Clock::now() >= keep_findings_at_) keep_findings();
}

void LlmProposer::keep_findings() {
  if (!findings_to_keep_ || options_.findings.empty()) return;
  const auto begin = Clock::now();
  findings_to_keep_ = false;
  auto kept = FindingsFile::update(options_.findings, mep_.kernel_name, options_.run, board_.known_findings());
  if (kept.ok()) file_ = *std::move(kept);
  else note_once("the findings could not be kept: " + kept.error().message);
  keep_findings_at_ = Clock::now() + kFindingsPause * (Clock::now() - begin);
}

std::set<int64_t> LlmProposer::busy() const {
  std::set<int64_t> ids;
  for (auto& call : calling_)
    if (call.talk.card == 0) ids.insert(call.talk.parent);
  for (auto& [key, talk] : asked_)
    if (talk.card == 0 && Clock::now() - talk.proposed < kToBeJudged) ids.insert(talk.parent);
  return ids;
}

std::vector<std::string> LlmProposer::relevant_findings(const RunTrial& base, const History& history) const {
  std::vector<std::string> lines;
  const auto& own = board_.findings(history);
  for (auto finding = own.rbegin(); finding != own.rend() && lines.size() < kQuotedFindings; ++finding)
    lines.push_back(finding->text());
  if (file_) {
    const std::string device = history.baseline() ? history.baseline()->verdict.device : "";
    for (auto& section : file_->relevant(device, population_.family_of_trial(base.id), options_.run))
      lines.push_back(section.in_one_line());
  }
  lines.resize(std::min(lines.size(), kQuotedFindings));
  return lines;
}

std::optional<LlmProposer::Talk> LlmProposer::talk_of(size_t model, PromptKind kind, const RunTrial& base,
                                                      const Hypothesis* card, const History& history) {
  Talk talk;
  talk.model = model, talk.kind = kind, talk.parent = base.id, talk.base = base.candidate;
  if (card) talk.card = card->number;
  PromptSubject subject{
      mep_, history, base, options_.profile, options_.tolerance, answers_.unusable, relevant_findings(base, history)};
  auto prompt =
      idea_prompt(options_.prompts, subject, {kind, card, kMostCards, population_}, options_.prompt_characters);
  if (!prompt.ok()) {
    give_up(prompt.error().message);
    return std::nullopt;
  }
  talk.messages = {{false, *std::move(prompt)}};
  return talk;
}

std::optional<LlmProposer::Talk> LlmProposer::new_talk(const History& history) {
  auto parent = population_.choose_parent(log_.ideas(), busy());
  const Hypothesis* card = board_.best_open(history);
  auto gains = [](auto& member) { return member.speedup > kSmallestGain; };
  const bool partners = parent && std::ranges::any_of(population_.inspirations(*parent, kPartners), gains);
  std::vector<double> hopes;  // By arm.
  auto hope = [](bool able) { return able ? kFreshHope : 0; };
  std::vector<std::string> keys;
  for (size_t model = 0; model < models_.size(); ++model) {
    const bool is_free = models_[model].is_free();
    keys.push_back(models_[model].key);
    // What is recorded decides what is asked, so that a replay gives the same run.
    if (auto recorded = is_free && models_[model].calling == 0 ? models_[model].model->next_recorded() : std::nullopt) {
      auto known = Hash::from_hex(recorded->base);
      const RunTrial* base = known ? history.by_key(*known) : nullptr;
      if (recorded->of_original) base = history.baseline();
      if (!base && parent) base = history.find(parent->id);
      const Hypothesis* wanted = board_.find(recorded->card);
      if (!wanted || !wanted->open()) wanted = card;
      if (recorded->kind == "write" && wanted)
        return talk_of(model, PromptKind::Hypotheses, *history.find(wanted->base), wanted, history);
      const PromptKind kind = recorded->kind == tuner::name(PromptKind::Hypotheses) ? PromptKind::Hypotheses
                              : recorded->kind == tuner::name(PromptKind::Combine)  ? PromptKind::Combine
                                                                                    : PromptKind::Optimise;
      if (base) return talk_of(model, kind, *base, nullptr, history);
    }
    hopes.push_back(is_free && card ? std::max(kFreshHope, board_.expected(*card, history))
                                    : hope(is_free && parent.has_value()));
    hopes.push_back(hope(is_free && parent.has_value()));
    hopes.push_back(hope(is_free && partners));
  }
  if (std::ranges::all_of(hopes, [](double hope) { return hope == 0; })) return std::nullopt;
  const size_t arm = choose_arm(log_.calls(keys, history), hopes);
  const auto kind = static_cast<PromptKind>(arm % kPromptKinds);
  if (kind != PromptKind::Hypotheses) card = nullptr;
  return talk_of(arm / kPromptKinds, kind, *history.find(card ? card->base : parent->id), card, history);
}

ModelUse LlmProposer::used() const {
  ModelUse use = spent_;
  if (!calling_.empty()) use.seconds += std::chrono::duration<double>(Clock::now() - calling_since_).count();
  return use;
}

std::string LlmProposer::spending() const { return spent_.calls > 0 ? "models " + spent_.brief() : ""; }

size_t LlmProposer::parallelism() const {
  size_t sum = 0;
  for (auto& asked : models_)
    if (!asked.gave_up) sum += asked.model->parallelism();
  return sum;
}

size_t LlmProposer::ideas_out() const {
  return calling_.size() + static_cast<size_t>(std::ranges::count_if(
                               asked_, [](auto& asked) { return Clock::now() - asked.second.proposed < kToBeJudged; }));
}

void LlmProposer::give_up(const std::string& why) {
  gave_up_ = why;
  notes_.push_back(why + "; going on without it");
}

void LlmProposer::give_up_on(Asked& asked, const std::string& why) {
  asked.gave_up = true;
  const auto model = static_cast<size_t>(&asked - models_.data());
  for (auto& [talk, complaint] : to_repair_)
    if (talk.model == model) drop_card(talk, why);
  std::erase_if(to_repair_, [&](auto& waiting) { return waiting.first.model == model; });
  const bool last = std::ranges::all_of(models_, &Asked::gave_up);
  if (last) return give_up(why);
  notes_.push_back(asked.spec.model + ": " + why + "; going on with the others");
}

void LlmProposer::note_once(const std::string& note) {
  if (noted_.insert(note).second) notes_.push_back(note);
}

std::string LlmProposer::enough(const History& history) const {
  char text[200];
  const RunTrial* best = history.best_applicable();
  const double share = best ? options_.roof_share * best->verdict.speedup_low() : 0;
  if (share >= kDone && share <= kBeyond) {
    std::snprintf(text, sizeof text, "enough: the best candidate is at %.0f %% of the kernel's nearest roof (%s)",
                  100 * share, options_.roof.c_str());
    return text;
  }
  if (answers_.barren < kMostBarren || board_.best_open(history)) return {};
  std::snprintf(text, sizeof text, "enough: the %zu hypotheses that are open promise %.1f %% in all", board_.open(),
                100 * (board_.expected_of_open(history) - 1));
  return text;
}

bool LlmProposer::affordable(const History& history) {
  if (!gave_up_.empty()) return false;
  if (std::string spent = used().exhausted(options_); !spent.empty()) give_up("the model's budget of " + spent);
  else if (std::string why = enough(history); !why.empty()) give_up(why);
  return gave_up_.empty() && spent_.calls + reserved_ < options_.most_calls;
}

void LlmProposer::call(Talk talk, const std::string& kind) {
  ++(kind == "repair" ? counts_.repairs : counts_.ideas), ++spent_.calls;
  Asked& asked = models_[talk.model];
  const LoggedCall& logged = log_.begin({0, talk.idea, asked.key, talk.kind, talk.parent, talk.card});
  talk.call = logged.number, talk.idea = logged.idea;
  if (Hypothesis* card = board_.find(talk.card); card && !card->asked) {
    card->asked = true;
    board_.keep(*card);
  }
  save();
  const int64_t others = options_.most_calls - spent_.calls - reserved_;
  const auto reserved = static_cast<int>(std::clamp<int64_t>(others, 0, options_.limits.attempts - 1 + kAdaptations));
  const CallLimits limits{1 + reserved, options_.most_seconds - used().seconds};
  if (calling_.empty()) calling_since_ = Clock::now();
  reserved_ += reserved, ++asked.calling;
  ModelRequest request{kind, system_, talk.messages};
  Talk noted = talk;
  noted.messages.clear(), noted.base = {};
  auto ask = [this, &model = *asked.model, talk = std::move(talk), request = std::move(request), limits,
              reserved]() mutable {
    auto begin = Clock::now();
    ModelReply reply = model.ask(request, limits, stop_);
    const double seconds = reply.seconds.value_or(std::chrono::duration<double>(Clock::now() - begin).count());
    return Called{std::move(talk), std::move(request), std::move(reply), seconds, reserved};
  };
  calling_.push_back({std::move(noted), std::async(std::launch::async, std::move(ask))});
}

void LlmProposer::save() { used().keep(options_.state); }

void LlmProposer::write_transcript(const Called& called) {
  Json transcript = transcript_json(called.request, called.reply.answer);
  const ModelSpec& spec = models_[called.talk.model].spec;
  transcript["model"] = spec.model, transcript["url"] = spec.shown();
  transcript["parent"] = called.talk.parent, transcript["seconds"] = called.seconds;
  transcript["base"] = called.talk.base.key().hex(), transcript["card"] = called.talk.card;
  transcript["requests"] = called.reply.requests;
  if (auto kept = transcripts_.keep(called.request.kind, transcript); !kept.ok())
    notes_.push_back("a transcript could not be kept: " + kept.error().message);
}

void LlmProposer::drop_card(const Talk& talk, const std::string& why) {
  Hypothesis* card = board_.find(talk.card);
  if (!card || !card->candidate.empty()) return;
  card->dropped = first_line(why);
  board_.keep(*card);
}

void LlmProposer::repair(Talk talk, const std::string& complaint) {
  if (talk.repairs >= options_.repairs_per_idea) {
    notes_.push_back("an idea was dropped after " + counted(static_cast<size_t>(talk.repairs), "repair") + ": " +
                     first_line(complaint));
    return drop_card(talk, complaint);
  }
  if (!models_[talk.model].gave_up) to_repair_.emplace_back(std::move(talk), complaint);
}

std::optional<Proposal> LlmProposer::take_answer(Called called, const History& history) {
  count(called);
  Asked& asked = models_[called.talk.model];
  auto& answer = called.reply.answer;
  if (!answer.ok() || answer->refused) {
    if (stop_) return std::nullopt;
    notes_.push_back(answer.ok() ? "the model refused to answer: " + first_line(answer->text)
                                 : "no answer: " + answer.error().message);
    if (answer.ok()) drop_card(called.talk, "the model refused to carry it out");
    ++asked.failures;
    if (called.reply.final) give_up_on(asked, "the model cannot be called any more");
    else if (asked.failures >= kPatience)
      give_up_on(asked, "the model is not called again after " + std::to_string(asked.failures) + " failed calls");
    return std::nullopt;
  }
  asked.failures = 0, ++counts_.answers;
  if (!answer->remark.empty()) note_once(answer->remark);
  Talk talk = std::move(called.talk);
  // Servers refuse an empty message, and some refuse two consecutive messages of one side.
  const std::string& text = answer->text;
  talk.messages.push_back({true, text.find_first_not_of(" \t\r\n") == text.npos
                                     ? "(no answer)"
                                     : std::string(whole_characters(text, kRepeatedAnswer))});
  if (talk.asks_for_cards() && answer->called_tool.empty()) {
    const auto cards = read_cards(text, kMostCards);
    if (!cards.hypotheses.empty()) {
      take_cards(talk, cards, *answer, called.seconds, history);
      return std::nullopt;
    }
    if (!speaks_in_edits(text)) {
      const char* const cut =
          answer->cut_off ? " It was cut off at the token limit: think less, answer with less." : "";
      take_unusable(std::move(talk), "hypotheses", cards.complaint + cut);
      return std::nullopt;
    }
  }
  return candidate_of(std::move(talk), *answer, history);
}

void LlmProposer::take_cards(const Talk& talk, const Cards& cards, const ChatAnswer& answer, double seconds,
                             const History& history) {
  Asked& asked = models_[talk.model];
  answers_.streaks[asked.key].unusable = 0;
  if (LoggedCall* call = log_.find(talk.call)) {
    call->cards = static_cast<int64_t>(cards.hypotheses.size());
    log_.keep(*call);
  }
  if (!cards.complaint.empty()) notes_.push_back("of the hypotheses some were left out: " + cards.complaint);
  const auto count = static_cast<int64_t>(cards.hypotheses.size());
  size_t taken = 0;
  for (Hypothesis card : cards.hypotheses) {
    card.base = talk.parent, card.model = asked.spec.model;
    // What they cost together is shared.
    card.tokens = (answer.input_tokens + answer.output_tokens) / count, card.seconds = seconds / double(count);
    if (const int64_t number = board_.add(card)) {
      ++taken;
      notes_.push_back("hypothesis " + std::to_string(number) + ": " + card.change + " (" + card.prediction() + ")");
    }
  }
  if (taken < cards.hypotheses.size())
    notes_.push_back(counted(cards.hypotheses.size() - taken, "hypothesis") + " repeated earlier ones");
  answers_.barren = board_.best_open(history) ? 0 : answers_.barren + 1;
  answers_.keep(options_.state);
}

void LlmProposer::take_unusable(Talk talk, const std::string& idea, const std::string& complaint) {
  const std::string why = first_line(complaint);
  notes_.push_back("an answer could not be applied: " + why);
  answers_.add_unusable((idea.empty() ? "(no idea stated)" : shown_line(idea, kShownLine)) +
                        ": could not be applied: " + why);
  Asked& asked = models_[talk.model];
  const int streak = ++answers_.streaks[asked.key].unusable;
  answers_.keep(options_.state);
  if (streak >= kMostUnusable) {
    drop_card(talk, why);
    return give_up_on(asked, "the model is not called again after " + std::to_string(streak) +
                                 " answers in a row of which nothing could be made");
  }
  repair(std::move(talk), complaint);
}

std::optional<Proposal> LlmProposer::candidate_of(Talk talk, const ChatAnswer& answer, const History& history) {
  Asked& asked = models_[talk.model];
  auto edits = apply_answer(mep_, talk.base, answer.text, answer.cut_off);
  if (!edits.candidate && !answer.called_tool.empty())
    edits.complaint = "You called the tool '" + shown_line(answer.called_tool, kShownLine) +
                      "'. There are no tools here: answer in text, in the form that was described.";
  if (!edits.candidate) {
    take_unusable(std::move(talk), edits.idea, edits.complaint);
    return std::nullopt;
  }
  answers_.streaks[asked.key].unusable = 0;
  Hypothesis* card = board_.find(talk.card);
  std::string summary = edits.idea.empty() ? "(no idea stated)" : edits.idea;
  if (edits.idea.empty() && card) summary = card->change;
  Proposal proposal{std::move(*edits.candidate), {talk.parent}};
  proposal.candidate.tier = tier(), proposal.candidate.reset_recipe();
  proposal.candidate.proposer = "llm/" + asked.spec.model;
  proposal.candidate.add_step({.origin = Step::Origin::Model, .rule = asked.spec.model, .summary = summary});
  const Hash key = proposal.candidate.key();
  if (const RunTrial* known = history.by_key(key)) {
    take_repeated(std::move(talk), "candidate " + shown_trial(*known));
    return std::nullopt;
  }
  if (!proposed_.insert(key).second) {
    take_repeated(std::move(talk), "a candidate that is still being judged");
    return std::nullopt;
  }
  answers_.streaks[asked.key].repeats = 0;
  answers_.keep(options_.state);
  return offer(std::move(talk), std::move(proposal));
}

Proposal LlmProposer::offer(Talk talk, Proposal proposal) {
  const Hash key = proposal.candidate.key();
  ++counts_.candidates;
  if (LoggedCall* call = log_.find(talk.call)) {
    call->candidate = key.hex();
    log_.keep(*call);
  }
  if (Hypothesis* card = board_.find(talk.card)) {
    card->candidate = key.hex();
    board_.keep(*card);
  }
  talk.proposed = Clock::now();
  asked_.emplace(key, std::move(talk));
  return proposal;
}

void LlmProposer::take_repeated(Talk talk, const std::string& earlier) {
  ++counts_.repeated;
  notes_.push_back("an answer gives the same text and launch as " + earlier);
  Asked& asked = models_[talk.model];
  const int streak = ++answers_.streaks[asked.key].repeats;
  answers_.keep(options_.state);
  if (streak >= kMostRepeats) {
    drop_card(talk, "the text that was to carry it out was tried before");
    return give_up_on(asked, "the model is not called again after " + std::to_string(streak) +
                                 " answers in a row that repeat earlier ones");
  }
  repair(std::move(talk), "It gives exactly the same text and launch as " + earlier +
                              "\nNothing new would be measured. Propose another change of this source.");
}

bool LlmProposer::start_repair() {
  auto waiting = std::ranges::find_if(to_repair_, [&](auto& one) { return models_[one.first.model].is_free(); });
  if (waiting == to_repair_.end()) return false;
  auto [talk, complaint] = std::move(*waiting);
  to_repair_.erase(waiting);
  auto prompt = fill_prompt(
      options_.prompts, talk.asks_for_cards() ? "repair_hypotheses" : "repair",
      {{"complaint", complaint}, {"own_launch", launch_of(talk.base, mep_)}, {"source", as_data(talk.base.source)}});
  if (!prompt.ok()) {
    give_up(prompt.error().message);
    return false;
  }
  ++talk.repairs;
  talk.messages.push_back({false, *std::move(prompt)});
  call(std::move(talk), "repair");
  return true;
}

bool LlmProposer::start_idea(const History& history) {
  if (ideas_out() >= parallelism()) return false;
  auto talk = new_talk(history);
  if (!talk) return false;
  const std::string kind = talk->card ? "write" : tuner::name(talk->kind);
  call(std::move(*talk), kind);
  return true;
}

std::vector<Proposal> LlmProposer::propose(const History& history, size_t count) {
  follow(history);
  std::vector<Proposal> proposals;
  for (; !fixed_.empty() && proposals.size() < count; fixed_.pop_front())
    proposals.push_back(offer(std::move(fixed_.front().first), std::move(fixed_.front().second)));
  for (auto call = calling_.begin(); call != calling_.end() && proposals.size() < count;) {
    if (call->called.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++call;
      continue;
    }
    Called called = call->called.get();
    if (calling_.size() == 1) spent_ = used();
    call = calling_.erase(call);
    if (auto proposal = take_answer(std::move(called), history)) proposals.push_back(std::move(*proposal));
  }
  while (affordable(history) && (start_repair() || start_idea(history))) {}
  if (proposals.size() < count)
    if (auto made = crossing_.next(population_, history)) proposals.push_back(*std::move(made));
  return proposals;
}

void LlmProposer::learn(const RunTrial& trial) {
  auto asked = asked_.find(trial.candidate.key());
  if (asked == asked_.end()) return;
  Talk talk = std::move(asked->second);
  asked_.erase(asked);
  const Verdict& verdict = trial.verdict;
  if (verdict.ok()) ++counts_.right, counts_.faster += verdict.gains();
  if (auto fix = mechanical_fix(trial.candidate, verdict, talk.base);
      fix && talk.fixes < kMostFixes && proposed_.insert(fix->candidate.key()).second) {
    ++talk.fixes;
    notes_.push_back("fixed without the model: " + fix->what);
    fix->candidate.steps.back().summary += " (fixed: " + fix->what + ")";
    Proposal proposal{std::move(fix->candidate), {talk.parent}};
    fixed_.emplace_back(std::move(talk), std::move(proposal));
    return;
  }
  if (talk.repairs >= repairs_allowed(verdict, options_.repairs_per_idea)) return;
  repair(std::move(talk), rejection(verdict, mep_, threads_along_x(trial.candidate, verdict, mep_)));
}

bool LlmProposer::waiting() const { return !calling_.empty() || (gave_up_.empty() && !to_repair_.empty()); }

std::vector<std::string> LlmProposer::take_notes() { return std::exchange(notes_, {}); }

std::string LlmProposer::closing_note() const {
  if (counts_.ideas + counts_.repairs == 0)
    return "the model was not asked: " +
           (gave_up_.empty() ? "there was no time for it, or nothing to start from, before the search was over"
                             : gave_up_);
  auto number = [](int64_t value) { return std::to_string(value); };
  std::string text = "the model was asked for " + counted(static_cast<size_t>(counts_.ideas), "idea") + " and " +
                     counted(static_cast<size_t>(counts_.repairs), "repair") + " and answered " +
                     number(counts_.answers) +
                     " times: " + counted(static_cast<size_t>(counts_.candidates), "new candidate") + ", of which " +
                     number(counts_.right) + " were right and " + number(counts_.faster) + " faster";
  if (counts_.repeated) text += "; " + number(counts_.repeated) + " answers repeated earlier candidates";
  text += ". Used in all: " + used().text(options_);
  if (!board_.all().empty()) {
    text += "; hypotheses: ";
    for (auto& [conclusion, count] : held_) text += std::to_string(count) + " " + conclusion + ", ";
    text += std::to_string(board_.open()) + " open";
  }
  if (!gave_up_.empty()) text += "; not asked any more: " + gave_up_;
  if (!calling_.empty()) text += "; the last answer had not come yet";
  return text;
}

}  // namespace kernelift::tuner
