// See counters.h. CUPTI's host interface turns metric names into a configuration and raw counters into values; its
// target interface runs the configuration. User ranges with user replay, because only the caller can restore its
// memory.
#include "sandbox/device/cuda/counters/counters.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <cmath>

#include "sandbox/device/cuda/counters/cupti_library.h"

namespace kernelift::sandbox {
namespace {

// clang-format off
#define KL_CUPTI_FUNCTIONS(X) \
  X(cuptiProfilerInitialize) X(cuptiProfilerDeInitialize) X(cuptiDeviceGetChipName) \
  X(cuptiProfilerGetCounterAvailability) X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize) \
  X(cuptiProfilerHostConfigAddMetrics) X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage) \
  X(cuptiProfilerHostGetNumOfPasses) X(cuptiProfilerHostEvaluateToGpuValues) X(cuptiRangeProfilerEnable) \
  X(cuptiRangeProfilerDisable) X(cuptiRangeProfilerGetCounterDataSize) \
  X(cuptiRangeProfilerCounterDataImageInitialize) X(cuptiRangeProfilerSetConfig) X(cuptiRangeProfilerStart) \
  X(cuptiRangeProfilerStop) X(cuptiRangeProfilerPushRange) X(cuptiRangeProfilerPopRange) \
  X(cuptiRangeProfilerDecodeData) X(cuptiRangeProfilerGetCounterDataInfo)
// clang-format on

struct Cupti {
#define KL_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  KL_CUPTI_FUNCTIONS(KL_CUPTI_MEMBER)
#undef KL_CUPTI_MEMBER

  static Result<const Cupti*> open() {
    static const Result<Cupti> cupti = load();
    if (!cupti.ok()) return cupti.error();
    return &*cupti;
  }

  Status check(CUptiResult result, const char* what) const {
    if (result == CUPTI_SUCCESS) return done();
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
      return environment_error(
          "the driver permits hardware counters to root only; as root: echo 'options nvidia "
          "NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf, then reload the driver");
    return library_->check(result, what);
  }

 private:
  static Result<Cupti> load() {
    Cupti cupti;
    KERNELIFT_ASSIGN(cupti.library_, CuptiLibrary::open());
#define KL_CUPTI_LOOK_UP(name) KERNELIFT_TRY(cupti.library_->look_up(#name, cupti.name));
    KL_CUPTI_FUNCTIONS(KL_CUPTI_LOOK_UP)
#undef KL_CUPTI_LOOK_UP
    return cupti;
  }
  const CuptiLibrary* library_ = nullptr;
};

/// A parameter block of CUPTI, zeroed and with its size set, as CUPTI expects.
#define KL_CUPTI_PARAMS(type, name) \
  type name = {};                   \
  name.structSize = type##_STRUCT_SIZE

}  // namespace

struct CounterSession::State {
  const Cupti* cupti = nullptr;
  std::string chip;
  std::vector<uint8_t> availability;
  CUpti_Profiler_Host_Object* host = nullptr;
  std::vector<std::string> metrics;  ///< The wanted metrics that this chip supports.
  std::vector<uint8_t> config;
  size_t passes = 0;

  ~State() {
    if (host) {
      KL_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
      params.pHostObject = host;
      cupti->cuptiProfilerHostDeinitialize(&params);
    }
    KL_CUPTI_PARAMS(CUpti_Profiler_DeInitialize_Params, params);
    if (cupti) cupti->cuptiProfilerDeInitialize(&params);
  }

  Result<CUpti_Profiler_Host_Object*> make_host() {
    KL_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.c_str();
    params.pCounterAvailabilityImage = availability.data();
    KERNELIFT_TRY(cupti->check(cupti->cuptiProfilerHostInitialize(&params), "prepare hardware counters"));
    return params.pHostObject;
  }

  bool add(CUpti_Profiler_Host_Object* to, const std::vector<const char*>& names) {
    KL_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, params);
    params.pHostObject = to;
    params.ppMetricNames = const_cast<const char**>(names.data());
    params.numMetrics = names.size();
    return cupti->cuptiProfilerHostConfigAddMetrics(&params) == CUPTI_SUCCESS;
  }

  std::vector<const char*> names() const {
    std::vector<const char*> all;
    for (auto& metric : metrics) all.push_back(metric.c_str());
    return all;
  }

  Status configure() {
    // A request fails as a whole if the chip does not support one of its metrics: each is tried on a host object of its
    // own.
    for (auto& metric : wanted_metrics()) {
      KERNELIFT_ASSIGN(auto* trial, make_host());
      if (add(trial, {metric.c_str()})) metrics.push_back(metric);
      KL_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
      params.pHostObject = trial;
      cupti->cuptiProfilerHostDeinitialize(&params);
    }
    if (metrics.empty()) return environment_error("CUPTI supports none of the wanted metrics for the chip " + chip);
    KERNELIFT_ASSIGN(host, make_host());
    if (!add(host, names())) return environment_error("CUPTI cannot combine the metrics for the chip " + chip);
    KL_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host;
    KERNELIFT_TRY(cupti->check(cupti->cuptiProfilerHostGetConfigImageSize(&size), "size its configuration"));
    config.resize(size.configImageSize);
    KL_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = host;
    image.configImageSize = config.size();
    image.pConfigImage = config.data();
    KERNELIFT_TRY(cupti->check(cupti->cuptiProfilerHostGetConfigImage(&image), "make its configuration"));
    return done();
  }
};

CounterSession::CounterSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
CounterSession::~CounterSession() = default;
size_t CounterSession::passes() const { return state_->passes; }

Result<std::unique_ptr<CounterSession>> CounterSession::open(int ordinal) {
  auto state = std::make_unique<State>();
  KERNELIFT_ASSIGN(const Cupti* cupti, Cupti::open());
  KL_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  KERNELIFT_TRY(cupti->check(cupti->cuptiProfilerInitialize(&initialize), "start its profiler"));
  state->cupti = cupti;
  KL_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<size_t>(ordinal);
  KERNELIFT_TRY(cupti->check(cupti->cuptiDeviceGetChipName(&chip), "name the chip"));
  state->chip = chip.pChipName;
  KL_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, available);
  KERNELIFT_TRY(
      cupti->check(cupti->cuptiProfilerGetCounterAvailability(&available), "ask which counters are available"));
  state->availability.resize(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = state->availability.data();
  KERNELIFT_TRY(
      cupti->check(cupti->cuptiProfilerGetCounterAvailability(&available), "ask which counters are available"));
  KERNELIFT_TRY(state->configure());
  return std::unique_ptr<CounterSession>(new CounterSession(std::move(state)));
}

Status CounterSession::measure(const std::function<Status()>& prepare, const std::function<Status()>& launch,
                               KernelFacts& facts) {
  State& s = *state_;
  const Cupti& cupti = *s.cupti;
  KL_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerEnable(&enable), "switch its counters on"));
  struct Disable {
    const Cupti& cupti;
    CUpti_RangeProfiler_Object* object;
    ~Disable() {
      KL_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, params);
      params.pRangeProfilerObject = object;
      cupti.cuptiRangeProfilerDisable(&params);
    }
  } disable{cupti, enable.pRangeProfilerObject};

  auto names = s.names();
  KL_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = disable.object;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerGetCounterDataSize(&size), "size its counter data"));
  std::vector<uint8_t> data(size.counterDataSize);
  KL_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
  image.pRangeProfilerObject = disable.object;
  image.counterDataSize = data.size();
  image.pCounterData = data.data();
  KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerCounterDataImageInitialize(&image), "lay out its counter data"));

  KL_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, config);
  config.pRangeProfilerObject = disable.object;
  config.configSize = s.config.size();
  config.pConfig = s.config.data();
  config.counterDataImageSize = data.size();
  config.pCounterDataImage = data.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.passIndex = 0;
  config.targetNestingLevel = 1;
  KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerSetConfig(&config), "set its configuration"));

  constexpr size_t kMostPasses = 200;  // The metrics need some dozens; a session that never ends must not hang.
  s.passes = 0;
  for (bool all = false; !all;) {
    if (++s.passes > kMostPasses) return environment_error("CUPTI asks for more than 200 passes");
    KERNELIFT_TRY(prepare());
    KL_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = disable.object;
    KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerStart(&start), "start a pass"));
    KL_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
    push.pRangeProfilerObject = disable.object;
    push.pRangeName = "launch";
    KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerPushRange(&push), "open a range"));
    Status launched = launch();
    KL_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
    pop.pRangeProfilerObject = disable.object;
    KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerPopRange(&pop), "close a range"));
    KL_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = disable.object;
    KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerStop(&stop), "end a pass"));
    KERNELIFT_TRY(std::move(launched));
    all = stop.isAllPassSubmitted;
  }
  KL_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
  decode.pRangeProfilerObject = disable.object;
  KERNELIFT_TRY(cupti.check(cupti.cuptiRangeProfilerDecodeData(&decode), "decode its counters"));
  if (decode.numOfRangeDropped) return environment_error("CUPTI dropped the measured range");

  std::vector<double> values(names.size());
  KL_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
  evaluate.pHostObject = s.host;
  evaluate.pCounterDataImage = data.data();
  evaluate.counterDataImageSize = data.size();
  evaluate.rangeIndex = 0;
  evaluate.ppMetricNames = names.data();
  evaluate.numMetrics = names.size();
  evaluate.pMetricValues = values.data();
  KERNELIFT_TRY(cupti.check(cupti.cuptiProfilerHostEvaluateToGpuValues(&evaluate), "evaluate its counters"));
  std::map<std::string, double> metrics;
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i])) metrics[s.metrics[i]] = values[i];
  facts_from_metrics(metrics, facts);
  return done();
}

}  // namespace kernelift::sandbox
