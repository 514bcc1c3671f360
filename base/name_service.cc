#include "base/name_service.h"

#ifdef HUTCH_SELF_CONTAINED
#include <nss.h>

#include <initializer_list>
#endif

namespace base {

void use_built_in_names() {
#ifdef HUTCH_SELF_CONTAINED
  (void)::__nss_configure_lookup("hosts", "files dns");
  for (const char* database : {"passwd", "group", "services"}) {
    (void)::__nss_configure_lookup(database, "files");
  }
#endif
}

}  // namespace base
