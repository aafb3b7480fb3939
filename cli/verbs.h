// Declares every verb. main.cpp has the table, in the order of --help.
#pragma once
#include "cli/verb.h"

namespace kernelift::cli {

extern const Verb kDoctor, kScan, kBuild, kRecord, kExtract, kModel, kReplay, kEvaluate, kTune, kApply, kOptimize,
    kReport, kSimulate, kExport, kSelftest, kMcp, kSkill, kCompletion, kManual;

}  // namespace kernelift::cli
