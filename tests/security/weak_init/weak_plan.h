// Which layers are off, and the plan as it is without them.
#pragma once

#include "sandbox/init/steps.h"

namespace weak {

// Reads <state directory>/without; the state directory is known from the plan's workspace.
void read_layers(const sandbox::init::Plan& plan);

// False before read_layers().
bool is_off(const char* layer);

// The plan without the records, or the options of records, of layers that are off.
const sandbox::init::Plan& edited(const sandbox::init::Plan& plan);

}  // namespace weak
