// Embeds the recorded answers, the directive split over lines.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
__device__ const unsigned char bytes[] = {
#em\
bed "@ANSWER@"
};
@KERNEL@