// Embeds a file whose name is a macro.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
#define WHERE "@ANSWER@"
__device__ const unsigned char bytes[] = {
#embed WHERE
};
@KERNEL@