#include "sandbox/box/host_etc.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace sandbox::box {
namespace {

using wire::PlanOp;

// Programs need these entries to run. None of them names people or secrets: where administrators
// write some, as in R's and perl's folders, the list has single files.
constexpr const char* kEtcEntries[] = {"alternatives",
                                       "ca-certificates",
                                       "ca-certificates.conf",
                                       "debian_version",
                                       "fonts",
                                       "gai.conf",
                                       "host.conf",
                                       "java-11-openjdk",
                                       "java-17-openjdk",
                                       "java-21-openjdk",
                                       "ld.so.cache",
                                       "ld.so.conf",
                                       "ld.so.conf.d",
                                       "locale.alias",
                                       "locale.conf",
                                       "localtime",
                                       "magic",
                                       "magic.mime",
                                       "matplotlibrc",
                                       "mime.types",
                                       "nanorc",
                                       "os-release",
                                       "papersize",
                                       "perl/Net/libnet.cfg",
                                       "perl/XML/SAX/ParserDetails.ini",
                                       "protocols",
                                       "python3",
                                       "python3.10",
                                       "python3.11",
                                       "python3.12",
                                       "python3.13",
                                       "R/Makeconf",
                                       "R/Renviron",
                                       "R/ldpaths",
                                       "rpc",
                                       "services",
                                       "ssl/certs",
                                       "ssl/openssl.cnf",
                                       "terminfo",
                                       "texmf",
                                       "timezone",
                                       "vim"};

// They are described at https://www.php.net/manual/en/ini.list.php
constexpr std::string_view kHarmlessSettings[] = {
    "date.timezone",   "default_charset",  "display_errors",  "display_startup_errors",
    "error_reporting", "extension",        "html_errors",     "log_errors",
    "memory_limit",    "output_buffering", "precision",       "serialize_precision",
    "short_open_tag",  "variables_order",  "zend.assertions", "zend_extension"};
constexpr std::size_t kIniBytesMax = 256 * 1024;
constexpr std::size_t kIniFilesMax = 256;

// Debian's own line takes the place of the host's file, which may name indexes with logins, as
// R/repositories may: without that one R reads the list that comes with it.
constexpr const char* kRProfile =
    "local({ r <- getOption(\"repos\"); r[\"CRAN\"] <- \"https://cloud.r-project.org\"; "
    "options(repos = r) })\n";

// Makes each directory of the box once, when it is needed.
class Directories {
 public:
  explicit Directories(PlanWriter& plan) : plan_(plan) {}

  void add_above(const std::string& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      const std::string directory = path.substr(0, slash);
      if (made_.insert(directory).second) plan_.add(PlanOp::kDirectory, {directory, "0755"});
    }
  }

 private:
  PlanWriter& plan_;
  std::set<std::string> made_;
};

std::vector<std::string> sorted_names(const std::string& path) {
  const auto directory = base::open_file(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return {};
  auto names = base::names_in(directory.value().get());
  std::sort(names.begin(), names.end());
  return names;
}

void add_settings(PlanWriter& plan, Directories& directories, const std::string& source,
                  const std::string& target) {
  const auto file = base::open_file(AT_FDCWD, source, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return;
  const auto text = base::read_all(file.value().get(), kIniBytesMax);
  if (!text.ok()) return;
  directories.add_above(target);
  plan.add(PlanOp::kFile, {target, harmless_settings(text.value())});
}

// A box has PHP at the command line; its servers' settings (fpm, apache2) stay outside.
void add_php(PlanWriter& plan, Directories& directories, const std::string& etc) {
  std::size_t count = 0;
  for (const std::string& version : sorted_names(etc + "/php")) {
    const std::string cli = "/php/" + version + "/cli";
    add_settings(plan, directories, etc + cli + "/php.ini", "/etc" + cli + "/php.ini");
    for (const std::string& name : sorted_names(etc + cli + "/conf.d")) {
      if (!name.ends_with(".ini") || ++count > kIniFilesMax) continue;
      const std::string path = cli + "/conf.d/" + name;
      add_settings(plan, directories, etc + path, "/etc" + path);
    }
  }
}

}  // namespace

std::string harmless_settings(const std::string& ini) {
  std::string kept;
  std::istringstream lines(ini);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find_first_of(" \t="));
    if (base::contains(kHarmlessSettings, name)) kept += line + "\n";
  }
  return kept;
}

void add_host_etc(PlanWriter& plan, const std::string& etc) {
  Directories directories(plan);
  directories.add_above("/etc/ssl/");
  for (const std::string entry : kEtcEntries) {
    const std::string path = "/etc/" + entry;
    const auto real = base::real_path(etc + "/" + entry);
    if (!real) continue;
    directories.add_above(path);
    if (real->starts_with("/usr/")) {
      plan.add(PlanOp::kSymlink, {*real, path});
    } else {
      plan.add(PlanOp::kBind, {*real, path, "r", "0", "0"});
    }
  }
  if (base::real_path(etc + "/R/Rprofile.site")) {
    directories.add_above("/etc/R/");
    plan.add(PlanOp::kFile, {"/etc/R/Rprofile.site", kRProfile});
  }
  add_php(plan, directories, etc);
}

}  // namespace sandbox::box
