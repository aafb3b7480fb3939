// A byte order mark in the middle.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@﻿int hidden();
