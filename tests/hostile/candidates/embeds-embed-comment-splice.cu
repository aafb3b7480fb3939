// Embeds the recorded answers behind a comment that a splice ends.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
__device__ const unsigned char bytes[] = {
/* \
*/ # /* */ e\
m\
bed "@ANSWER@"
};
@KERNEL@