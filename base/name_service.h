// Names of hosts and users, for programs that carry their C library inside.
#pragma once

namespace base {

// Looks in files and, for hosts, asks name servers, whatever else /etc/nsswitch.conf says: the
// modules that it names belong to the machine's C library, and two of these in one process are
// undefined (nss(5), __nss_configure_lookup in <nss.h>). Where the C library is the machine's,
// nothing changes. Before any thread is started.
void use_built_in_names();

}  // namespace base
