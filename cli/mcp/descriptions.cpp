// See descriptions.h. The words are for a model that has seen nothing else of Kernelift.
#include "cli/mcp/descriptions.h"

namespace kernelift::cli::mcp {
namespace {

constexpr int kMostCandidates = 32, kLongestWord = 4096;

Json text(const char* description) {
  return {{"type", "string"}, {"description", description}, {"maxLength", kLongestWord}};
}
Json whole(const char* description, int64_t least) {
  return {{"type", "integer"}, {"description", description}, {"minimum", least}};
}
Json flag(const char* description, bool otherwise) {
  return {{"type", "boolean"}, {"description", description}, {"default", otherwise}};
}
Json object(Json properties, std::vector<const char*> required = {}) {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}
Json list(Json items, const char* description, int most) {
  return {{"type", "array"}, {"description", description}, {"items", std::move(items)}, {"maxItems", most}};
}

Json kernel() { return text("An extracted kernel: its name or a part of it, or the folder of its MEP"); }

Json candidate() {
  Json source = text("The whole text of the kernel file with your change; default: the text as extracted");
  source["maxLength"] = kLongestSource;
  Json launch =
      object({{"kernel", text("Name in the source: smooth, bilateral<3>")},
              {"grid", list(text("An axis"), "Up to three expressions over gx gy gz, the recorded grid", 3)},
              {"block", list(text("An axis"), "Up to three expressions over bx by bz, the recorded block", 3)},
              {"shared", text("Bytes of dynamic shared memory, an expression over `shared`")}},
             {"kernel"});
  Json scratch = object(
      {{"bytes", text("An expression over gx gy gz bx by bz")}, {"zeroed", flag("Cleared first", false)}}, {"bytes"});
  Json values = {{"type", "object"},
                 {"description",
                  "Of a text that declares parameters (`// kernelift: tune TILE in {16, 32}`): the setting that is "
                  "judged; default: the values in the text"},
                 {"properties", Json::object()},
                 {"additionalProperties", {{"type", "integer"}}}};
  return object(
      {{"name", text("Your name for it, for the answer")},
       {"source", source},
       {"file", text("A file with the text, relative to the application's folder, in place of source")},
       {"values", values},
       {"launches", list(launch, "In order; default: as recorded", 8)},
       {"scratch", list(scratch, "Further buffers; a kernel gets one pointer each, behind its arguments", 8)}});
}

Json candidates() {
  Json many = list(candidate(), "One or several texts, judged each for itself", kMostCandidates);
  many["minItems"] = 1;
  return many;
}

}  // namespace

std::vector<ToolDescription> tool_descriptions() {
  std::vector<ToolDescription> tools;
  auto add = [&](const char* name, const char* title, const char* description, Json arguments) -> ToolDescription& {
    tools.push_back({name, title, description, std::move(arguments)});
    return tools.back();
  };
  add("doctor", "What this machine can do",
      "Lists what this machine provides and lacks for tuning, each gap with the command that fixes it.", object({}));
  add("hot_list", "The recorded kernels",
      "Lists the kernels of the recorded run of the application, most time first: shares, durations, launch shapes, "
      "and "
      "whether each was captured and extracted. Recording is the user's: `kernelift record -- COMMAND`.",
      object({{"most", whole("Number of kernels", 1)}}));
  auto& extract =
      add("extract", "Extract a kernel",
          "Cuts a kernel's source out of the application, proves it equal to the original, and stores it "
          "with its recorded inputs (a MEP), in the state folder. Needed once, before facts, check, evaluate "
          "and tune.",
          object({{"kernel", text("Its name or a part of it, from hot_list, or an id from scan")},
                  {"inputs",
                   {{"type", "string"},
                    {"enum", {"capture", "synth"}},
                    {"description", "Recorded inputs (default), or made up from the parameters' types"}}}},
                 {"kernel"}));
  extract.read_only = false;
  add("facts", "What is known of a kernel",
      "The text to change, the recorded launches with geometry, sizes and scalar values, ranges and zeros of the "
      "inputs, launch sites, knobs, which accesses are coalesced and what threads share, which rewrite rules apply and "
      "what they came to, what the kernel does with memory at every size, and on a GPU what bounds it.",
      object({{"kernel", kernel()}}, {"kernel"}));
  add("profile", "How the original spends its time",
      "Replays the recorded launches of the original and times them; on a GPU it reads hardware counters: memory "
      "traffic, occupancy, stalls, instructions, the share of the roofline, and what bounds it.",
      object({{"kernel", kernel()}}, {"kernel"}));
  add("check", "Is a changed kernel right?",
      "Compiles candidates and compares their results on the recorded inputs with what the application computed. "
      "Nothing "
      "is timed, so it is quick. The first call for a kernel also starts its evaluator.",
      object({{"kernel", kernel()}, {"candidates", candidates()}}, {"kernel", "candidates"}));
  auto& evaluate = add(
      "evaluate", "Is a changed kernel right and faster?",
      "As check, then times each right candidate against the original, in alternation. Per candidate: verdict, "
      "speed-up "
      "with its 95 % interval, the first wrong element, and the premise under which it is right at all sizes. A gain "
      "counts only with confirm: true, which measures it again in a fresh process. What is timed is kept as a "
      "trial of a run, which apply patches, and from which searches begin.",
      object({{"kernel", kernel()},
              {"candidates", candidates()},
              {"confirm", flag("Confirm gains, and look for races: seconds each", false)}},
             {"kernel", "candidates"}));
  evaluate.read_only = false;
  auto& tune =
      add("tune", "Search for a faster version",
          "Starts a search by rewrite rules, parameters and compiler options, as a job. Returns the job's number "
          "for status and cancel. Check and evaluate have to wait meanwhile.",
          object({{"kernel", kernel()},
                  {"seconds", whole("Time budget (default 300)", 1)},
                  {"evaluations", whole("Budget as a number of candidates, in place of seconds", 1)},
                  {"tiers", text("Of source,params,compiler (default: all)")},
                  {"templates", list(text("A file, relative to the application's folder"),
                                     "Kernels of yours with declared parameters, which are searched too", 8)},
                  {"resume", flag("Continue the kernel's latest run", false)}},
                 {"kernel"}));
  tune.read_only = tune.idempotent = false;
  Json job = object({{"job", whole("Its number; default: the latest", 1)},
                     {"wait_seconds",
                      {{"type", "integer"},
                       {"minimum", 0},
                       {"maximum", 120},
                       {"description", "Answer when the job is over, or after so long (default 0)"}}}});
  add("status", "How a job is doing", "State, last words and, once it is over, the result of a job.", job);
  auto& cancel = add("cancel", "End a job",
                     "Asks a job to end with what it has. A search's verdicts stay in its run; an apply restores the "
                     "application.",
                     object({{"job", whole("Its number", 1)}}, {"job"}));
  cancel.read_only = false;
  auto& apply =
      add("apply", "Patch the application",
          "With dry_run (the default): the diff that the best candidate of a run would be tried as, and what "
          "would be done; nothing is changed. Without: a job that patches the application on a git branch, "
          "builds, checks and times it with the user's commands, and keeps the patch only if the whole is right "
          "and faster. That is refused unless the server was started with --build and --run.",
          object({{"run", text("A run file's name, or a kernel's name for its latest run")},
                  {"candidate", whole("Only this candidate of the run", 1)},
                  {"dry_run", flag("Change nothing", true)}},
                 {"run"}));
  apply.read_only = apply.idempotent = false, apply.destructive = true;
  return tools;
}

std::string instructions_text() {
  return "Kernelift judges changed GPU kernels on the inputs that an application really gave them. Order: doctor, "
         "hot_list, extract (once per kernel), facts, then change the text from facts and call check until it is "
         "right, "
         "evaluate for its speed, and evaluate with confirm for what you mean to claim. tune searches by itself, as a "
         "job; "
         "apply shows its patch. Claim a speed-up only if it is confirmed, with its interval and device; right on "
         "recorded "
         "inputs is not right everywhere: report right_only_if and beyond_recorded_inputs. Never change what a kernel "
         "computes to gain speed.";
}

}  // namespace kernelift::cli::mcp
