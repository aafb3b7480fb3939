// Makes arithmetic behind it imprecise.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed no-gain
@KERNEL@#pragma float_control(precise, off)
#pragma clang fp reassociate(on)
