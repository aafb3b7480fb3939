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
constexpr int kOfAHang = 6;    ///< Useless answers for which a candidate counts that keeps the judge waiting.
constexpr int kMostFixes = 3;  ///< Mechanical ones of an idea, beside the repairs by the model.
/// Share of its roof from which on a kernel counts as done, and beyond which the roof is not its roof any more, since
/// it does less work.
constexpr double kDone = 0.92, kBeyond = 1.1;
/// A candidate whose verdict is not there after this time was abandoned, or could not be judged.
constexpr auto kToBeJudged = std::chrono::seconds(120);

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// An answer that has cards, or tries to; models put them into fences, too.
bool speaks_in_cards(const std::string& answer) {
  return answer.starts_with("CARD") || answer.find("\nCARD") != answer.npos;
}

/// An answer that has edits, or tries to.
bool speaks_in_edits(const std::string& answer) {
  return answer.find("<<<<<") != answer.npos || answer.find("```") != answer.npos || answer.find("~~~") != answer.npos;
}

}  // namespace

Result<std::unique_ptr<LlmProposer>> LlmProposer::create(const Mep& mep, LlmOptions options) {
  KERNELIFT_ASSIGN(auto calls, ModelCalls::open(options));
  return create(mep, std::move(options), std::move(calls));
}

Result<std::unique_ptr<LlmProposer>> LlmProposer::create(const Mep& mep, LlmOptions options,
                                                         std::shared_ptr<ModelCalls> calls) {
  std::optional<FindingsFile> file;
  if (!options.findings.empty()) {
    KERNELIFT_ASSIGN(file, FindingsFile::read(options.findings));
  }
  std::unique_ptr<LlmProposer> proposer(new LlmProposer(mep, std::move(options), std::move(calls)));
  proposer->file_ = std::move(file);
  auto& folder = proposer->options_.prompts;
  KERNELIFT_ASSIGN(proposer->system_, system_prompt(folder, mep));
  KERNELIFT_TRY(check_prompts(folder));
  return proposer;
}

LlmProposer::LlmProposer(const Mep& mep, LlmOptions options, std::shared_ptr<ModelCalls> calls)
    : mep_(mep),
      options_(std::move(options)),
      calls_(std::move(calls)),
      failures_(calls_->count()),
      population_(options_.seed),
      log_(options_.state),
      board_(options_.state),
      answers_(AnswerRecord::read(options_.state)) {}

LlmProposer::~LlmProposer() {
  keep_findings();
  // What has come by now is of no use to this run, but it was asked for.
  for (auto& [call, talk] : talking_) count(talk, calls_->end(call, notes_));
}

void LlmProposer::count(const Talk& talk, const AnsweredCall& answered) {
  Hypothesis* card = board_.find(talk.card);
  if (LoggedCall* call = log_.find(talk.call)) {
    call->seconds = answered.seconds, call->tokens = answered.tokens;
    if (card && card->requests == 0) call->seconds += card->seconds, call->tokens += card->tokens;
    log_.keep(*call);
  }
  if (!card) return;
  card->requests += std::max(1, answered.reply.requests);
  card->tokens += answered.tokens, card->seconds += answered.seconds;
  // It was not carried out: another call may.
  if (!answered.reply.answer.ok() && card->candidate.empty()) card->asked = false;
  board_.keep(*card);
}

void LlmProposer::follow(const History& history) {
  const bool first = followed_ == 0;
  if (first) board_.reopen_unjudged(history);
  for (auto trial = history.begin() + static_cast<std::ptrdiff_t>(followed_); trial != history.end(); ++trial) {
    const Hypothesis* card = nullptr;
    if (by_model(trial->candidate)) card = board_.find(log_.card_of(trial->candidate.key().hex()));
    codes_.insert(code_of(*trial));
    population_.add(*trial, card ? std::optional(card->family) : std::nullopt);
  }
  for (; withdrawn_ < history.refused().size(); ++withdrawn_) population_.withdraw(history.refused()[withdrawn_]);
  if (std::exchange(followed_, history.size()) != history.size() || first) tell_findings(history, !first);
}

void LlmProposer::tell_findings(const History& history, bool aloud) {
  auto in_work = [&](int64_t card) {
    auto of_card = [&](const Talk& talk) { return talk.card == card; };
    return std::ranges::any_of(talking_, [&](auto& one) { return of_card(one.second); }) ||
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
  for (auto& [call, talk] : talking_)
    if (talk.card == 0) ids.insert(talk.parent);
  for (auto& [key, talk] : asked_)
    if (talk.card == 0 && Clock::now() - talk.proposed < kToBeJudged) ids.insert(talk.parent);
  return ids;
}

std::vector<std::string> LlmProposer::relevant_findings(const RunTrial& base, const History& history) const {
  std::vector<std::string> lines, of_other_runs;
  if (file_) {
    const std::string device = history.baseline() ? history.baseline()->verdict.device : "";
    for (auto& section : file_->relevant(device, population_.family_of_trial(base.id), options_.run))
      (section.run.empty() ? lines : of_other_runs).push_back(section.in_one_line());  // A person's come first.
  }
  const auto& own = board_.findings(history);
  for (auto finding = own.rbegin(); finding != own.rend() && lines.size() < kQuotedFindings; ++finding)
    lines.push_back(finding->text());
  lines.insert(lines.end(), of_other_runs.begin(), of_other_runs.end());
  lines.resize(std::min(lines.size(), kQuotedFindings));
  return lines;
}

std::optional<LlmProposer::Talk> LlmProposer::talk_of(size_t model, PromptKind kind, const RunTrial& base,
                                                      const Hypothesis* card, const History& history) {
  Talk talk;
  talk.model = model, talk.kind = kind, talk.parent = base.id, talk.base = base.candidate;
  if (card) talk.card = card->number;
  PromptSubject subject{mep_, history, base, options_.profile, options_.tolerance, answers_.unusable};
  subject.findings = relevant_findings(base, history);
  subject.inputs = options_.inputs, subject.accesses = options_.accesses;
  subject.offers = options_.offers, subject.limits = options_.device_limits;
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
  for (size_t model = 0; model < calls_->count(); ++model) {
    const bool is_free = may_ask(model);
    keys.push_back(calls_->key(model));
    // What is recorded decides what is asked, so that a replay gives the same run.
    if (auto recorded = is_free ? calls_->next_recorded(model) : std::nullopt) {
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

std::string LlmProposer::spending() const { return calls_->begun() > 0 ? "models " + calls_->used().brief() : ""; }

size_t LlmProposer::ideas_out() const {
  return talking_.size() + static_cast<size_t>(std::ranges::count_if(
                               asked_, [](auto& asked) { return Clock::now() - asked.second.proposed < kToBeJudged; }));
}

void LlmProposer::give_up(const std::string& why) {
  gave_up_ = why;
  notes_.push_back(why + "; going on without it");
}

void LlmProposer::give_up_on(size_t model, const std::string& why) {
  calls_->give_up_on(model);
  for (auto& [talk, complaint] : to_repair_)
    if (talk.model == model) drop_card(talk, why);
  std::erase_if(to_repair_, [&](auto& waiting) { return waiting.first.model == model; });
  if (calls_->all_gave_up()) return give_up(why);
  notes_.push_back(calls_->spec(model).model + ": " + why + "; going on with the others");
}

void LlmProposer::note_once(const std::string& note) {
  if (noted_.insert(note).second) notes_.push_back(note);
}

std::string LlmProposer::enough(const History& history) const {
  char text[200];
  const RunTrial* best = history.best_applicable();
  const double share = best ? options_.roof_share * best->figures().speedup_low() : 0;
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
  if (std::string spent = calls_->exhausted(); !spent.empty()) give_up("the model's budget of " + spent);
  else if (std::string why = enough(history); !why.empty()) give_up(why);
  return gave_up_.empty() && calls_->may_call();
}

void LlmProposer::call(Talk talk, const std::string& kind) {
  ++(kind == "repair" ? counts_.repairs : counts_.ideas);
  nothing_else_ = false;
  const LoggedCall& logged = log_.begin({0, talk.idea, calls_->key(talk.model), talk.kind, talk.parent, talk.card});
  talk.call = logged.number, talk.idea = logged.idea;
  if (Hypothesis* card = board_.find(talk.card); card && !card->asked) {
    card->asked = true;
    board_.keep(*card);
  }
  const Json about = {{"parent", talk.parent}, {"base", talk.base.key().hex()}, {"card", talk.card}};
  const std::string subject =
      kind + " " + talk.base.key().hex() + " " + std::to_string(talk.card) + " " + std::to_string(talk.messages.size());
  const int64_t begun = calls_->begin(talk.model, {kind, system_, talk.messages, subject}, about);
  talking_.emplace(begun, std::move(talk));
}

void LlmProposer::drop_card(const Talk& talk, const std::string& why) {
  Hypothesis* card = board_.find(talk.card);
  if (!card || !card->candidate.empty()) return;
  card->dropped = first_line(why);
  board_.keep(*card);
}

void LlmProposer::repair(Talk talk, const std::string& complaint) {
  if (talk.repairs >= options_.repairs_per_idea || answers_.is_doubtful(calls_->key(talk.model))) {
    notes_.push_back("an idea was dropped after " + counted(static_cast<size_t>(talk.repairs), "repair") + ": " +
                     first_line(complaint));
    return drop_card(talk, complaint);
  }
  if (!calls_->gave_up(talk.model)) to_repair_.emplace_back(std::move(talk), complaint);
}

void LlmProposer::take_useless(size_t model, int weight) {
  answers_.add_useless(calls_->key(model), weight, followed_);
  answers_.keep(options_.state);
}

bool LlmProposer::may_take(size_t model) const {
  if (answers_.rests(calls_->key(model), followed_) && !nothing_else_ && !is_recorded(model)) return false;
  auto judged_now = [&](auto& asked) {
    return asked.second.model == model && Clock::now() - asked.second.proposed < kToBeJudged;
  };
  return proven_.contains(model) || std::ranges::none_of(asked_, judged_now);
}

bool LlmProposer::is_recorded(size_t model) const {
  return calls_->spec(model).provider == ModelSpec::Provider::Transcript;
}

bool LlmProposer::may_ask(size_t model) const {
  if (!calls_->is_free(model)) return false;
  const std::string& key = calls_->key(model);
  // Recorded answers cost nothing, and the run that replays them is to be the recorded one.
  if (!answers_.is_doubtful(key) || is_recorded(model)) return true;
  auto of_it = [&](auto& entry) { return entry.second.model == model; };
  return (nothing_else_ || !answers_.rests(key, followed_)) && std::ranges::none_of(talking_, of_it);
}

std::optional<Proposal> LlmProposer::take_answer(Talk talk, AnsweredCall called, const History& history) {
  count(talk, called);
  int& failures = failures_[talk.model];
  auto& answer = called.reply.answer;
  if (!answer.ok() || answer->refused) {
    if (calls_->is_stopped()) return std::nullopt;
    take_useless(talk.model);
    notes_.push_back(answer.ok() ? "the model refused to answer: " + first_line(answer->text)
                                 : "no answer: " + answer.error().message);
    if (answer.ok()) drop_card(talk, "the model refused to carry it out");
    ++failures;
    if (called.reply.final) give_up_on(talk.model, "the model cannot be called any more");
    else if (failures >= kPatience)
      give_up_on(talk.model, "the model is not called again after " + std::to_string(failures) + " failed calls");
    return std::nullopt;
  }
  failures = 0, ++counts_.answers;
  if (!answer->remark.empty()) note_once(answer->remark);
  // Servers refuse an empty message, and some refuse two consecutive messages of one side.
  const std::string& text = answer->text;
  talk.messages.push_back({true, text.find_first_not_of(" \t\r\n") == text.npos
                                     ? "(no answer)"
                                     : std::string(whole_characters(text, kRepeatedAnswer))});
  if (talk.asks_for_cards() && answer->called_tool.empty() && text.size() <= longest_answer(talk.base)) {
    const auto cards = read_cards(text, kMostCards);
    if (!cards.hypotheses.empty()) {
      take_cards(talk, cards, *answer, called.seconds, history);
      return std::nullopt;
    }
    talk.edits = speaks_in_edits(text) && !speaks_in_cards(text);
    if (!talk.edits) {
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
  answers_.streaks[calls_->key(talk.model)].unusable = 0;
  if (LoggedCall* call = log_.find(talk.call)) {
    call->cards = static_cast<int64_t>(cards.hypotheses.size());
    log_.keep(*call);
  }
  if (!cards.complaint.empty()) notes_.push_back("of the hypotheses some were left out: " + cards.complaint);
  const auto count = static_cast<int64_t>(cards.hypotheses.size());
  size_t taken = 0;
  for (Hypothesis card : cards.hypotheses) {
    card.base = talk.parent, card.model = calls_->spec(talk.model).model;
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
  const int streak = ++answers_.streaks[calls_->key(talk.model)].unusable;
  take_useless(talk.model);
  if (streak >= kMostUnusable) {
    drop_card(talk, why);
    return give_up_on(talk.model, "the model is not called again after " + std::to_string(streak) +
                                      " answers in a row of which nothing could be made");
  }
  repair(std::move(talk), complaint);
}

std::optional<Proposal> LlmProposer::candidate_of(Talk talk, const ChatAnswer& answer, const History& history) {
  const std::string& key_of_model = calls_->key(talk.model);
  const std::string& model = calls_->spec(talk.model).model;
  auto edits = apply_answer(mep_, talk.base, answer.text, answer.cut_off);
  if (!edits.candidate && !answer.called_tool.empty())
    edits.complaint = "You called the tool '" + shown_line(answer.called_tool, kShownLine) +
                      "'. There are no tools here: answer in text, in the form that was described.";
  if (!edits.candidate) {
    take_unusable(std::move(talk), edits.idea, edits.complaint);
    return std::nullopt;
  }
  answers_.streaks[key_of_model].unusable = 0;
  Hypothesis* card = board_.find(talk.card);
  std::string summary = edits.idea.empty() ? "(no idea stated)" : edits.idea;
  if (edits.idea.empty() && card) summary = card->change;
  Proposal proposal{std::move(*edits.candidate), {talk.parent}};
  proposal.candidate.tier = tier(), proposal.candidate.reset_recipe();
  proposal.candidate.proposer = "llm/" + model;
  proposal.candidate.add_step({.origin = Step::Origin::Model, .rule = model, .summary = summary});
  const Hash key = proposal.candidate.key();
  if (const RunTrial* known = history.by_key(key)) {
    take_repeated(std::move(talk), "candidate " + shown_trial(*known));
    return std::nullopt;
  }
  if (!proposed_.insert(key).second) {
    take_repeated(std::move(talk), "a candidate that is still being judged");
    return std::nullopt;
  }
  answers_.streaks[key_of_model].repeats = 0;
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
  const int streak = ++answers_.streaks[calls_->key(talk.model)].repeats;
  take_useless(talk.model);
  if (streak >= kMostRepeats) {
    drop_card(talk, "the text that was to carry it out was tried before");
    return give_up_on(talk.model, "the model is not called again after " + std::to_string(streak) +
                                      " answers in a row that repeat earlier ones");
  }
  repair(std::move(talk), "It gives exactly the same text and launch as an earlier one:\n" + as_data(earlier) +
                              "Nothing new would be measured. Propose another change of this source.");
}

bool LlmProposer::start_repair() {
  auto waiting = std::ranges::find_if(to_repair_, [&](auto& one) { return calls_->is_free(one.first.model); });
  if (waiting == to_repair_.end()) return false;
  auto [talk, complaint] = std::move(*waiting);
  to_repair_.erase(waiting);
  auto prompt = fill_prompt(
      options_.prompts, talk.asks_for_cards() && !talk.edits ? "repair_hypotheses" : "repair",
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
  if (ideas_out() >= calls_->parallelism()) return false;
  auto talk = new_talk(history);
  if (!talk) return false;
  const std::string kind = talk->card ? "write" : tuner::name(talk->kind);
  call(std::move(*talk), kind);
  return true;
}

std::vector<Proposal> LlmProposer::propose(const History& history, size_t count) {
  // Nobody is asked any more, and no change of a model gained that others could be put together with.
  if (!gave_up_.empty() && talking_.empty() && asked_.empty() && fixed_.empty() && !history.best_of_models()) return {};
  follow(history);
  std::vector<Proposal> proposals;
  for (; !fixed_.empty() && proposals.size() < count; fixed_.pop_front())
    proposals.push_back(offer(std::move(fixed_.front().first), std::move(fixed_.front().second)));
  for (auto next = talking_.begin(); next != talking_.end() && proposals.size() < count;) {
    auto talk = next++;
    auto answered = may_take(talk->second.model) ? calls_->take(talk->first, notes_) : std::nullopt;
    if (!answered) continue;
    Talk own = std::move(talk->second);
    talking_.erase(talk);
    if (auto proposal = take_answer(std::move(own), *std::move(answered), history))
      proposals.push_back(std::move(*proposal));
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
  if (verdict.ok()) proven_.insert(talk.model);
  if (verdict.ok() && !codes_.contains(code_of(trial))) answers_.streaks[calls_->key(talk.model)].useless = 0;
  else take_useless(talk.model, verdict.outcome == Outcome::TimedOut ? kOfAHang : 1);
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

bool LlmProposer::waiting() const { return !talking_.empty() || (gave_up_.empty() && !to_repair_.empty()); }

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
  text += ". Used in all: " + calls_->used().text(options_);
  if (!board_.all().empty()) {
    text += "; hypotheses: ";
    for (auto& [conclusion, count] : held_) text += std::to_string(count) + " " + conclusion + ", ";
    text += std::to_string(board_.open()) + " open";
  }
  if (!gave_up_.empty()) text += "; not asked any more: " + gave_up_;
  if (!talking_.empty()) text += "; the last answer had not come yet";
  return text;
}

}  // namespace kernelift::tuner
