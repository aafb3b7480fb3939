// Is to be read once.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
#pragma once
@KERNEL@