// Embeds a file of the user's.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
__device__ const unsigned char bytes[] = {
#embed "@SECRET@"
};
@KERNEL@