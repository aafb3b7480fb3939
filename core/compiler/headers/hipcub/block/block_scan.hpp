// hipCUB: part of it.
#pragma once
#include "../hipcub.hpp"
