// Code in the box has the kernel's time slices, whatever hutch-box has.
#include "sandbox/time_slice.h"

#include "sandbox/init/steps.h"

namespace sandbox::init {

void have_usual_time_slices() {
  // A refusal leaves the code the short slices of hutch-box, which are no way around any limit.
  (void)set_time_slice(kKernelsSlice);
}

}  // namespace sandbox::init
