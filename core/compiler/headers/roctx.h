// The older place of ROC-TX.
#pragma once
#include "roctracer/roctx.h"
