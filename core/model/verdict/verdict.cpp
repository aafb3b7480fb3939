// Names, weighted figures and JSON of verdicts; see verdict.h.
#include "core/model/verdict/verdict.h"

#include <algorithm>

#include <charconv>
#include <cstdio>

#include "core/base/hash.h"
#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace kernelift {
namespace {

constexpr const char* kOutcomeNames[] = {
    "ok",        "refused", "compile_failed", "compile_crashed", "over_resources", "launch_failed", "crashed",
    "timed_out", "wrong",   "wrote_outside",  "unstable",        "suspect",        "cheated"};
constexpr const char* kStageNames[] = {"admit", "compile", "load", "launch", "verify", "time"};
constexpr const char* kBuiltByNames[] = {"clang", "application"};
constexpr int kIdentityDigits = 13;

template <class Enum, size_t N>
Result<Enum> find_name(const char* const (&names)[N], const std::string& text, const char* what) {
  for (size_t i = 0; i < N; ++i)
    if (text == names[i]) return static_cast<Enum>(i);
  return environment_error("'" + text + "' is not " + what + " that this Kernelift knows");
}

/// The factor by which the kernel's whole time shrinks when each instance's share of it (its weight) shrinks by
/// `ratio`.
template <class Ratio>
double overall(const std::vector<Timing>& timings, Ratio ratio) {
  double before = 0, after = 0;
  for (auto& timing : timings) {
    if (ratio(timing) <= 0) return 0;
    before += timing.weight;
    after += timing.weight / ratio(timing);
  }
  return after > 0 ? before / after : 0;
}

template <class Number>
void put(Json& into, const char* key, const std::optional<Number>& value) {
  if (value) into[key] = *value;
}

/// A number that is absent, or was not finite, stays as it is.
template <class Number>
void take(const Json& from, const char* key, std::optional<Number>& value) {
  if (auto found = from.find(key); found != from.end() && found->is_number()) value = found->get<Number>();
}

void put(Json& into, const char* key, const std::optional<ImageIdentity>& identity) {
  if (identity) into[key] = identity->hex();
}

void take(const Json& from, const char* key, std::optional<ImageIdentity>& identity) {
  auto found = from.find(key);
  if (found == from.end()) return;
  identity = ImageIdentity::from_hex(found->get_ref<const std::string&>());
  if (!identity) malformed("'" + found->get<std::string>() + "' is no identity of an image");
}

void put(Json& into, const char* key, const std::optional<RaceFigures>& race) {
  if (race)
    into[key] = {{"speedup", race->speedup},
                 {"speedup_low", race->speedup_low},
                 {"seconds", race->seconds},
                 {"baseline_seconds", race->baseline_seconds}};
}

void take(const Json& from, const char* key, std::optional<RaceFigures>& race) {
  auto found = from.find(key);
  if (found == from.end()) return;
  race = RaceFigures{number_member(*found, "speedup"), number_member(*found, "speedup_low"),
                     number_member(*found, "seconds"), number_member(*found, "baseline_seconds")};
}

Json image_to_json(const ImageFacts& image) {
  Json json = Json::object();
  put(json, "identity", image.identity), put(json, "clang_identity", image.clang_identity);
  put(json, "spill_bytes", image.spill_bytes), put(json, "code_bytes", image.code_bytes);
  put(json, "fiber_kernels", image.fiber_kernels);
  return json;
}

ImageFacts image_from_json(const Json& from) {
  ImageFacts image;
  take(from, "identity", image.identity), take(from, "clang_identity", image.clang_identity);
  take(from, "spill_bytes", image.spill_bytes), take(from, "code_bytes", image.code_bytes);
  take(from, "fiber_kernels", image.fiber_kernels);
  return image;
}

Json resources_to_json(const KernelResources& resources) {
  Json json = Json::object();
  put(json, "registers", resources.registers), put(json, "local_bytes", resources.local_bytes);
  put(json, "shared_bytes", resources.shared_bytes), put(json, "threads", resources.threads);
  put(json, "occupancy", resources.occupancy);
  return json;
}

KernelResources resources_from_json(const Json& from) {
  KernelResources resources;
  take(from, "registers", resources.registers), take(from, "local_bytes", resources.local_bytes);
  take(from, "shared_bytes", resources.shared_bytes), take(from, "threads", resources.threads);
  take(from, "occupancy", resources.occupancy);
  return resources;
}

/// Runs of format 1 keep all facts as numbers by name in one object: microseconds, images by number, flags as 0 and 1.
void take_counters(const Json& counters, Verdict& verdict) {
  auto identity = [&](const char* key) -> std::optional<ImageIdentity> {
    double number = number_member(counters, key);
    return number > 0 ? std::optional(ImageIdentity{static_cast<uint64_t>(number)}) : std::nullopt;
  };
  auto race = [&](const std::string& prefix, const char* baseline) -> std::optional<RaceFigures> {
    if (!counters.contains(prefix + "_speedup")) return std::nullopt;
    auto figure = [&](const std::string& key) { return number_member(counters, key.c_str()); };
    return RaceFigures{figure(prefix + "_speedup"), figure(prefix + "_speedup_low"), figure(prefix + "_us") * 1e-6,
                       figure(baseline) * 1e-6};
  };
  verdict.resources = resources_from_json(counters);
  verdict.image = {identity("image_id"), identity("clang_image_id"), {}, {}, {}};
  take(counters, "spill_bytes", verdict.image.spill_bytes), take(counters, "code_bytes", verdict.image.code_bytes);
  take(counters, "fiber_kernels", verdict.image.fiber_kernels);
  take(counters, "largest_ulps", verdict.largest_ulps);
  verdict.throttled_samples = static_cast<int>(number_member(counters, "throttled_samples"));
  if (counters.contains("as_built"))
    verdict.built_by = number_member(counters, "as_built") != 0 ? BuiltBy::Application : BuiltBy::Clang;
  verdict.by_clang = race("clang", "clang_baseline_us"), verdict.embedded = race("embedded", "application_baseline_us");
}

}  // namespace

ImageIdentity ImageIdentity::of(std::string_view image) {
  return {hash_text(image).high >> (64 - 4 * kIdentityDigits)};
}

std::string ImageIdentity::hex() const {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llx", kIdentityDigits, static_cast<unsigned long long>(bits));
  return text;
}

std::optional<ImageIdentity> ImageIdentity::from_hex(std::string_view text) {
  if (text.size() != kIdentityDigits) return std::nullopt;
  ImageIdentity identity;
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), identity.bits, 16);
  return wrong == std::errc() && end == text.data() + text.size() ? std::optional(identity) : std::nullopt;
}

const char* name(Outcome outcome) { return kOutcomeNames[static_cast<size_t>(outcome)]; }
const char* name(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }
Result<Outcome> outcome_from_name(const std::string& text) {
  return find_name<Outcome>(kOutcomeNames, text, "an outcome");
}
Result<Stage> stage_from_name(const std::string& text) { return find_name<Stage>(kStageNames, text, "a stage"); }

double Verdict::seconds() const {
  double sum = 0, weights = 0;
  if (ok())
    for (auto& timing : timings) sum += timing.weight * timing.seconds, weights += timing.weight;
  return weights > 0 ? sum / weights : 0;
}

double Verdict::speedup() const {
  return ok() ? overall(timings, [](const Timing& t) { return t.speedup; }) : 0;
}

double Verdict::speedup_low() const {
  return ok() ? overall(timings, [](const Timing& t) { return t.speedup_low; }) : 0;
}

double Verdict::speedup_high() const {
  return ok() ? overall(timings, [](const Timing& t) { return t.speedup_high; }) : 0;
}

bool Verdict::gains() const { return speedup_low() > kSmallestGain; }

std::string Verdict::text() const {
  char line[160];
  if (ok() && timings.empty()) return "ok, not timed";
  if (ok()) {
    std::snprintf(line, sizeof line, "ok: %.3fx (at least %.3fx), %.1f us", speedup(), speedup_low(), seconds() * 1e6);
    return line;
  }
  const std::string size =
      sizes_run && sizes_run->wrong && sizes_run->wrong->shown ? sizes_run->wrong->size.text() : "";
  std::string text = std::string(name(outcome)) + " at " + (size.empty() ? name(stage) : size);
  if (!instance.empty()) text += " on instance " + instance;
  if (outcome == Outcome::Wrong && !buffer.empty()) {
    std::snprintf(line, sizeof line, "[%llu]", static_cast<unsigned long long>(index));
    text += ": " + buffer + line + " expected " + expected + ", got " + got;
  }
  if (!detail.empty()) text += ": " + detail;
  return shown_line(text);  // A compiler's message has several lines.
}

Verdict Verdict::as_told() const {
  Verdict told = *this;
  if (told.sizes_run) {
    SizesRun& run = *told.sizes_run;
    run.seed = 0;  // Sizes that are not shown follow from it.
    if (run.wrong && !run.wrong->shown) run.wrong->size = {}, run.wrong->found.clear();
  }
  if (!held_out) return told;
  told.detail = "on a launch that is held out" + (buffer.empty() ? "" : ", in " + buffer);
  told.instance.clear(), told.buffer.clear(), told.expected.clear(), told.got.clear();
  told.index = 0, told.distance = 0;
  return told;
}

std::vector<std::string> Verdict::beyond_recorded() const {
  std::vector<std::string> lines;
  if (tolerance > 0) lines.push_back("Compared: " + tolerance_text());
  if (further_inputs)
    lines.push_back("With other values: " +
                    (*further_inputs == 0 ? kNoFurtherInputs : "right on " + counted(*further_inputs, "input")));
  if (other_sizes) lines.push_back("At other sizes: " + other_sizes->text());
  if (sizes_run) lines.push_back("Run there: " + sizes_run->text());
  if (auto* code = untried_code()) lines.push_back("Not run: " + code->text() + ": no launch in check mode came there");
  if (field) lines.push_back("In exact arithmetic: " + field->text());
  if (sanitized) lines.push_back("By compute-sanitizer: " + sanitized->text());
  return lines;
}

const Unreached* Verdict::untried_code() const {
  const bool proven = other_sizes && other_sizes->proven() && other_sizes->same_values;
  return unreached && !unreached->empty() && !proven ? &*unreached : nullptr;
}

std::string Verdict::tolerance_text() const {
  if (tolerance <= 0) return "";
  char text[100];
  std::snprintf(text, sizeof text, "within a relative tolerance of %.3g, which was given by hand", tolerance);
  return text;
}

std::string Sanitized::text() const {
  std::string text;
  for (size_t i = 0; i < tools.size(); ++i) text += (i == 0 ? "" : i + 1 == tools.size() ? " and " : ", ") + tools[i];
  if (!tools.empty()) text += tools.size() == 1 ? " reports nothing" : " report nothing";
  if (as_original) text += " that the original does not do";
  if (!why.empty()) text += (text.empty() ? "not run: " : "; others were not run: ") + why;
  return text;
}

std::string OtherSizes::assumed() const {
  std::string text;
  for (auto& one : assumptions) text += (text.empty() ? "assuming that " : " and that ") + one.text();
  return text;
}

std::string OtherSizes::text() const {
  const std::string of_what = std::string(same_values ? "" : " to touch the same memory") +
                              (assumptions.empty() ? "" : ", " + assumed()) +
                              (same_values ? "" : "; its values were compared at recorded sizes");
  switch (known) {
    case Known::Proven: return "proven for all sizes" + of_what;
    case Known::UnderPremise:
      return "proven where " + premise->text() + of_what + "; elsewhere " +
             (wrong_elsewhere ? "it can be wrong" : "not known") + " (" + why + ")";
    case Known::Refuted: return "wrong: " + why;
    default: return "not known: " + why + (premise ? "; it can be wrong where not " + premise->text() : "");
  }
}

namespace {

constexpr const char* kKnownNames[] = {"proven", "under premise", "refuted", "not known"};

OtherSizes other_sizes_from_json(const Json& from) {
  OtherSizes sizes;
  const auto known = std::ranges::find(kKnownNames, from.at("known").get<std::string>());
  if (known == std::end(kKnownNames)) malformed("not what may be known of other sizes");
  sizes.known = static_cast<OtherSizes::Known>(known - std::begin(kKnownNames));
  sizes.why = from.at("why"), sizes.same_values = from.value("same_values", false);
  sizes.wrong_elsewhere = from.value("wrong_elsewhere", true);
  if (auto premise = from.find("premise"); premise != from.end()) {
    auto parsed = Expression::parse(premise->get<std::string>());
    if (!parsed.ok()) malformed(parsed.error().message);
    sizes.premise = *parsed;
  }
  if (auto all = from.find("assumptions"); all != from.end())
    for (auto& one : *all) sizes.assumptions.push_back(premise_from_json(one));
  if (sizes.known == OtherSizes::Known::UnderPremise && !sizes.premise) malformed("a premise is missing");
  return sizes;
}

}  // namespace

Json to_json(const OtherSizes& sizes) {
  Json json = {{"known", kKnownNames[static_cast<size_t>(sizes.known)]}, {"why", sizes.why}};
  if (sizes.premise) json["premise"] = sizes.premise->text();
  if (sizes.same_values) json["same_values"] = true;
  if (!sizes.wrong_elsewhere) json["wrong_elsewhere"] = false;
  for (auto& one : sizes.assumptions) json["assumptions"].push_back(to_json(one));
  return json;
}

Json to_json(const Verdict& verdict) {
  Json timings = Json::array();
  for (auto& timing : verdict.timings)
    timings.push_back({{"instance", timing.instance},
                       {"weight", timing.weight},
                       {"baseline_seconds", timing.baseline_seconds},
                       {"seconds", timing.seconds},
                       {"speedup", timing.speedup},
                       {"speedup_low", timing.speedup_low},
                       {"speedup_high", timing.speedup_high},
                       {"samples", timing.samples},
                       {"cold", timing.cold}});
  Json json = {{"outcome", name(verdict.outcome)},
               {"stage", name(verdict.stage)},
               {"detail", verdict.detail},
               {"instance", verdict.instance},
               {"held_out", verdict.held_out},
               {"buffer", verdict.buffer},
               {"expected", verdict.expected},
               {"got", verdict.got},
               {"index", verdict.index},
               {"distance", verdict.distance},
               {"timings", timings},
               {"image", image_to_json(verdict.image)},
               {"resources", resources_to_json(verdict.resources)},
               {"throttled_samples", verdict.throttled_samples},
               {"device", verdict.device},
               {"compile_seconds", verdict.compile_seconds},
               {"evaluate_seconds", verdict.evaluate_seconds}};
  put(json, "largest_ulps", verdict.largest_ulps), put(json, "further_inputs", verdict.further_inputs);
  if (verdict.tolerance > 0) json["tolerance"] = verdict.tolerance;
  if (verdict.built_by) json["built_by"] = kBuiltByNames[static_cast<size_t>(*verdict.built_by)];
  put(json, "by_clang", verdict.by_clang), put(json, "embedded", verdict.embedded);
  if (verdict.other_sizes) json["other_sizes"] = to_json(*verdict.other_sizes);
  if (verdict.sizes_run) json["sizes_run"] = to_json(*verdict.sizes_run);
  if (verdict.unreached) json["unreached"] = to_json(*verdict.unreached);
  if (verdict.field) json["field"] = to_json(*verdict.field);
  if (auto& sanitized = verdict.sanitized)
    json["sanitized"] = {{"tools", sanitized->tools}, {"as_original", sanitized->as_original}, {"why", sanitized->why}};
  return json;
}

Result<Verdict> verdict_from_json(const Json& from, const std::string& where) {
  Status status;
  auto read = reading(where, [&] {
    Verdict verdict;
    auto outcome = outcome_from_name(from.at("outcome"));
    auto stage = stage_from_name(from.at("stage"));
    if (outcome.ok()) verdict.outcome = *outcome;
    else status = outcome.error();
    if (stage.ok()) verdict.stage = *stage;
    else status = stage.error();
    verdict.detail = from.at("detail");
    verdict.instance = from.at("instance");
    verdict.held_out = from.value("held_out", false);
    verdict.buffer = from.at("buffer");
    verdict.expected = from.at("expected");
    verdict.got = from.at("got");
    verdict.index = from.at("index");
    // JSON has no NaN or infinity: they are written as null.
    verdict.distance = from.at("distance").is_number() ? from.at("distance").get<double>() : __builtin_inf();
    verdict.device = from.at("device");
    verdict.compile_seconds = from.at("compile_seconds");
    verdict.evaluate_seconds = from.at("evaluate_seconds");
    if (auto counters = from.find("counters"); counters != from.end()) {
      take_counters(*counters, verdict);
    } else {
      verdict.image = image_from_json(from.at("image"));
      verdict.resources = resources_from_json(from.at("resources"));
      verdict.throttled_samples = from.at("throttled_samples");
      take(from, "largest_ulps", verdict.largest_ulps), take(from, "further_inputs", verdict.further_inputs);
      verdict.tolerance = from.value("tolerance", 0.0);
      if (auto by = from.find("built_by"); by != from.end()) {
        auto built_by = find_name<BuiltBy>(kBuiltByNames, *by, "a compiler");
        if (built_by.ok()) verdict.built_by = *built_by;
        else status = built_by.error();
      }
      take(from, "by_clang", verdict.by_clang), take(from, "embedded", verdict.embedded);
      if (auto sizes = from.find("other_sizes"); sizes != from.end())
        verdict.other_sizes = other_sizes_from_json(*sizes);
      if (auto sizes = from.find("sizes_run"); sizes != from.end()) verdict.sizes_run = sizes_run_from_json(*sizes);
      if (auto code = from.find("unreached"); code != from.end()) verdict.unreached = unreached_from_json(*code);
      if (auto field = from.find("field"); field != from.end()) verdict.field = field_equality_from_json(*field);
      if (auto sanitized = from.find("sanitized"); sanitized != from.end())
        verdict.sanitized = Sanitized{sanitized->at("tools"), sanitized->value("as_original", false),  // Older: absent.
                                      sanitized->at("why")};
    }
    for (auto& entry : from.at("timings")) {
      Timing timing;
      timing.instance = entry.at("instance");
      timing.weight = entry.at("weight");
      timing.baseline_seconds = entry.at("baseline_seconds");
      timing.seconds = entry.at("seconds");
      timing.speedup = entry.at("speedup");
      timing.speedup_low = entry.at("speedup_low");
      timing.speedup_high = entry.at("speedup_high");
      timing.samples = entry.at("samples");
      timing.cold = entry.at("cold");
      verdict.timings.push_back(timing);
    }
    return verdict;
  });
  if (read.ok() && !status.ok()) return std::move(status).error().in(where);
  return read;
}

Evaluation with_bounded_texts(Evaluation evaluation) {
  auto bound = [](std::string& text) { text = shown_lines(text, kLongestLine, kLongestVerdictText); };
  if (auto* verdict = std::get_if<Verdict>(&evaluation)) {
    for (auto* text :
         {&verdict->detail, &verdict->instance, &verdict->buffer, &verdict->expected, &verdict->got, &verdict->device})
      bound(*text);
    for (auto& timing : verdict->timings) bound(timing.instance);
    if (auto* run = verdict->sizes_run ? &*verdict->sizes_run : nullptr) {
      bound(run->left_out);
      for (auto& one : run->dropped) bound(one.why);
      if (run->wrong) bound(run->wrong->found);
    }
    if (verdict->unreached)
      for (auto& code : verdict->unreached->code) bound(code);
    if (verdict->sanitized) bound(verdict->sanitized->why);
    if (verdict->field)
      for (auto* text : {&verdict->field->why, &verdict->field->decided, &verdict->field->function}) bound(*text);
  } else {
    bound(std::get<NotJudged>(evaluation).why);
  }
  return evaluation;
}

Json to_json(const Evaluation& evaluation) {
  if (auto* verdict = std::get_if<Verdict>(&evaluation)) return to_json(*verdict);
  return {{"outcome", kNotJudged}, {"detail", std::get<NotJudged>(evaluation).why}};
}

Result<Evaluation> evaluation_from_json(const Json& from, const std::string& where) {
  auto none = reading(where, [&]() -> std::optional<NotJudged> {
    if (from.at("outcome") != kNotJudged) return std::nullopt;
    return NotJudged{from.at("detail")};
  });
  if (!none.ok()) return std::move(none).error();
  if (*none) return Evaluation(**std::move(none));
  KERNELIFT_ASSIGN(Verdict verdict, verdict_from_json(from, where));
  return Evaluation(std::move(verdict));
}

}  // namespace kernelift
