// A recorded launch as a launch site in the application says it: what its grid and arguments follow from.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel/kernel_model.h"
#include "core/model/mep.h"

namespace kernelift::sandbox {

struct HostLaunch {
  LaunchSite site;
  Bindings variables;                      ///< Of the host, those that are known, with their recorded values.
  std::map<std::string, size_t> directly;  ///< The parameter to which the host passes each.
  std::map<size_t, Expression> arguments;  ///< Integer arguments that are expressions of them.
  /// Members of structures that the host passes, where its grid or block names them: "view.rows".
  std::vector<std::pair<std::string, KernelModel::Member>> members = {};
  std::set<int> as_recorded;  ///< Axes whose number of blocks nothing says but the recorded launch.

  bool decides_geometry(const std::string& variable) const;
};

/// nullopt: the variables do not determine the value.
std::optional<int64_t> evaluated(const std::optional<Expression>& expression, const Bindings& variables);

/// The launch's geometry; nullopt: it uses something that is not known, or no device launches it.
std::optional<Geometry> geometry_of(const LaunchSite& site, const Bindings& variables, const Geometry& recorded);

/// `site`: as over_arguments() has it. nullopt: it does not describe the recorded launch, or leaves out how many blocks
/// it has.
std::optional<HostLaunch> as_launched(const Mep& mep, const MepInstance& instance, const LaunchSite& site,
                                      const std::vector<KernelModel::Member>& members);

/// The recorded launch where no site says how many blocks it has: with as many, whatever its arguments are. `site`: one
/// of which arguments are taken; none: each argument is one of its own.
HostLaunch with_recorded_grid(const Mep& mep, const MepInstance& instance, const LaunchSite* site);

}  // namespace kernelift::sandbox
