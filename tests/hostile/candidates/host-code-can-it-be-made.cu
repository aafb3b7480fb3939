// Asks whether a class can be made by a constructor of the device, which nvcc's host code and clang's answer differently.
//! kind host-code
//! kernel map
//! devices both
//! must refused
struct Probe { int x; __device__ explicit Probe(int given) : x(given) {} };
constexpr bool judged = !__is_constructible(Probe, int);
@KERNEL@
