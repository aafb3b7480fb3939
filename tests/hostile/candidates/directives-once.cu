// Is to be read once.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
#pragma once
@KERNEL@