// Precompiled for every test, after common.h.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
