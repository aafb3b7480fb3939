// Embeds the recorded answers, with a comment behind the hash.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
__device__ const unsigned char bytes[] = {
#/**/embed "@ANSWER@"
};
@KERNEL@