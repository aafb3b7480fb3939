// Changes how floats round in what comes behind.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma STDC FENV_ROUND FE_UPWARD
