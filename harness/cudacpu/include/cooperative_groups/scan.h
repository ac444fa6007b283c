// Stands in for CUDA's header of the same name.
#pragma once

#include "../cooperative_groups.h"
#include "../cudacpu/groups_scan.h"
