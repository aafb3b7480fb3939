// Embeds the recorded answers, the directive spelled by a digraph.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
__device__ const unsigned char bytes[] = {
%:embed "@ANSWER@"
};
@KERNEL@