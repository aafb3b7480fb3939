// Which process of a job this is, and whether it is the one whose memory is captured: of a job of many processes one
// takes images, and the others are profiled.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "extractor/record/config.h"

namespace kernelift::record {

/// As the launcher numbers this process: OMPI_COMM_WORLD_RANK (Open MPI), PMIX_RANK, PMI_RANK (MPICH, Intel MPI),
/// SLURM_PROCID (srun), in this order; nullopt without any of them.
std::optional<uint64_t> rank_from_environment();

/// The number of this call among those of all processes that record into `folder`, from 0 on, in the order in which
/// they come; nullopt if the folder cannot be written.
std::optional<uint64_t> claim_order(const std::string& folder);

/// `config` as this process is to follow it: profile_only unless it is the one of config.rank. A process without a rank
/// is told by its order if a rank was asked for; otherwise it takes images too, and the run chooses between such.
RecordConfig for_this_process(RecordConfig config);

}  // namespace kernelift::record
