#include "sandbox/box/profiles.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "sandbox/environment.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;

namespace {
constexpr std::size_t kProfileBytesMax = 64 * 1024;
}

Language interpreter_of(Language language) {
  return language == Language::kTypeScript ? Language::kJavaScript : language;
}

base::Result<Profile> load_profile(const std::string& data_directory,
                                   const std::string& environment_directory, Language language) {
  const std::string name = name_of(interpreter_of(language));
  const std::string path = data_directory + "/profiles/" + name + ".json";
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_RDONLY | O_NONBLOCK));
  const std::string text = TRY(base::read_all(file.get(), kProfileBytesMax));
  const json value = TRY(base::parse_json(text));
  Profile profile;
  for (const json& part : value.value("program", json::array())) {
    if (part.is_string()) profile.program.push_back(part.get<std::string>());
  }
  if (profile.program.empty()) return base::error(Error::Kind::kInternal, path + ": no program");
  profile.process = base::string_or(value, "process") == "per_run" ? Profile::Process::kPerRun
                                                                   : Profile::Process::kPerSession;
  profile.copied = base::boolean_or(value, "zygote", false);
  profile.state_pipes_block = base::boolean_or(value, "state_pipes_block", true);
  profile.package = base::string_or(value, "package");
  const json environment = value.value("environment", json::object());
  for (const auto& [key, entry] : environment.items()) {
    if (entry.is_string()) profile.environment[key] = entry.get<std::string>();
  }
  if (!environment_directory.empty()) {
    // "/usr/bin/python3" is "/environment/bin/python3" there, where it has one.
    const std::string of_environment =
        "/bin" + profile.program[0].substr(profile.program[0].rfind('/'));
    if (::access((environment_directory + of_environment).c_str(), X_OK) == 0) {
      profile.program[0] = kEnvironmentPlace + of_environment;
      return profile;
    }
  }
  if (::access(profile.program[0].c_str(), X_OK) != 0) {
    return base::error(Error::Kind::kUnsupported,
                       "this machine has no " + profile.program[0] + ", which " + name +
                           " needs: install the package " + profile.package + " on the host");
  }
  return profile;
}

base::Result<Profile> Profiles::of(Language language) {
  const Language interpreter = interpreter_of(language);
  if (const auto known = known_.find(interpreter); known != known_.end()) return known->second;
  Profile profile = TRY(load_profile(data_directory_, environment_directory_, interpreter));
  known_.emplace(interpreter, profile);
  return profile;
}

}  // namespace sandbox::box
